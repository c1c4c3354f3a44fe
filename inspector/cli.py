"""`python -m inspector`: the commands print the same rows that the pages show."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from inspector.commands import (
    audit,
    canary,
    compare,
    diagnose,
    doctor,
    lab,
    library,
    lint,
    play,
    probe,
    proof,
    record,
    redact,
    report,
    rollout,
    scan,
    tap,
    tokens,
    ui,
)
from inspector.commands.shared import Parser, tell
from inspector.errors import InspectorError

__all__ = ["main", "parser"]

_COMMANDS = (
    audit,
    tokens,
    compare,
    diagnose,
    report,
    scan,
    library,
    rollout,
    lint,
    redact,
    record,
    probe,
    proof,
    play,
    tap,
    canary,
    doctor,
    lab,
    ui,
)

_SCRIPT: Final = "harmony-inspector"
"""What the installed program is called."""


def parser() -> Parser:
    """The parser for the program and all of its commands."""
    program = Parser(
        prog=_SCRIPT if Path(sys.argv[0]).stem == _SCRIPT else "python -m inspector",
        description="Inspect gpt-oss (Harmony) token streams from vLLM.",
        epilog="Every command has --help with an example. To open the dashboard: python -m inspector ui",
    )
    commands = program.add_subparsers(metavar="COMMAND", required=True)
    for command in _COMMANDS:
        command.add_parser(commands)
    return program


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; 0 no findings, 1 findings, 2 an input or server failed (one line on stderr)."""
    arguments = parser().parse_args(argv)
    try:
        code: int = arguments.run(arguments)
        sys.stdout.flush()
    except InspectorError as error:
        tell(f"inspector: {error}")
        return 2
    except BrokenPipeError:  # `inspector tokens FILE | head`: the reader has stopped
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        tell("inspector: interrupted")
        return 2
    return code
