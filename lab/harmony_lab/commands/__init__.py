"""`lab`: real vLLM releases without a GPU, from the command line."""

from collections.abc import Mapping
from inspect import getdoc
from typing import Any, Final

from harmony_lab.commands.clients import CLIENTS_COMMAND
from harmony_lab.commands.environments import ADOPT, INSTALL, SERVE
from harmony_lab.commands.hop import HOP
from harmony_lab.commands.matrix import GATE, MATRIX, RECORD, WATCH
from harmony_lab.commands.scripts import FIXTURES, SCRIPTS
from harmony_lab.commands.streams import BISECT, DERENDER, LOAD, SHRINK
from inspector.commands.options import Command
from inspector.commands.program import Program

_COMMANDS: Final[Mapping[str, Mapping[str, Command[Any]]]] = {
    "environments": {"install": INSTALL, "adopt": ADOPT, "serve": SERVE},
    "all scripts on many releases": {
        "record": RECORD,
        "matrix": MATRIX,
        "clients": CLIENTS_COMMAND,
        "hop": HOP,
        "gate": GATE,
        "watch": WATCH,
    },
    "one script or capture": {"bisect": BISECT, "shrink": SHRINK, "derender": DERENDER, "load": LOAD},
    "the scripts": {"scripts": SCRIPTS, "fixtures": FIXTURES},
}


def _purpose(command: Command[Any]) -> str:
    line = (getdoc(command.options) or "").partition("\n")[0]
    return f"{line[0].lower()}{line[1:].rstrip('.')}"


COMMAND: Final = Program(
    description="Install, start, record, compare and bisect vLLM releases. See docs/lab.md.",
    groups={
        title: {name: _purpose(command) for name, command in commands.items()}
        for title, commands in _COMMANDS.items()
    },
    load={name: command for commands in _COMMANDS.values() for name, command in commands.items()}.__getitem__,
    epilog="example:\n  python -m inspector lab serve --vllm 0.32.0 --stream-interval 3",
)
