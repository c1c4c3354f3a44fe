"""`completion`: a script that lets a shell complete commands, options, their values and file names."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Final, Literal

import shtab

from inspector.capture.errors import InspectorError
from inspector.commands.options import Command, Options, required
from inspector.commands.program import Program
from inspector.commands.table import PROGRAM
from inspector.commands.terminal import SCRIPT, Parser, print_text

_EXAMPLE: Final = """examples:
  python -m inspector completion bash > ~/.local/share/bash-completion/completions/harmony-inspector
  python -m inspector completion zsh > ~/.zfunc/_harmony-inspector
  python -m inspector completion fish > ~/.config/fish/completions/harmony-inspector.fish

The installed program is completed, `harmony-inspector`, or `inspector` if that prints the script.
"""
_SCRIPTS: Final = (SCRIPT, "inspector")
_PLACES: Final = {"FILE": shtab.FILE, "DIR": shtab.DIRECTORY, "PLACE": shtab.FILE, "SCRIPT|FILE": shtab.FILE}


class Completion(Options):
    """Print a script that completes commands, options and file names in a shell."""

    shell: Literal["bash", "zsh", "fish"] = required("", positional=True)


def run(options: Completion) -> int:
    """Print the script."""
    name = Path(sys.argv[0]).name
    parser = Parser(prog=name if name in _SCRIPTS else SCRIPT)
    _add_commands(parser, PROGRAM)
    print_text(shtab.complete(parser, options.shell))
    return 0


def _add_commands(parser: ArgumentParser, program: Program) -> None:
    """Add all commands with their options, which the program itself loads one by one."""
    commands = parser.add_subparsers()
    for purposes in program.groups.values():
        for name, purpose in purposes.items():
            added = commands.add_parser(name, help=purpose)
            try:
                command = program.load(name)
            except InspectorError:  # the lab, where it is not installed
                continue
            if isinstance(command, Program):
                _add_commands(added, command)
                continue
            for action in command.filled(added)._actions:
                if isinstance(action.metavar, str) and action.metavar in _PLACES:
                    vars(action)["complete"] = _PLACES[action.metavar]


COMMAND: Final = Command(Completion, run, _EXAMPLE)
