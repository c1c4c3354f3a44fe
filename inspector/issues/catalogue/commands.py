"""Commands of the catalogue as they run: with an address, a model and a request in place of their names.

An entry writes `$URL`, `$MODEL`, `$TOOLS` and the names of `_REQUESTS`; ` # ` begins what the output means.
"""

import json
import re
import shlex
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

_URL: Final = "http://localhost:8000"
_MODEL: Final = "openai/gpt-oss-20b"
_SAFE: Final = re.compile(r"[\w./:@+-]{1,120}", re.ASCII)
"""A model's name that no shell and no JSON text needs to quote."""
_NAMES: Final = re.compile(r"\$([A-Z_]+)\b")
_MEANING: Final = " # "
_WEATHER: Final = {"messages": [{"role": "user", "content": "What is the weather in Paris?"}]}
_TOOL: Final = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}
_LONG: Final = "$eos"
_REQUESTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "REQUEST": {"messages": [{"role": "user", "content": "Hello"}]},
    "STREAM": {"messages": [{"role": "user", "content": "Hello"}], "stream": True},
    "CALL": {**_WEATHER, "tools": [_TOOL], "tool_choice": "required"},
    "STOPPED_CALL": {**_WEATHER, "tools": [_TOOL], "stop_token_ids": [200002, 200012]},
    "IGNORED_EOS": {**_WEATHER, "max_tokens": 500, "ignore_eos": _LONG},
}


class Explained(NamedTuple):
    """A command, and what its output means."""

    command: str
    meaning: str
    """Empty for what is no command."""


def explained(command: str) -> Explained:
    """A command without its explanation, and that."""
    command, _, meaning = command.partition(_MEANING)
    return Explained(command, meaning)


def runnable(command: str, *, model: str | None = None) -> str:
    """A command with everything that it names."""
    name = model if model is not None and _SAFE.fullmatch(model) else _MODEL

    def value(match: re.Match[str]) -> str:
        match match[1]:
            case "URL":
                return _URL
            case "MODEL":
                return name
            case "TOOLS":
                return f"<(echo {shlex.quote(json.dumps([_TOOL]))})"
            case other if other in _REQUESTS:
                body = shlex.quote(json.dumps({"model": name, **_REQUESTS[other]}))
                body = body.replace(
                    f'"{_LONG}"', f"'{_LONG}'"
                )  # a variable of the shell, which the text leaves
                return f"-H 'Content-Type: application/json' -d {body}"
            case _:
                return match[0]

    return _NAMES.sub(value, command)
