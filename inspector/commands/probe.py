"""`probe`: send many requests to a server, audit each stream as it ends, and report the damaged ones."""

import asyncio
import json
import os
import re
import secrets
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from inspector.capture.capture import Endpoint
from inspector.capture.errors import ConnectionFailed, InspectorError, StoreError
from inspector.commands.asking import (
    BASE_URL_HELP,
    add_connection_options,
    add_usual_options,
    base_url,
    server_of,
    usual_request,
)
from inspector.commands.redact import add_redact_option
from inspector.commands.shared import one_on_standard_output, write_text
from inspector.commands.terminal import Commands, print_json, redraw, say, tell
from inspector.fleet.probe import (
    BUILT_IN,
    EXPORTS,
    Budget,
    Plan,
    Probe,
    ProbeLoad,
    ProbePrompt,
    ProbeRow,
    Result,
    Sweep,
    probe_lines,
    probe_row,
    prompts_of_file,
    prompts_of_text,
)
from inspector.fleet.probe.planning import SWEEP_WARM_UP
from inspector.fleet.probe.reporting import progress_line, summary_of
from inspector.lab.probing import script_asks, script_controls
from inspector.net.client.address import Server
from inspector.net.runs.registry import FOLDER_VARIABLE
from inspector.protocol.wire.endpoints import asked_endpoints

FAIL_ON: Final = ("damaged", "failed", "unknown", "worse", "never")
"""Results that give exit code 1; the first three include those before them, `worse` is of --against."""

_MIX: Final = "mix"
_AMOUNT: Final = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?)([kM]?) ?(requests?|tokens?|s|m|h|min)")
_UNITS: Final = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_REPEAT: Final = 20
_AT_MOST_WITH_RATE: Final = 256
_TERMINAL_EACH_S: Final = 0.5
_LOG_EACH_S: Final = 10.0

_EXAMPLE: Final = """example:
  python -m inspector probe --base-url http://localhost:8000/v1 --endpoint responses \\
      --prompt "What is the weather in Paris?" --concurrency 5 --repeat 100
  python -m inspector probe --base-url http://localhost:8000/v1 --prompts prompts.jsonl --sweep
  python -m inspector probe --against http://old:8000/v1 http://new:8000/v1 --prompt "Hello" --requests 300
  python -m inspector probe --base-url http://prod:8000/v1 --prompts prompts.txt --rate 40 --share 0.01 \\
      --budget 1h

Each response is recorded and audited as it ends. Captures of responses that are not ok are kept in the folder
of --out, with a row for each request; the same command resumes a run that was stopped.

exit codes: 0 nothing at the level of --fail-on, 1 something, 2 a server or file failed, or you stopped it
"""


class Amount(NamedTuple):
    """A budget: an amount of `requests`, `tokens` or `seconds`."""

    value: float
    unit: str


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "probe",
        description="Send many requests to a server, audit each stream, and report how many lost text.",
        epilog=_EXAMPLE,
        formatter_class=RawDescriptionHelpFormatter,
    )
    _add_server_options(parser)
    _add_request_options(parser)
    _add_load_options(parser)
    _add_output_options(parser)
    parser.set_defaults(run=run)


def run(arguments: Namespace) -> int:
    """Probe, print the result, and exit by `--fail-on`."""
    probe = asyncio.run(_probed(arguments, _plan(arguments)))
    if not probe.rows and not probe.stopped:
        raise ConnectionFailed(probe.trouble or "no request has ended")
    for export in EXPORTS:
        if (path := getattr(arguments, export.option)) is not None:
            write_text(path, export.make(probe.rows, None if probe.shelf is None else probe.shelf.folder))
    if arguments.json:
        print_json(probe_row(probe))
    elif "-" not in {arguments.csv, arguments.junit, arguments.sarif}:
        say(probe_lines(probe))
    if probe.trouble:
        raise StoreError(probe.trouble)
    against = summary_of(probe).against if arguments.fail_on == "worse" else None
    if any(_fails(row, arguments.fail_on) for row in probe.rows) or (against is not None and against.worse):
        return 1
    return 2 if probe.stopped else 0


def _add_server_options(parser: ArgumentParser) -> None:
    group = parser.add_mutually_exclusive_group(required=not base_url())
    group.add_argument("--base-url", metavar="URL", default=base_url(), help=BASE_URL_HELP)
    group.add_argument(
        "--against",
        nargs=2,
        metavar="URL",
        help="two servers A and B: send each request to both, and compare their rates",
    )
    parser.add_argument(
        "--model",
        nargs="+",
        default=[],
        metavar="NAME",
        help="one name, or one for each server (default: the first that the server lists)",
    )
    add_connection_options(parser)


def _add_request_options(parser: ArgumentParser) -> None:
    group = parser.add_argument_group(
        "requests", "prompts and endpoints are used in turn; without a prompt, three built-in ones are sent"
    )
    group.add_argument("--prompt", action="append", default=[], metavar="TEXT", help="repeatable")
    group.add_argument(
        "--prompts",
        action="append",
        default=[],
        metavar="FILE",
        help="one prompt per line; .jsonl: a text, a list of messages or a request per line; .json: messages",
    )
    group.add_argument(
        "--script",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME",
        help="scripts of the lab, for a server of the lab",
    )
    names = [endpoint.value for endpoint in asked_endpoints()]
    group.add_argument(
        "--endpoint",
        nargs="+",
        choices=[*names, _MIX],
        default=[Endpoint.CHAT.value],
        metavar="NAME",
        help=f"{', '.join(names)}, several of them, or mix for all (default: chat)",
    )
    add_usual_options(group)
    group.add_argument(
        "--control",
        type=_share,
        default=0.0,
        metavar="SHARE",
        help="send this share of requests to completions instead, as a control; counted separately",
    )
    group.add_argument(
        "--unstreamed",
        type=_share,
        default=0.0,
        metavar="SHARE",
        help="send this share of requests without streaming; 1 for all",
    )


def _add_load_options(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("load")
    group.add_argument(
        "--concurrency",
        type=int,
        metavar="N",
        help="workers that send one request after the other (default: 1); with --rate the most requests in "
        "flight (default: 256)",
    )
    group.add_argument("--repeat", type=int, metavar="N", help="requests per worker (default: 20)")
    group.add_argument("--requests", type=int, metavar="N", help="requests in all, for each server")
    group.add_argument(
        "--rate",
        type=float,
        metavar="R",
        help="send R requests per second on average, whatever the server does",
    )
    group.add_argument(
        "--share", type=_share, default=1.0, metavar="SHARE", help="send only this share of --rate"
    )
    group.add_argument(
        "--budget",
        action="append",
        type=_amount,
        default=[],
        metavar="AMOUNT",
        help="end after 500requests, 2Mtokens or 10m, whichever is first; repeatable",
    )
    group.add_argument(
        "--warm-up",
        type=int,
        metavar="N",
        help="send N requests first that are not counted (default: 0, with --sweep 5)",
    )
    group.add_argument(
        "--sweep",
        nargs="?",
        type=int,
        const=64,
        metavar="LIMIT",
        help="raise the number of workers up to LIMIT (default: 64) until responses are damaged",
    )
    group.add_argument(
        "--smallest-rate",
        type=_share,
        default=0.01,
        metavar="SHARE",
        help="with --sweep: the loss rate to rule out before a load counts as free of loss (default: 0.01)",
    )


def _add_output_options(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("output")
    group.add_argument(
        "--out",
        metavar="DIR",
        help="folder for rows and captures; resumes a run that is in it (default: a new one in captures/)",
    )
    group.add_argument(
        "--keep-clean",
        type=_share,
        default=0.0,
        metavar="SHARE",
        help="also keep this share of the captures that are ok",
    )
    add_redact_option(group)
    group.add_argument("--json", action="store_true", help="print the result as JSON")
    for name, words in (
        ("csv", "one line per request"),
        ("junit", "a test report"),
        ("sarif", "SARIF 2.1.0"),
    ):
        group.add_argument(f"--{name}", metavar="FILE", help=f"also write {words}; - for standard output")
    group.add_argument(
        "--fail-on",
        choices=FAIL_ON,
        default="failed",
        help="exit with 1 for damaged responses, also for failed (default), also for unknown ones; "
        "with --against if B is damaged significantly more often than A (worse); or never",
    )
    group.add_argument("--quiet", action="store_true", help="print no progress")


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise ArgumentTypeError(f"invalid share {text[:40]!r}: expected 0 to 1")
    return share


def _amount(text: str) -> Amount:
    match = _AMOUNT.fullmatch(text)
    if match is None:
        raise ArgumentTypeError(f"invalid budget {text[:40]!r}: expected e.g. 500requests, 2Mtokens or 10m")
    value = float(match[1]) * {"": 1, "k": 1000, "M": 1_000_000}[match[2]]
    unit = match[3]
    if unit in _UNITS:
        return Amount(value * _UNITS[unit], "seconds")
    return Amount(value, "tokens" if unit.startswith("token") else "requests")


async def _probed(arguments: Namespace, plan: Plan) -> Probe:
    probe = await plan.prepared()
    if probe.rows and not arguments.quiet:
        tell(f"{plan.folder}: resuming after {len(probe.rows):,} requests")
    telling = None if arguments.quiet else asyncio.create_task(_tell(probe))
    try:
        await probe.run()
    finally:
        if telling is not None:
            telling.cancel()
            await asyncio.gather(telling, return_exceptions=True)
    return probe


def _plan(arguments: Namespace) -> Plan:
    _checked(arguments)
    endpoints = _endpoints(arguments.endpoint)
    scripts, control = arguments.script, arguments.control
    return Plan(
        servers=_servers(arguments),
        endpoints=endpoints,
        prompts=_prompts(arguments),
        scripted=script_asks(scripts, endpoints) if scripts else (),
        controls=script_controls(scripts) if scripts and control else {},
        like=usual_request(arguments),
        control=control,
        unstreamed=arguments.unstreamed,
        load=_load(arguments),
        budget=_budget(arguments),
        sweep=_sweep(arguments),
        folder=_folder(arguments),
        keep_clean=arguments.keep_clean,
        redact=arguments.redact_text,
        warm_up=_warm_up(arguments),
    )


def _servers(arguments: Namespace) -> list[tuple[Server, str]]:
    addresses = arguments.against or [arguments.base_url]
    models = arguments.model or [""]
    if len(models) > len(addresses):
        raise InspectorError(
            f"--model has {len(models)} names for {len(addresses)} servers; give one, or one each"
        )
    return [
        (server_of(arguments, address), models[min(place, len(models) - 1)])
        for place, address in enumerate(addresses)
    ]


def _folder(arguments: Namespace) -> Path:
    if arguments.out is not None:
        return Path(arguments.out)
    moment = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return Path(os.environ.get(FOLDER_VARIABLE, "captures")) / f"probe-{moment}-{secrets.token_hex(2)}"


async def _tell(probe: Probe) -> None:
    """Say how far it is: in place on a terminal, in a line now and then elsewhere."""
    width = 0
    terminal = sys.stderr.isatty()
    try:
        while True:
            await asyncio.sleep(_TERMINAL_EACH_S if terminal else _LOG_EACH_S)
            line = progress_line(probe.progress())
            if terminal:
                width = redraw(line, width)
            else:
                tell(line)
    finally:
        if terminal and width:
            redraw("", width)
            redraw("", 0)


def _endpoints(names: Sequence[str]) -> list[Endpoint]:
    if "mix" in names:
        return asked_endpoints()
    return [Endpoint(name) for name in dict.fromkeys(names)]


def _prompts(arguments: Namespace) -> list[ProbePrompt]:
    prompts = [prompt for text in arguments.prompt for prompt in _prompt_of_text(text)]
    for path in arguments.prompts:
        prompts += prompts_of_file(Path(path))
    return prompts or ([] if arguments.script else list(BUILT_IN))


def _prompt_of_text(text: str) -> list[ProbePrompt]:
    """A prompt of the command line may have several lines."""
    return prompts_of_text(json.dumps(text), ".jsonl")


def _checked(arguments: Namespace) -> None:
    """Options that need or exclude each other, before a server is asked."""
    wrong = {
        "--fail-on worse compares two servers; name them with --against": arguments.fail_on == "worse"
        and arguments.against is None,
        "--share needs --rate": arguments.share != 1.0 and arguments.rate is None,
        "--sweep and --rate exclude each other": arguments.sweep is not None and arguments.rate is not None,
        "--sweep compares loads of one server, not two; leave out --against": arguments.sweep is not None
        and arguments.against is not None,
        "--sweep chooses the workers and their requests; leave out --concurrency and --repeat": (
            arguments.sweep is not None and (arguments.concurrency or arguments.repeat) is not None
        ),
        "--repeat counts requests per worker; use --requests with --rate": arguments.repeat is not None
        and arguments.rate is not None,
        "--repeat and --requests exclude each other": arguments.repeat is not None
        and arguments.requests is not None,
    }
    for sentence, holds in wrong.items():
        if holds:
            raise InspectorError(sentence)
    one_on_standard_output(arguments)


def _load(arguments: Namespace) -> ProbeLoad:
    rate = None if arguments.rate is None else arguments.rate * arguments.share
    concurrency = arguments.concurrency or (1 if rate is None else _AT_MOST_WITH_RATE)
    return ProbeLoad(concurrency=concurrency, rate=rate)


def _budget(arguments: Namespace) -> Budget:
    least: dict[str, float] = {}
    for value, unit in arguments.budget:
        least[unit] = min(value, least.get(unit, value))
    requests = arguments.requests
    if requests is None and arguments.repeat is not None:
        requests = arguments.repeat * (arguments.concurrency or 1)
    bounded = [bound for bound in (requests, least.get("requests")) if bound is not None]
    if not bounded and not least and arguments.sweep is None:
        bounded = [_REPEAT * (arguments.concurrency or 1)]
    tokens = least.get("tokens")
    return Budget(
        requests=int(min(bounded)) if bounded else None,
        tokens=None if tokens is None else int(tokens),
        seconds=least.get("seconds"),
    )


def _warm_up(arguments: Namespace) -> int:
    if arguments.warm_up is not None:
        return int(arguments.warm_up)
    return 0 if arguments.sweep is None else SWEEP_WARM_UP


def _sweep(arguments: Namespace) -> Sweep | None:
    if arguments.sweep is None:
        return None
    return Sweep(limit=arguments.sweep, smallest=arguments.smallest_rate)


def _fails(row: ProbeRow, level: str) -> bool:
    match level:
        case "damaged":
            return row.result is Result.DAMAGED
        case "failed":
            return row.result in {Result.DAMAGED, Result.FAILED}
        case "unknown":
            return row.result is not Result.OK
        case _:
            return False
