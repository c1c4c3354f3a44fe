"""`python -m inspector`: the commands print the same rows that the pages show."""

import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Final

from inspector.capture.errors import InspectorError
from inspector.capture.version import __version__
from inspector.commands.terminal import Parser, tell

_COMMANDS: Final[Mapping[str, str]] = {
    "audit": "find lost, leaked and rejected tokens in captures",
    "tokens": "print the tokens of a capture, one row per token",
    "compare": "compare captures token by token",
    "diagnose": "identify the cause of a failure and how to fix it",
    "report": "write an HTML report or a Markdown bug report",
    "scan": "audit thousands of captures into Parquet tables",
    "library": "filter, group and list the captures of a scan",
    "rollout": "check whether each prompt of a conversation extends the tokens before it",
    "lint": "check training data and evaluation logs for malformed Harmony",
    "redact": "write a copy of a capture without its text, to share it",
    "record": "send a request and save the stream as a capture",
    "probe": "send many requests and count the responses that arrive damaged",
    "play": "run an OpenAI-compatible server that replays captures",
    "tap": "run a recording proxy in front of a server",
    "canary": "send a few requests at fixed intervals and serve the results as metrics",
    "doctor": "check a server's gpt-oss configuration",
    "lab": "run real vLLM releases on a CPU with scripted tokens",
    "ui": "start the dashboard",
}
"""What each command does; it is a module of `inspector.commands`, and only the one that runs is loaded."""

_SCRIPT: Final = "harmony-inspector"
"""What the installed program is called."""


def parser(only: str | None = None) -> Parser:
    """The parser for the program; of its commands one is complete, of the others the names are known."""
    program = Parser(
        prog=_SCRIPT if Path(sys.argv[0]).stem == _SCRIPT else "python -m inspector",
        description="Inspect gpt-oss (Harmony) token streams from vLLM.",
        epilog="Every command has --help with an example. To open the dashboard: python -m inspector ui",
    )
    program.add_argument("--version", action="version", version=f"harmony-inspector {__version__}")
    commands = program.add_subparsers(metavar="COMMAND", required=True)
    for name, purpose in _COMMANDS.items():
        if name == only:
            import_module(f"inspector.commands.{name}").add_parser(commands)
        else:
            commands.add_parser(name, help=purpose)
    return program


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; 0 no findings, 1 findings, 2 an input or server failed (one line on stderr)."""
    words = sys.argv[1:] if argv is None else argv
    arguments = parser(next((word for word in words if word in _COMMANDS), None)).parse_args(words)
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
