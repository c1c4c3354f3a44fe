"""The commands of the program; only the one that runs is loaded."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

from inspector.capture.version import __version__
from inspector.commands.options import Command
from inspector.commands.program import Program

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
    "serve": {
        "tap": "run a recording proxy in front of a server",
        "play": "run an OpenAI-compatible server that replays captures",
        "ui": "start the dashboard",
    },
    "more": {
        "lab": "run real vLLM releases on a CPU with scripted tokens",
        "completion": "print what completes commands and options in a shell",
    },
}
"""Title of a group to command to what it does; a command is a module of `inspector.commands`."""


def _load(name: str) -> Command[Any] | Program:
    module = import_module(f"inspector.commands.{name}")
    command: Command[Any] | Program = module.COMMAND
    return command


PROGRAM: Final = Program(
    description="Inspect gpt-oss (Harmony) token streams from vLLM.",
    groups=_COMMANDS,
    load=_load,
    epilog="Every command has --help with an example. To open the dashboard: python -m inspector ui",
    version=f"harmony-inspector {__version__}",
)
