"""`python -m inspector`: every command prints what a page shows, from the same rows."""

import os
import sys
from argparse import ArgumentParser
from collections.abc import Sequence

from inspector.commands import audit, compare, diagnose, doctor, lab, play, record, report, tap, tokens
from inspector.errors import InspectorError

__all__ = ["main", "parser"]

_COMMANDS = (audit, tokens, compare, diagnose, report, record, play, tap, doctor, lab)


def parser() -> ArgumentParser:
    """The whole command line."""
    program = ArgumentParser(
        prog="python -m inspector",
        description="Inspect gpt-oss (Harmony) token streams from vLLM.",
        epilog="Each command has --help with an example. The dashboard: streamlit run app.py",
    )
    commands = program.add_subparsers(metavar="COMMAND", required=True)
    for command in _COMMANDS:
        command.add_parser(commands)
    return program


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; 0 clean, 1 findings, 2 cannot read or reach (one line on stderr)."""
    arguments = parser().parse_args(argv)
    try:
        code: int = arguments.run(arguments)
        sys.stdout.flush()
    except InspectorError as error:
        print(f"inspector: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # `inspector tokens FILE | head`: the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("inspector: interrupted", file=sys.stderr)
        return 2
    return code
