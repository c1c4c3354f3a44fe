"""`lab`: real vLLM releases without a GPU, from the command line."""

from argparse import RawDescriptionHelpFormatter
from typing import Final

from inspector.commands.lab.clients import add_clients
from inspector.commands.lab.environments import add_adopt, add_install, add_serve
from inspector.commands.lab.matrix import add_gate, add_matrix, add_record, add_watch
from inspector.commands.lab.scripts import add_fixtures, add_scripts
from inspector.commands.lab.streams import add_bisect, add_derender, add_load, add_shrink
from inspector.commands.terminal import Commands

_COMMANDS: Final = (
    add_install,
    add_adopt,
    add_serve,
    add_record,
    add_matrix,
    add_clients,
    add_bisect,
    add_shrink,
    add_derender,
    add_load,
    add_gate,
    add_watch,
    add_fixtures,
    add_scripts,
)
"""In the order of `lab --help`."""


def add_parser(commands: Commands) -> None:
    """Add `lab` and its own commands."""
    lab = commands.add_parser(
        "lab",
        description="Install, start, record, compare and bisect vLLM releases. See docs/lab.md.",
        epilog="example:\n  python -m inspector lab serve --vllm 0.32.0 --stream-interval 3",
        formatter_class=RawDescriptionHelpFormatter,
    )
    lab_commands = lab.add_subparsers(metavar="LAB-COMMAND", required=True)
    for add_command in _COMMANDS:
        add_command(lab_commands)
