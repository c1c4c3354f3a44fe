"""Prompts of a file: one per line, JSONL with texts, message lists or requests, or JSON with messages."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from inspector.capture.errors import InspectorError, StoreError
from inspector.capture.formats import clip
from inspector.files.store import read_at_most
from inspector.net.client.request import parse_messages, parse_tools

PROMPTS_AT_MOST: Final = 10_000
PROMPT_FILE_MIB: Final = 64
_FILE_BYTES: Final = PROMPT_FILE_MIB * 2**20
_LABEL: Final = 40
_OWN_MEMBERS: Final = frozenset(
    {"model", "stream", "stream_options", "messages", "tools", "prompt", "tool_choice"}
)
"""Keys of a request that the probe sets itself, or reads apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbePrompt:
    """The content of a request, without model and endpoint."""

    label: str
    text: str = ""
    messages: tuple[Mapping[str, Any], ...] = ()
    tools: tuple[Mapping[str, Any], ...] = ()
    tool_choice: str | Mapping[str, Any] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    """More keys of the request."""


_WEATHER: Final = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}
_TEXTS: Final = (
    "Repeat the numbers from 1 to 60 in words, and then the same list once more.",
    "What is the weather in Paris and in Rome? Think first, then call the tool for both cities.",
    "Explain in three sentences why the sky is blue. Think first.",
)
"""Repetition lets n-gram speculation guess right; calls make short messages, where old releases lose text."""

BUILT_IN: Final = tuple(
    ProbePrompt(label=clip(text, _LABEL), text=text, tools=(_WEATHER,)) for text in _TEXTS
)
"""The prompts of a probe where none is given."""


def prompts_of_file(path: Path) -> list[ProbePrompt]:
    """The prompts of a file; raises InspectorError with file, line and what is wrong."""
    try:
        with path.open("rb") as file:
            content = read_at_most(file, _FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        raise StoreError(f"{path}: cannot be read ({error}); pass a text, JSON or JSONL file") from error
    return prompts_of_bytes(content, str(path))


def prompts_of_bytes(content: bytes, name: str) -> list[ProbePrompt]:
    """The prompts of a file's content, whose format its name says; raises InspectorError as for a file."""
    if len(content) > _FILE_BYTES:
        raise StoreError(f"{name}: larger than {PROMPT_FILE_MIB} MiB; keep only the prompts you need")
    try:
        return prompts_of_text(content.decode("utf-8"), Path(name).suffix.lower())
    except UnicodeDecodeError as error:
        raise StoreError(f"{name}: cannot be read ({error}); pass a text, JSON or JSONL file") from error
    except InspectorError as error:
        raise InspectorError(f"{name}: {error}") from error


def prompts_of_text(text: str, form: str = ".txt") -> list[ProbePrompt]:
    """Prompts of a text in the form `.txt`, `.jsonl` or `.json`; raises InspectorError if there are none."""
    if form == ".json":
        prompts = [_prompt_of(_json(text, "the file"), 1)]
    else:
        lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
        if len(lines) > PROMPTS_AT_MOST:
            raise InspectorError(f"more than {PROMPTS_AT_MOST:,} prompts; keep fewer")
        prompts = [
            _prompt_of(_json(line, f"line {number}"), number)
            if form in {".jsonl", ".ndjson"}
            else ProbePrompt(label=clip(line.strip(), _LABEL), text=line.strip())
            for number, line in lines
        ]
    if not prompts:
        raise InspectorError("no prompts; write one per line")
    return prompts


def _json(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InspectorError(f"invalid JSON in {where}: {error}") from error


def _prompt_of(value: object, number: int) -> ProbePrompt:
    label = f"prompt {number}"
    match value:
        case str() if value.strip():
            return ProbePrompt(label=clip(value, _LABEL), text=value)
        case {"prompt": str(text)} if isinstance(value, dict):
            return ProbePrompt(label=clip(text, _LABEL), text=text, extra=_extra(value))
        case {"messages": messages} if isinstance(value, dict):
            choice = value.get("tool_choice")
            return ProbePrompt(
                label=label,
                messages=tuple(_messages(messages, number)),
                tools=tuple(parse_tools(json.dumps(value["tools"]))) if value.get("tools") else (),
                tool_choice=choice if isinstance(choice, str | dict) else None,
                extra=_extra(value),
            )
        case list():
            return ProbePrompt(label=label, messages=tuple(_messages(value, number)))
        case _:
            raise InspectorError(
                f"line {number} is not a prompt: expected a text, a list of messages, or an object with "
                '"prompt" or "messages"'
            )


def _messages(value: object, number: int) -> list[dict[str, Any]]:
    try:
        return parse_messages(json.dumps(value))
    except InspectorError as error:
        raise InspectorError(f"line {number}: {error}") from error


def _extra(value: Mapping[str, Any]) -> dict[str, Any]:
    return {key: content for key, content in value.items() if key not in _OWN_MEMBERS}
