"""`doctor`: check a server's gpt-oss configuration and say what to change."""

from argparse import Namespace, RawDescriptionHelpFormatter
from typing import Any

from inspector.capture.errors import ConnectionFailed
from inspector.commands.asking import add_server_options, server_of
from inspector.commands.shared import Commands, print_json, printable, say
from inspector.fleet.doctor import CheckState, Checkup, check_server
from inspector.lab.summary import CheckupRow, checkup_rows, fault_rows, release_rows

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


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "doctor",
        help="check a server's gpt-oss configuration",
        description="Send a few short requests to a server and report which flag or file to change.",
        epilog=_EXAMPLE,
        formatter_class=RawDescriptionHelpFormatter,
    )
    add_server_options(parser)
    parser.add_argument("--model", help="model name (default: the gpt-oss model that the server lists)")
    parser.add_argument("--all", action="store_true", help="list the known faults of the release")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(arguments: Namespace) -> int:
    """Check one server."""
    found = check_server(server_of(arguments), model=arguments.model)
    unreachable = found.checks[0].state is CheckState.FAILED
    if arguments.json:
        print_json(_row(found))
    elif not unreachable:
        say(_lines(found, every_fault=arguments.all))
    if unreachable:
        raise ConnectionFailed(found.checks[0].says)
    return int(found.worst is CheckState.FAILED)


def _row(found: Checkup) -> dict[str, Any]:
    return {
        "address": found.address,
        "version": found.version,
        "model": found.model,
        "engine": found.engine.name,
        "worst": str(found.worst),
        "checks": [
            {"name": one.name, "state": str(one.state), "says": one.says, "change": one.change}
            for one in found.checks
        ],
        "known_faults": [one._asdict() for one in found.faults],
        "matrix": release_rows(found.version, found.engine),
    }


def _lines(found: Checkup, *, every_fault: bool) -> list[str]:
    version, model = printable(found.version or "unknown"), printable(found.model or "-")
    lines = [f"{found.address}  version {version}  model {model}", found.sentence]
    for row in checkup_rows(found):
        lines.extend(_line(row))
        if row.name == "known faults" and not every_fault:
            lines[-1] += " --all lists them."
        elif row.name == "known faults":
            lines.extend(line for fault in fault_rows(found) for line in _line(fault))
    return lines


def _line(row: CheckupRow) -> list[str]:
    bullet = _NOTE if row.state is None else _BULLETS[row.state]
    lines = [f"  {bullet}  {row.name}: {printable(row.says)}"]
    if row.change:
        lines.append(f"           change: {printable(row.change)}")
    return lines
