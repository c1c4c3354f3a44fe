"""Overhead of the witness in vLLM: `python -m bench.witness [--release 0.33.0] [--rounds 5]`.

A server on the lab's stand-in engine, with the witness, streams responses; the engine steps by the clock, so
that no plugin of the lab adds to the request. Its CPU time per request is what a request costs. What the
witness adds is measured in the parser alone, with and without it in turn (`witness_inside`), as the CPU time
of a whole request varies more from round to round. Prints the ratio of the two.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from harmony_lab.install import installed
from harmony_lab.model import make_vocabulary
from harmony_lab.paths import LabPaths
from harmony_lab.process import ServerProcess
from harmony_lab.recording import Target, ask
from harmony_lab.server import STANDALONE, ServerOptions
from harmony_lab.session import LabSession
from harmony_lab.standin.install import FRONT_END, NEWEST_FRONT_END, plugin_folder
from inspector.capture.capture import Endpoint
from inspector.matrix.results import default_root
from inspector.matrix.scripts import named
from lab_tests.support.witness import counted, installed_into

STREAMS = 2
STEP_MS = 2


def cpu_s(group: int) -> float:
    """CPU seconds of all threads of a process group."""
    nanoseconds = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if os.getpgid(int(folder.name)) == group:
                texts = [path.read_text("ascii") for path in folder.glob("task/*/schedstat")]
                nanoseconds += sum(int(text.split()[0]) for text in texts)
        except OSError:  # it has ended
            continue
    return nanoseconds / 1e9


def request_ms(server: ServerProcess, endpoint: Endpoint, version: str, *, stream: bool) -> float:
    """CPU milliseconds of the server per request, for a few streams at once."""
    script = replace(named(["very_long"])[0], stream=stream)
    before = cpu_s(server.pid or 0)
    with ThreadPoolExecutor(STREAMS) as pool:
        for capture in pool.map(
            lambda _: ask(server.base_url, Target(endpoint, script), version=version, stream_interval=1),
            range(STREAMS),
        ):
            if capture.end is None or capture.end.cut or capture.header.status != 200:
                raise SystemExit(f"a stream did not end: {capture.end}")
    return (cpu_s(server.pid or 0) - before) / STREAMS * 1000


def main() -> None:
    """Measure chat and Responses."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--release", default=NEWEST_FRONT_END)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    paths = LabPaths(default_root())
    environment = installed(paths, FRONT_END, arguments.release)
    if environment is None:
        raise SystemExit(f"run python -m inspector lab install --front-end {arguments.release}")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        plugin = installed_into(folder / "witness")
        options = ServerOptions(load=True, step_ms=STEP_MS, plugins=(plugin,))
        server = LabSession(paths=paths, package=FRONT_END).serving(stack, environment, options)
        if not counted(server):
            raise SystemExit("the witness is not in the server")
        costs = {}
        for endpoint in (Endpoint.CHAT, Endpoint.RESPONSES):
            for name in ("streamed", "unstreamed"):
                # The first requests load code.
                costs[endpoint, name] = statistics.median(
                    [
                        request_ms(server, endpoint, arguments.release, stream=name == "streamed")
                        for _ in range(arguments.rounds + 1)
                    ][1:]
                )
        (script,) = named(["very_long"])
        completed = subprocess.run(
            [str(environment.python), str(Path(__file__).with_name("witness_inside.py"))],
            input=json.dumps(script.turns[0]),
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(map(str, (plugin_folder(paths), STANDALONE, plugin))),
                "TIKTOKEN_ENCODINGS_BASE": str(make_vocabulary(paths.models)),
            },
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        inside = json.loads(completed.stdout.splitlines()[-1])
        for name, ms in inside.items():
            print(
                f"{name}: the parser takes {ms['plain_ms']:.2f} ms of CPU for {len(script.turns[0])} tokens, "
                f"the witness adds {ms['added_ms']:.2f} ms"
            )
        for (endpoint, name), cost in costs.items():
            added = inside[name]["added_ms"]
            print(
                f"{endpoint}, {name}: {cost:.0f} ms per request, of which {added / (cost - added):.2%} added"
            )


if __name__ == "__main__":
    main()
