"""`proof`: start gpt-oss under several conditions and report how many responses arrive damaged."""

import asyncio
import json
import shlex
import subprocess
import time
from argparse import Namespace, RawDescriptionHelpFormatter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from inspector.capture.capture import Endpoint
from inspector.capture.errors import ConnectionFailed, InspectorError, LabError, StoreError
from inspector.capture.version import __version__
from inspector.commands.asking import add_connection_options, server_of
from inspector.commands.shared import write_text
from inspector.commands.terminal import Commands, print_json, say, tell
from inspector.fleet.probe import prompts_of_file
from inspector.fleet.probe.proof import (
    CONDITIONS,
    STREAMS,
    WORKLOAD,
    Condition,
    Proof,
    ProofCell,
    proof_lines,
    proof_markdown,
    proof_row,
    prove,
)
from inspector.lab.process import ServerProcess, free_port, kill_is_interrupt
from inspector.net.client.address import Server
from inspector.net.client.server_info import list_models, open_client, version_and_owner
from inspector.protocol.wire.endpoints import asked_endpoints

_COMMAND: Final = "vllm serve {model} --port {port} --enable-auto-tool-choice --tool-call-parser openai"
_START_AT_LEAST_S: Final = 60.0
"""Seconds that a start may take, however little time is left."""
_RUNNING: Final = Condition(name="running", words="a server that was running already")

_EXAMPLE: Final = """example:
  python -m inspector proof --model openai/gpt-oss-20b --out proof
  python -m inspector proof --model openai/gpt-oss-20b --out proof -- --load-format dummy
  python -m inspector proof --base-url http://localhost:8000/v1 --out proof --minutes 3

Starts the model three times (defaults of the release, speculative decoding, no async scheduling), asks chat,
Responses and completions with 1, 8 and 64 streams at once, audits every response, and writes report.md,
report.json and the captures of damaged responses to --out.

exit codes: 0 nothing damaged, 1 some responses were damaged, 2 nothing could be measured
"""


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "proof",
        description="Start gpt-oss under several conditions, audit many responses, and write one report.",
        epilog=_EXAMPLE,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("--model", default="openai/gpt-oss-20b", metavar="NAME", help="default: %(default)s")
    parser.add_argument("--base-url", metavar="URL", help="measure a running server instead of starting one")
    parser.add_argument(
        "--out", required=True, type=Path, metavar="DIR", help="folder for report and captures"
    )
    parser.add_argument(
        "--minutes",
        type=float,
        default=10.0,
        metavar="M",
        help="time limit in minutes, including server starts (default: 10)",
    )
    parser.add_argument(
        "--command",
        dest="template",
        default=_COMMAND,
        metavar="COMMAND",
        help="command that starts a server; flags are appended (default: %(default)s)",
    )
    parser.add_argument(
        "--condition",
        nargs="+",
        choices=[condition.name for condition in CONDITIONS],
        default=[condition.name for condition in CONDITIONS],
        metavar="NAME",
        help=f"{', '.join(condition.name for condition in CONDITIONS)} (default: all)",
    )
    parser.add_argument(
        "--streams",
        nargs="+",
        type=int,
        default=list(STREAMS),
        metavar="N",
        help="concurrent streams (default: 1 8 64)",
    )
    names = [endpoint.value for endpoint in asked_endpoints()]
    parser.add_argument(
        "--endpoint", nargs="+", choices=names, default=names, metavar="NAME", help="default: all"
    )
    parser.add_argument(
        "--prompts", type=Path, metavar="FILE", help="file of prompts, in a format that probe reads"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("flags", nargs="*", metavar="FLAG", help="after --: more flags for every server")
    add_connection_options(parser)
    parser.set_defaults(run=run)


def run(arguments: Namespace) -> int:
    """Measure, write the report, and exit with 1 if something was damaged."""
    if not 0 < arguments.minutes <= 24 * 60 or not all(0 < number <= 4096 for number in arguments.streams):
        raise InspectorError("--minutes must be more than 0 and at most 1440, --streams 1 to 4096")
    if (arguments.out / "captures").exists():
        raise StoreError(f"{arguments.out}: already contains a proof; choose another --out")
    with kill_is_interrupt():
        proof = _running(arguments) if arguments.base_url else _started(arguments)
    report = _written(arguments, proof)
    if arguments.json:
        print_json(proof_row(proof))
    else:
        say([*proof_lines(proof), "", f"report: {report}"])
    if not proof.checked:
        return 2
    return int(proof.damaged > 0)


def _written(arguments: Namespace, proof: Proof) -> Path:
    """Write the report; called after each condition, so that a stopped run has one too."""
    report: Path = arguments.out / "report.md"
    write_text(str(report), proof_markdown(proof))
    write_text(str(arguments.out / "report.json"), json.dumps(proof_row(proof), indent=2) + "\n")
    return report


def _running(arguments: Namespace) -> Proof:
    server = server_of(arguments)
    model = arguments.model if arguments.model in (names := list_models(server)) else next(iter(names), "")
    cells = _measured(arguments, _RUNNING, server, model, arguments.minutes * 60)
    return _proof(arguments, model, _version(server, model), cells, {})


def _started(arguments: Namespace) -> Proof:
    until = time.monotonic() + arguments.minutes * 60
    chosen = [condition for condition in CONDITIONS if condition.name in arguments.condition]
    cells: list[ProofCell] = []
    release: str | None = None
    model = served = arguments.model
    commands: dict[str, str] = {}
    for place, condition in enumerate(chosen):
        ends = time.monotonic() + (until - time.monotonic()) / (len(chosen) - place)
        port = free_port()
        words = _words(arguments.template, model, port)
        tell(f"{condition.name}: starting {words[0]}")
        words = [*words, *arguments.flags, *condition.flags]
        commands[condition.name] = shlex.join(words)
        try:
            with ExitStack() as stack:
                process = ServerProcess(
                    words,
                    port=port,
                    log=arguments.out / f"{condition.name}.log",
                    timeout_s=max(until - time.monotonic(), _START_AT_LEAST_S),
                    say=tell,
                )
                server = server_of(arguments, stack.enter_context(process).base_url)
                names = list_models(server)
                served = model if model in names else next(iter(names), model)
                release = _version(server, served) or release
                cells += _measured(arguments, condition, server, served, ends - time.monotonic())
        except (LabError, ConnectionFailed) as error:
            tell(str(error))
            trouble = f"the server did not start: {error}" if isinstance(error, LabError) else str(error)
            if time.monotonic() > until:
                trouble += "; download the weights first if they are not on this machine, or raise --minutes"
            cells.append(
                ProofCell(
                    condition=condition.name, endpoint=Endpoint.CHAT, streams=0, rows=(), trouble=trouble
                )
            )
        _written(arguments, _proof(arguments, served, release, cells, commands))
    return _proof(arguments, served, release, cells, commands)


def _words(template: str, model: str, port: int) -> list[str]:
    """The command that starts a server; only `{model}` and `{port}` are replaced, as flags may be JSON."""
    try:
        words = shlex.split(template)
    except ValueError as error:
        raise InspectorError(f"--command cannot be read ({error}); check its quotes") from error
    if not words:
        raise InspectorError("--command is empty; it needs the program that starts a server")
    return [word.replace("{model}", model).replace("{port}", str(port)) for word in words]


def _measured(
    arguments: Namespace, condition: Condition, server: Server, model: str, seconds: float
) -> list[ProofCell]:
    return asyncio.run(
        prove(
            condition,
            server,
            model,
            seconds=seconds,
            endpoints=[Endpoint(name) for name in dict.fromkeys(arguments.endpoint)],
            streams=list(dict.fromkeys(arguments.streams)),
            folder=arguments.out / "captures",
            prompts=prompts_of_file(arguments.prompts) if arguments.prompts else (),
            say=tell,
        )
    )


def _proof(
    arguments: Namespace,
    model: str,
    release: str | None,
    cells: Sequence[ProofCell],
    commands: Mapping[str, str],
) -> Proof:
    local = arguments.base_url is None  # of another server it is not known where it runs
    gpu, driver = _gpu() if local else (None, None)
    at = f"measured on {datetime.now(UTC):%Y-%m-%d at %H:%M} UTC"
    return Proof(
        model=model,
        version=release,
        gpu=gpu,
        driver=driver,
        local=local,
        cells=cells,
        commands=commands,
        workload=f"the prompts of {arguments.prompts}" if arguments.prompts else WORKLOAD,
        made=f"{at} by Harmony Inspector {__version__}, with a budget of {_budget(arguments.minutes)}",
        folder=arguments.out / "captures",
    )


def _budget(minutes: float) -> str:
    return f"{minutes:g} minute{'' if minutes == 1 else 's'}"


def _version(server: Server, model: str) -> str | None:
    async def asked() -> str | None:
        async with open_client(server) as client:
            return (await version_and_owner(server, model, client))[0]

    try:
        return asyncio.run(asked())
    except InspectorError:
        return None


def _gpu() -> tuple[str | None, str | None]:
    """The GPUs of this machine and their driver by nvidia-smi; None without one."""
    words = ["nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
    try:
        listing = subprocess.run(words, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None, None
    return gpu_words(listing.stdout)


def gpu_words(listing: str) -> tuple[str | None, str | None]:
    """The GPUs and their driver from lines of `name, memory, driver`."""
    rows = [[cell.strip()[:80] for cell in line.split(",")] for line in listing.splitlines() if line.strip()]
    if not rows:
        return None, None
    name = ", ".join(rows[0][:2])
    return f"{len(rows)} x {name}" if len(rows) > 1 else name, rows[0][2] if len(rows[0]) > 2 else None
