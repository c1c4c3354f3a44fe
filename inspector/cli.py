"""`python -m inspector`: the commands print the same rows that the pages show."""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Final

from inspector.capture.errors import InspectorError
from inspector.capture.version import __version__
from inspector.commands.shared import Parser, tell

_COMMANDS: Final = (
    "audit",
    "tokens",
    "compare",
    "diagnose",
    "report",
    "scan",
    "library",
    "rollout",
    "lint",
    "redact",
    "record",
    "probe",
    "proof",
    "play",
    "tap",
    "canary",
    "doctor",
    "lab",
    "ui",
)
"""Each is a module of `inspector.commands`; only the one that runs is loaded, as all take half a second."""

_SCRIPT: Final = "harmony-inspector"
"""What the installed program is called."""


def parser(only: str | None = None) -> Parser:
    """The parser for the program and all of its commands, or one of them."""
    program = Parser(
        prog=_SCRIPT if Path(sys.argv[0]).stem == _SCRIPT else "python -m inspector",
        description="Inspect gpt-oss (Harmony) token streams from vLLM.",
        epilog="Every command has --help with an example. To open the dashboard: python -m inspector ui",
    )
    program.add_argument("--version", action="version", version=f"harmony-inspector {__version__}")
    commands = program.add_subparsers(metavar="COMMAND", required=True)
    for name in _COMMANDS if only is None else (only,):
        import_module(f"inspector.commands.{name}").add_parser(commands)
    return program


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; 0 no findings, 1 findings, 2 an input or server failed (one line on stderr)."""
    words = sys.argv[1:] if argv is None else argv
    arguments = parser(words[0] if words and words[0] in _COMMANDS else None).parse_args(words)
    try:
        code: int = arguments.run(arguments)
        sys.stdout.flush()
    except InspectorError as error:
        tell(f"inspector: {error}")
        return 2
    except MemoryError:
        tell("inspector: not enough memory; raise the limit (ulimit -v), or pass smaller files")
        return 2
    except BrokenPipeError:  # `inspector tokens FILE | head`: the reader has stopped
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        tell("inspector: interrupted")
        return 2
    return code
