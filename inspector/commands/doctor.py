"""`doctor`: check a server's gpt-oss configuration and say what to change."""

from typing import Any, Final

from inspector.capture.errors import ConnectionFailed
from inspector.commands.asking import AskedServer, server_of
from inspector.commands.options import Command, flag, option
from inspector.commands.progress import progress
from inspector.commands.shared import as_json
from inspector.commands.terminal import Heading, Verdict, print_json, say
from inspector.fleet.doctor import CheckState, Checkup, check_server
from inspector.matrix.checkup import CheckupRow, checkup_rows, fault_rows, release_rows

_EXAMPLE = """example:
  python -m inspector doctor --base-url http://localhost:8000/v1

exit codes: 0 all checks passed, 1 a check failed, 2 the server cannot be reached
"""
_BULLETS = {
    CheckState.OK: "ok     ",
    CheckState.WARNING: "warning",
    CheckState.FAILED: "FAILED ",
    CheckState.UNKNOWN: "unknown",
}
_NOTE = "note   "


class Doctor(AskedServer):
    """Send a few short requests to a server and report which flag or file to change."""

    model: str | None = option("model name (default: the gpt-oss model that the server lists)", None)
    all: bool = flag("list the known faults of the release, and what the lab measured for it")
    json: bool = as_json()


def run(options: Doctor) -> int:
    """Check one server."""
    server = server_of(options, options.base_url)
    with progress() as step:
        step(f"checking {server.v1}")
        checkup = check_server(server, model=options.model)
    unreachable = checkup.checks[0].state is CheckState.FAILED
    if options.json:
        print_json(checkup_row(checkup))
    elif not unreachable:
        say(_lines(checkup, whole=options.all))
    if unreachable:
        raise ConnectionFailed(checkup.checks[0].says)
    return int(checkup.worst is CheckState.FAILED)


def checkup_row(checkup: Checkup) -> dict[str, Any]:
    """What `doctor --json` prints."""
    return {
        "address": checkup.address,
        "version": checkup.version,
        "model": checkup.model,
        "engine": checkup.engine.name,
        "worst": str(checkup.worst),
        "sentence": checkup.sentence,
        "checks": [
            {"name": check.name, "state": str(check.state), "says": check.says, "change": check.change}
            for check in checkup.checks
        ],
        "known_faults": [fault._asdict() for fault in checkup.faults],
        "matrix": release_rows(checkup.version, checkup.engine),
    }


def _lines(checkup: Checkup, *, whole: bool) -> list[str]:
    version, model = checkup.version or "unknown", checkup.model or "-"
    lines = [Heading(f"{checkup.address}  version {version}  model {model}"), checkup.sentence]
    for row in checkup_rows(checkup):
        if row.name == "lab" and not whole:
            continue
        lines.extend(_line(row))
        if row.name == "known faults" and not whole:
            lines[-1] += " --all lists them, and what the lab measured for it."
        elif row.name == "known faults":
            lines.extend(line for fault in fault_rows(checkup) for line in _line(fault))
    return lines


def _line(row: CheckupRow) -> list[str]:
    bullet = _NOTE if row.state is None else _BULLETS[row.state]
    lines: list[str] = [Verdict(f"  {bullet}  {row.name}: {row.says}")]
    if row.change:
        lines.append(f"           change: {row.change}")
    return lines


COMMAND: Final = Command(Doctor, run, _EXAMPLE)
