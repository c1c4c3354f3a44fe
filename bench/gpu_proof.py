"""What releases of vLLM deliver on this machine's GPU: each is started, probed, and followed live.

    python -m bench.gpu_proof 0.14.1 0.33.0 "0.33.0 --no-async-scheduling" --out proof
    python -m bench.gpu_proof --base-url http://localhost:8000/v1 --out proof

A SERVER is a release and flags of its own. Every server gets the same requests, on each endpoint with each
number of streams at once: those of `probe`, whose responses are audited, then one long request per stream,
recorded as the Live page records it and followed on the feed that the browser reads (docs/probe.md).

Each endpoint and number of streams of a server is a row, printed and written to rows.jsonl at once:

    server, command, gpu, model, endpoint, streams    what was measured
    probe                  what `probe --json` prints, with tokens per second of all streams together
    live.tokens_per_s      of the long responses together
    live.lag_p50_s, _p95_s from a token's arrival until the reader of the feed has it, as a browser would
    live.lost_by_server    tokens that the server counted in `usage` and sent no ID of
    live.lost_by_us        tokens that arrived and are not in the file or not on the feed
    live.failures          how long responses failed, or that they were stopped at the time limit
    trouble                why a server did not start, or could no longer be reached; then no measurements
"""

import argparse
import asyncio
import json
import shlex
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.live import follow, lags, serve
from harmony_lab.process import ServerProcess, kill_is_interrupt
from inspector.analysis.metrics import quantile
from inspector.analysis.reading import read
from inspector.capture.capture import Endpoint
from inspector.capture.errors import ConnectionFailed, InspectorError, LabError
from inspector.capture.formats import fine_duration
from inspector.commands.terminal import say, tell
from inspector.files.store import load
from inspector.fleet.probe import BUILT_IN, Budget, Plan, ProbeLoad, probe_row
from inspector.net.client.address import Server
from inspector.net.client.request import LiveRequest
from inspector.net.runs.registry import Registry
from inspector.protocol.wire.endpoints import asked_endpoints, spec_of
from tests.support.listening import free_port

VLLM = (
    "uvx --from vllm=={version} vllm serve {model} --port {port} "
    "--enable-auto-tool-choice --tool-call-parser openai"
)
Row = dict[str, Any]
LONG = "Count from one upwards, in words, and never stop."
ENDPOINTS = [endpoint.value for endpoint in asked_endpoints()]


def measure(name: str, options: argparse.Namespace) -> Iterator[Row]:
    """A row per endpoint and number of streams; a server that does not start, or stops, is a row too."""
    row: Row = {"server": name, "model": options.model, "gpu": gpu()}
    folder = options.out / name.replace("/", "-").replace(" ", "_")[:80]
    registry = Registry(folder / "live")
    feed = serve(registry)
    try:
        with started(name, options, row, folder / "server.log") as server:
            for endpoint in map(Endpoint, options.endpoint):
                like = LiveRequest(model=options.model, endpoint=endpoint, temperature=0.0, max_tokens=512)
                on = {"ignore_eos": True} if spec_of(endpoint).raw else {}  # others reject what follows it
                long = replace(like, prompt=LONG, max_tokens=options.tokens, extra=on)
                for streams in options.streams:
                    tell(f"{name}: {endpoint}, {streams} at once")
                    row |= {"endpoint": str(endpoint), "streams": streams}
                    plan = Plan(
                        servers=[(server, options.model)],
                        endpoints=[endpoint],
                        prompts=BUILT_IN,
                        like=like,
                        load=ProbeLoad(concurrency=streams),
                        budget=Budget(requests=options.requests, seconds=options.seconds),
                        folder=folder / f"{endpoint}-{streams}",
                        keep_clean=0.01,
                    )
                    probe = asyncio.run(probed(plan, options.seconds))
                    live = asyncio.run(followed(registry, feed, server, [long] * streams, options.seconds))
                    yield {**row, "probe": probe, "live": live}
    except (LabError, ConnectionFailed) as error:
        yield {**row, "trouble": str(error)}


@contextmanager
def started(name: str, options: argparse.Namespace, row: Row, log: Path) -> Iterator[Server]:
    """The server, which runs inside the context; its command is noted in the row."""
    if options.base_url:
        yield Server(base_url=options.base_url)
        return
    version, *flags = shlex.split(name)
    port = free_port()
    words = [*shlex.split(options.command), *flags]
    for key, value in (("version", version), ("model", options.model), ("port", str(port))):
        words = [word.replace(f"{{{key}}}", value) for word in words]  # other braces are JSON
    row["command"] = shlex.join(words)
    tell(f"{name}: starting {row['command']}")
    with ServerProcess(words, port=port, log=log, timeout_s=options.start_s, say=tell) as process:
        yield Server(base_url=process.base_url)


async def probed(plan: Plan, seconds: float) -> Row:
    """The result as `probe --json` has it, with its pace; what hangs as long again as it took is dropped."""
    probe = await plan.prepared()
    running = asyncio.ensure_future(probe.run())
    await asyncio.wait({running}, timeout=2 * seconds)
    hanging = probe.progress().in_flight
    probe.stop()
    await running
    result = probe_row(probe)
    responses = [row.response for row in probe.rows]
    per_event = [mean for response in responses if (mean := response.tokens_per_event) is not None]
    return {
        **result,
        "notes": [f"{hanging} responses did not end."] if hanging else result["notes"],
        "tokens_per_s": sum(response.tokens for response in responses) / result["seconds"],
        "tokens_per_event": sum(per_event) / len(per_event) if per_event else None,
    }


async def followed(
    registry: Registry, feed: str, server: Server, requests: list[LiveRequest], seconds: float
) -> Row:
    """Pace of long responses, their lag from arrival to the feed's reader, and tokens that were lost."""
    began = time.monotonic()
    runs = [registry.start(server, request) for request in requests]
    asyncio.get_running_loop().call_later(seconds, lambda: [run.stop() for run in runs])
    growth_by_run = await asyncio.gather(*(follow(feed, run) for run in runs))
    took_s = time.monotonic() - began
    late: list[float] = []
    tokens = lost_by_server = lost_by_us = 0
    for run, growth in zip(runs, growth_by_run, strict=True):
        reading = run.reading()
        if arrived := len(reading.choice.tokens):
            tokens += arrived
            stored_tokens = len(read(load(run.path)).choice.tokens) if run.path else 0
            lost_by_server += (reading.stream.counted or arrived) - arrived
            lost_by_us += 2 * arrived - stored_tokens - (growth[-1][0] if growth else 0)
            late += lags(run, growth)
    return {
        "tokens": tokens,
        "tokens_per_s": tokens / took_s,
        "lag_p50_s": quantile(late, 0.5) if late else None,
        "lag_p95_s": quantile(late, 0.95) if late else None,
        "lost_by_server": lost_by_server,
        "lost_by_us": lost_by_us,
        "failures": sorted({run.outcome.failure for run in runs if run.outcome.failure}),
    }


def gpu() -> str:
    """Name, memory and driver of the GPUs of this machine; empty without one."""
    words = ["nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ""


def line(row: Row) -> str:
    """A row as text."""
    place = ", ".join(str(row[key]) for key in ("server", "endpoint", "streams") if key in row)
    if "trouble" in row:
        return f"{place}: {row['trouble']}"
    probe, live = row["probe"], row["live"]
    first = next((times["p50_s"] for times in probe["times"] if times["name"] == "first token"), None)
    causes = [f"Cause: {cause['id']} ({cause['streams']})." for cause in probe["causes"]]
    return (
        f"{place}: {' '.join([probe['sentence'], *probe['notes'], *causes])} "
        f"{probe['tokens_per_s']:,.0f} tokens/s, {probe['tokens_per_event'] or 0:.2f} tokens per event, "
        f"first token {fine_duration(first, 'never')}. Live: {live['tokens_per_s']:,.0f} tokens/s, "
        f"lag p50 {fine_duration(live['lag_p50_s'])}, p95 {fine_duration(live['lag_p95_s'])}, "
        f"lost by the server {live['lost_by_server']:,}, by us {live['lost_by_us']:,}"
        f"{''.join(f'; {failure}' for failure in live['failures'])}."
    )


def main(argv: Sequence[str] | None = None) -> None:
    """Measure the servers one after the other; rows.jsonl has each row as soon as it is known."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("servers", nargs="*", metavar="SERVER", help='a release and flags: "0.33.0 --flag"')
    parser.add_argument("--base-url", metavar="URL", help="measure a server that runs already")
    parser.add_argument("--command", default=VLLM, help="starts a server; flags are appended (%(default)s)")
    parser.add_argument("--model", default="openai/gpt-oss-20b")
    parser.add_argument("--out", required=True, type=Path, help="a new folder for rows, captures and logs")
    parser.add_argument("--endpoint", nargs="+", choices=ENDPOINTS, default=ENDPOINTS, help="default: all")
    parser.add_argument("--streams", nargs="+", type=int, default=[1, 8, 64], help="at once (1 8 64)")
    parser.add_argument("--requests", type=int, default=200, help="of a probe, at most (200)")
    parser.add_argument("--seconds", type=float, default=60.0, help="of a probe and of long responses (60)")
    parser.add_argument("--tokens", type=int, default=2000, help="of a long response, at most (2000)")
    parser.add_argument("--start-s", type=float, default=1800.0, help="for a server to start (1800)")
    options = parser.parse_args(argv)
    if bool(options.servers) is bool(options.base_url):
        parser.error("name releases, or a running server with --base-url")
    try:
        options.out.mkdir(parents=True)
        with kill_is_interrupt(), (options.out / "rows.jsonl").open("w", encoding="utf-8") as file:
            for row in (row for name in options.servers or ["running"] for row in measure(name, options)):
                print(json.dumps(row), file=file, flush=True)
                say(line(row))
    except (InspectorError, OSError, ValueError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
