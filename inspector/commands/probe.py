"""`probe`: send many requests to a server, audit each stream as it ends, and report the damaged ones."""

import asyncio
import json
import os
import re
import secrets
from argparse import ArgumentTypeError
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final, Literal, NamedTuple

from inspector.capture.capture import Endpoint
from inspector.capture.errors import ConnectionFailed, InspectorError, StoreError
from inspector.commands.asking import (
    BASE_URL_HELP,
    URL_VARIABLE,
    Connection,
    Sampling,
    server_of,
    usual_request,
)
from inspector.commands.options import Command, Options, Value, flag, option
from inspector.commands.progress import progress
from inspector.commands.redact import redacting
from inspector.commands.shared import Share, as_json, one_on_standard_output, write_text
from inspector.commands.terminal import print_json, say, tell
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
from inspector.matrix.requests import script_asks, script_controls
from inspector.net.client.address import Server
from inspector.net.runs.registry import FOLDER_VARIABLE
from inspector.protocol.wire.endpoints import asked_endpoints

FailOn = Literal["damaged", "failed", "unknown", "worse", "never"]
"""Results that give exit code 1; the first three include those before them, `worse` is of --against."""

_MIX: Final = "mix"
_AMOUNT: Final = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?)([kM]?) ?(requests?|tokens?|s|m|h|min)")
_UNITS: Final = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_REPEAT: Final = 20
_AT_MOST_WITH_RATE: Final = 256

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


def _amount(text: str) -> Amount:
    match = _AMOUNT.fullmatch(text)
    if match is None:
        raise ArgumentTypeError(f"invalid budget {text[:40]!r}: expected e.g. 500requests, 2Mtokens or 10m")
    value = float(match[1]) * {"": 1, "k": 1000, "M": 1_000_000}[match[2]]
    unit = match[3]
    if unit in _UNITS:
        return Amount(value * _UNITS[unit], "seconds")
    return Amount(value, "tokens" if unit.startswith("token") else "requests")


class _Servers(Connection, title="servers"):
    """The server, or the two that are compared."""

    base_url: str = option(BASE_URL_HELP, "", "URL", one_of="server", environment=URL_VARIABLE)
    against: tuple[str, str] | None = option(
        "two servers A and B: send each request to both, and compare their rates",
        None,
        "URL",
        one_of="server",
    )
    model: tuple[str, ...] = option(
        "one name, or one for each server (default: the first that the server lists)", (), "NAME"
    )


class _Requests(
    Sampling,
    title="requests",
    about="prompts and endpoints are used in turn; without a prompt, three built-in ones are sent",
):
    """What is sent."""

    prompt: tuple[str, ...] = option("repeatable", (), "TEXT", repeatable=True)
    prompts: tuple[str, ...] = option(
        "one prompt per line; .jsonl: a text, a list of messages or a request per line; .json: messages",
        (),
        "FILE",
        repeatable=True,
    )
    script: tuple[tuple[str, ...], ...] = option(
        "scripts of the lab, for a server of the lab", (), "NAME", repeatable=True
    )
    endpoint: tuple[str, ...] = option(
        f"{', '.join(asked_endpoints())}, several of them, or mix for all (default: chat)",
        (Endpoint.CHAT.value,),
        "NAME",
        choices=[*asked_endpoints(), _MIX],
    )
    control: Share = option(
        "send this share of requests to completions instead, as a control; counted separately", 0.0
    )
    unstreamed: Share = option("send this share of requests without streaming; 1 for all", 0.0)


class _Load(Options, title="load"):
    """How many requests, and how fast."""

    concurrency: int | None = option(
        "workers that send one request after the other (default: 1); with --rate the most requests in flight "
        "(default: 256)",
        None,
        "N",
    )
    repeat: int | None = option("requests per worker (default: 20)", None, "N")
    requests: int | None = option("requests in all, for each server", None, "N")
    rate: float | None = option("send R requests per second on average, whatever the server does", None, "R")
    share: Share = option("send only this share of --rate", 1.0)
    budget: tuple[Annotated[Amount, Value(_amount, "AMOUNT")], ...] = option(
        "end after 500requests, 2Mtokens or 10m, whichever is first; repeatable", (), repeatable=True
    )
    warm_up: int | None = option(
        "send N requests first that are not counted (default: 0, with --sweep 5)", None, "N"
    )
    sweep: int | None = option(
        "raise the number of workers up to LIMIT (default: 64) until responses are damaged",
        None,
        "LIMIT",
        bare=64,
    )
    smallest_rate: Share = option(
        "with --sweep: the loss rate to rule out before a load counts as free of loss", 0.01
    )


class _Output(Options, title="output"):
    """What is kept, printed and written."""

    out: str | None = option(
        "folder for rows and captures; resumes a run that is in it (default: a new one in captures/)",
        None,
        "DIR",
    )
    keep_clean: Share = option("also keep this share of the captures that are ok", 0.0)
    redact_text: bool = redacting()
    json: bool = as_json()
    csv: str | None = option("also write one line per request; - for standard output", None, "FILE")
    junit: str | None = option("also write a test report; - for standard output", None, "FILE")
    sarif: str | None = option("also write SARIF 2.1.0; - for standard output", None, "FILE")
    fail_on: FailOn = option(
        "exit with 1 for damaged responses, also for failed (default), also for unknown ones; "
        "with --against if B is damaged significantly more often than A (worse); or never",
        "failed",
    )
    quiet: bool = flag("print no progress")


class ProbeOptions(_Servers, _Requests, _Load, _Output, needs=("server",)):
    """Send many requests to a server, audit each stream, and report how many lost text."""


def run(options: ProbeOptions) -> int:
    """Probe, print the result, and exit by `--fail-on`."""
    probe = asyncio.run(_probed(options, _plan(options)))
    if not probe.rows and not probe.stopped:
        raise ConnectionFailed(probe.trouble or "no request has ended")
    files = {"csv": options.csv, "junit": options.junit, "sarif": options.sarif}
    for export in EXPORTS:
        if (path := files[export.option]) is not None:
            write_text(path, export.make(probe.rows, None if probe.shelf is None else probe.shelf.folder))
    if options.json:
        print_json(probe_row(probe))
    elif "-" not in files.values():
        say(probe_lines(probe))
    if probe.trouble:
        raise StoreError(probe.trouble)
    against = summary_of(probe).against if options.fail_on == "worse" else None
    if any(_fails(row, options.fail_on) for row in probe.rows) or (against is not None and against.worse):
        return 1
    return 2 if probe.stopped else 0


async def _probed(options: ProbeOptions, plan: Plan) -> Probe:
    probe = await plan.prepared()
    if probe.rows and not options.quiet:
        tell(f"{plan.folder}: resuming after {len(probe.rows):,} requests")
    with progress(quiet=options.quiet, log=True) as step:
        step(lambda: progress_line(probe.progress()))
        await probe.run()
    return probe


def _plan(options: ProbeOptions) -> Plan:
    _checked(options)
    endpoints = _endpoints(options.endpoint)
    scripts, control = _scripts(options), options.control
    return Plan(
        servers=_servers(options),
        endpoints=endpoints,
        prompts=_prompts(options),
        scripted=script_asks(scripts, endpoints) if scripts else (),
        controls=script_controls(scripts) if scripts and control else {},
        like=usual_request(options),
        control=control,
        unstreamed=options.unstreamed,
        load=_load(options),
        budget=_budget(options),
        sweep=_sweep(options),
        folder=_folder(options),
        keep_clean=options.keep_clean,
        redact=options.redact_text,
        warm_up=_warm_up(options),
    )


def _servers(options: _Servers) -> list[tuple[Server, str]]:
    addresses = options.against or [options.base_url]
    models = options.model or [""]
    if len(models) > len(addresses):
        raise InspectorError(
            f"--model has {len(models)} names for {len(addresses)} servers; give one, or one each"
        )
    return [
        (server_of(options, address), models[min(place, len(models) - 1)])
        for place, address in enumerate(addresses)
    ]


def _folder(options: _Output) -> Path:
    if options.out is not None:
        return Path(options.out)
    moment = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return Path(os.environ.get(FOLDER_VARIABLE, "captures")) / f"probe-{moment}-{secrets.token_hex(2)}"


def _endpoints(names: Sequence[str]) -> list[Endpoint]:
    if "mix" in names:
        return asked_endpoints()
    return [Endpoint(name) for name in dict.fromkeys(names)]


def _prompts(options: _Requests) -> list[ProbePrompt]:
    prompts = [prompt for text in options.prompt for prompt in _prompt_of_text(text)]
    for path in options.prompts:
        prompts += prompts_of_file(Path(path))
    return prompts or ([] if options.script else list(BUILT_IN))


def _scripts(options: _Requests) -> list[str]:
    return [name for names in options.script for name in names]


def _prompt_of_text(text: str) -> list[ProbePrompt]:
    """A prompt of the command line may have several lines."""
    return prompts_of_text(json.dumps(text), ".jsonl")


def _checked(options: ProbeOptions) -> None:
    """Options that need or exclude each other, before a server is asked."""
    wrong = {
        "--fail-on worse compares two servers; name them with --against": options.fail_on == "worse"
        and options.against is None,
        "--share needs --rate": options.share != 1.0 and options.rate is None,
        "--sweep and --rate exclude each other": options.sweep is not None and options.rate is not None,
        "--sweep compares loads of one server, not two; leave out --against": options.sweep is not None
        and options.against is not None,
        "--sweep chooses the workers and their requests; leave out --concurrency and --repeat": (
            options.sweep is not None and (options.concurrency or options.repeat) is not None
        ),
        "--repeat counts requests per worker; use --requests with --rate": options.repeat is not None
        and options.rate is not None,
        "--repeat and --requests exclude each other": options.repeat is not None
        and options.requests is not None,
    }
    for sentence, holds in wrong.items():
        if holds:
            raise InspectorError(sentence)
    one_on_standard_output(json=options.json, csv=options.csv, junit=options.junit, sarif=options.sarif)


def _load(options: _Load) -> ProbeLoad:
    rate = None if options.rate is None else options.rate * options.share
    concurrency = options.concurrency or (1 if rate is None else _AT_MOST_WITH_RATE)
    return ProbeLoad(concurrency=concurrency, rate=rate)


def _budget(options: _Load) -> Budget:
    least: dict[str, float] = {}
    for value, unit in options.budget:
        least[unit] = min(value, least.get(unit, value))
    requests = options.requests
    if requests is None and options.repeat is not None:
        requests = options.repeat * (options.concurrency or 1)
    bounded = [bound for bound in (requests, least.get("requests")) if bound is not None]
    if not bounded and not least and options.sweep is None:
        bounded = [_REPEAT * (options.concurrency or 1)]
    tokens = least.get("tokens")
    return Budget(
        requests=int(min(bounded)) if bounded else None,
        tokens=None if tokens is None else int(tokens),
        seconds=least.get("seconds"),
    )


def _warm_up(options: _Load) -> int:
    if options.warm_up is not None:
        return options.warm_up
    return 0 if options.sweep is None else SWEEP_WARM_UP


def _sweep(options: _Load) -> Sweep | None:
    if options.sweep is None:
        return None
    return Sweep(limit=options.sweep, smallest=options.smallest_rate)


def _fails(row: ProbeRow, level: FailOn) -> bool:
    match level:
        case "damaged":
            return row.result is Result.DAMAGED
        case "failed":
            return row.result in {Result.DAMAGED, Result.FAILED}
        case "unknown":
            return row.result is not Result.OK
        case _:
            return False


COMMAND: Final = Command(ProbeOptions, run, _EXAMPLE)
