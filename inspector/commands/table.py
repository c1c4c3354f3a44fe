"""The commands of the program; only the one that runs is loaded."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

from inspector.capture.errors import InspectorError
from inspector.capture.installed import distribution_of, installed, loaded
from inspector.capture.version import __version__
from inspector.commands.options import Command
from inspector.commands.program import Program

GROUP: Final = "harmony_inspector.commands"
"""The entry points of other distributions: command to a `Command` or a `Program`."""

LAB: Final = "lab"


_COMMANDS: Final[Mapping[str, Mapping[str, str]]] = {
    "read captures": {
        "audit": "find lost, leaked and rejected tokens in captures",
        "tokens": "print the tokens of a capture, one row per token",
        "compare": "compare captures token by token",
        "diagnose": "identify the cause of a failure and how to fix it",
        "report": "write an HTML report or a Markdown bug report",
        "redact": "write a copy of a capture without its text, to share it",
    },
    "read thousands of captures": {
        "scan": "audit thousands of captures into Parquet tables",
        "library": "filter, group and list the captures of a scan",
    },
    "check training data and evaluations": {
        "lint": "check training data and evaluation logs for malformed Harmony",
        "rollout": "check whether each prompt of a conversation extends the tokens before it",
    },
    "send requests to a server": {
        "record": "send a request and save the stream as a capture",
        "probe": "send many requests and count the responses that arrive damaged",
        "canary": "send a few requests at fixed intervals and serve the results as metrics",
        "doctor": "check a server's gpt-oss configuration",
    },
    "look things up": {
        "matrix": "print which releases deliver which Harmony streams completely",
    },
    "serve": {
        "tap": "run a recording proxy in front of a server",
        "play": "run an OpenAI-compatible server that replays captures",
        "ui": "start the dashboard",
    },
    "for coding agents": {
        "skill": "print or install the troubleshooting skill",
        "mcp": "run an MCP server with read-only tools",
    },
    "more": {
        LAB: "run real vLLM releases on a CPU with scripted tokens",
        "completion": "print what completes commands and options in a shell",
    },
}
"""Title of a group to command to what it does; a command is a module of `inspector.commands` or the lab's."""


_OWN: Final = {name for commands in _COMMANDS.values() for name in commands} - {LAB}


def _load(name: str) -> Command[Any] | Program:
    if name in _OWN:
        return _command(import_module(f"inspector.commands.{name}").COMMAND, f"the command {name}")
    entry = installed(GROUP).get(name)
    if entry is None:
        raise InspectorError(
            "the lab is a distribution of its own and not installed; in a checkout of the repository: "
            "pip install -e . -e lab"
        )
    words = f"the command {name!r} of {distribution_of(entry)}"
    return _command(loaded(entry, words), words)


def _command(value: object, words: str) -> Command[Any] | Program:
    if not isinstance(value, Command | Program):
        raise InspectorError(f"{words} is not a `Command` or `Program`, but {type(value).__name__}")
    return value


def _others() -> dict[str, str]:
    names = installed(GROUP).items()
    return {name: f"of {distribution_of(entry)}" for name, entry in names if name not in {*_OWN, LAB}}


PROGRAM: Final = Program(
    description="Inspect gpt-oss (Harmony) token streams from vLLM.",
    groups=_COMMANDS,
    load=_load,
    others=_others,
    epilog="Every command has --help with an example. To open the dashboard: python -m inspector ui",
    version=f"harmony-inspector {__version__}",
)
