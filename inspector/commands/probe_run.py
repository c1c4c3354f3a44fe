"""What `probe` does; `probe` has its options."""

import asyncio
import json
import os
import secrets
import sys
from argparse import Namespace
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from inspector.capture.capture import Endpoint
from inspector.capture.errors import ConnectionFailed, InspectorError, StoreError
from inspector.commands.asking import server_of, usual_request
from inspector.commands.shared import print_json, redraw, say, tell, write_text
from inspector.fleet.probe import (
    Budget,
    Load,
    Plan,
    Probe,
    Prompt,
    Result,
    Row,
    Sweep,
    csv_text,
    junit_text,
    probe_lines,
    probe_row,
    prompts_of_file,
    prompts_of_text,
    sarif_text,
)
from inspector.fleet.probe.planning import SWEEP_WARM_UP
from inspector.fleet.probe.reporting import progress_line
from inspector.lab.probing import script_asks, script_controls
from inspector.net.client.address import Server
from inspector.net.runs.registry import FOLDER_VARIABLE
from inspector.protocol.wire.endpoints import asked_endpoints

_REPEAT: Final = 20
_AT_MOST_WITH_RATE: Final = 256
_TERMINAL_EACH_S: Final = 0.5
_LOG_EACH_S: Final = 10.0
_EXPORTS: Final = (("csv", csv_text), ("junit", junit_text), ("sarif", sarif_text))


def run(arguments: Namespace) -> int:
    """Probe, print the result, and exit by `--fail-on`."""
    probe = asyncio.run(_probed(arguments, _plan(arguments)))
    if not probe.rows and not probe.stopped:
        raise ConnectionFailed(probe.trouble or "no request has ended")
    for name, export in _EXPORTS:
        if (path := getattr(arguments, name)) is not None:
            write_text(path, export(probe.rows))
    if arguments.json:
        print_json(probe_row(probe))
    elif "-" not in {arguments.csv, arguments.junit, arguments.sarif}:
        say(probe_lines(probe))
    if probe.trouble:
        raise StoreError(probe.trouble)
    if any(_fails(row, arguments.fail_on) for row in probe.rows):
        return 1
    return 2 if probe.stopped else 0


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


def _prompts(arguments: Namespace) -> list[Prompt]:
    found = [prompt for text in arguments.prompt for prompt in _one(text)]
    for path in arguments.prompts:
        found += prompts_of_file(Path(path))
    return found


def _one(text: str) -> list[Prompt]:
    """A prompt of the command line may have several lines."""
    return prompts_of_text(json.dumps(text), ".jsonl")


def _checked(arguments: Namespace) -> None:
    """Options that need or exclude each other, before a server is asked."""
    wrong = {
        "nothing to send; pass --prompt, --prompts or --script": not (
            arguments.prompt or arguments.prompts or arguments.script
        ),
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
        "only one of --json, --csv -, --junit - and --sarif - can go to standard output": (
            [arguments.csv, arguments.junit, arguments.sarif].count("-") + arguments.json > 1
        ),
    }
    for sentence, holds in wrong.items():
        if holds:
            raise InspectorError(sentence)


def _load(arguments: Namespace) -> Load:
    rate = None if arguments.rate is None else arguments.rate * arguments.share
    concurrency = arguments.concurrency or (1 if rate is None else _AT_MOST_WITH_RATE)
    return Load(concurrency=concurrency, rate=rate)


def _budget(arguments: Namespace) -> Budget:
    least: dict[str, float] = {}
    for value, unit in arguments.budget:
        least[unit] = min(value, least.get(unit, value))
    requests = arguments.requests
    if requests is None and arguments.repeat is not None:
        requests = arguments.repeat * (arguments.concurrency or 1)
    bounded = [one for one in (requests, least.get("requests")) if one is not None]
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


def _fails(row: Row, level: str) -> bool:
    match level:
        case "damaged":
            return row.result is Result.DAMAGED
        case "failed":
            return row.result in {Result.DAMAGED, Result.FAILED}
        case "unknown":
            return row.result is not Result.OK
        case _:
            return False
