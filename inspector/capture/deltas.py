"""Deltas: text that the server delivered, with its field.

A field is a word: `reasoning`, `content`, `text` (raw text of plain completions),
`tool_calls[0].name`, `tool_calls[0].arguments`, or the name of a server-side tool item of
Responses such as `mcp_call[0].arguments`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Final, NamedTuple

REASONING: Final = "reasoning"
CONTENT: Final = "content"
TEXT: Final = "text"

_TOOL: Final = re.compile(r"tool_calls\[(\d+)\]\.(?:name|arguments)")


class Delta(NamedTuple):
    """Text that one event delivered in one field."""

    event: int
    field: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolText:
    """One tool call as text."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """Text per field, of one side."""

    content: str
    reasoning: str
    tool_calls: tuple[ToolText, ...] = ()
    text: str | None = None
    """Raw text of plain completions; None for the other endpoints."""
    other: dict[str, str] = field(default_factory=dict)
    """Items of server-side tools in Responses, by field."""

    def by_field(self) -> dict[str, str]:
        """The text of each field; `text` only for plain completions."""
        texts = {REASONING: self.reasoning, CONTENT: self.content}
        for number, call in enumerate(self.tool_calls):
            texts[tool_name(number)] = call.name
            texts[tool_arguments(number)] = call.arguments
        if self.text is not None:
            texts[TEXT] = self.text
        return {**texts, **self.other}


def by_field(deltas: Iterable[Delta]) -> dict[str, list[Delta]]:
    """The deltas of each field, in their order."""
    grouped: dict[str, list[Delta]] = {}
    for name, run in groupby(deltas, itemgetter(1)):  # of 131,072 deltas nearly all continue their field
        grouped.setdefault(name, []).extend(run)
    return grouped


def tool_arguments(index: int) -> str:
    """The field that carries the arguments of tool call `index`."""
    return f"tool_calls[{index}].arguments"


def tool_name(index: int) -> str:
    """The field that carries the function name of tool call `index`."""
    return f"tool_calls[{index}].name"


def tool_index(field: str) -> int | None:
    """The tool call that a field belongs to, or None for another field."""
    match = _TOOL.fullmatch(field)
    return int(match[1]) if match else None


def is_tool_name(field: str) -> bool:
    """True for the field that carries the name of a tool call."""
    number = tool_index(field)
    return number is not None and field == tool_name(number)


def texts_of(deltas: Mapping[str, Sequence[Delta]]) -> Texts:
    """The texts of the deltas of each field."""
    joined = {name: "".join([delta[2] for delta in run]) for name, run in deltas.items()}
    calls = sorted({index for name in joined if (index := tool_index(name)) is not None})
    plain = {CONTENT, REASONING, TEXT}
    return Texts(
        content=joined.get(CONTENT, ""),
        reasoning=joined.get(REASONING, ""),
        tool_calls=tuple(
            ToolText(joined.get(tool_name(index), ""), joined.get(tool_arguments(index), ""))
            for index in calls
        ),
        text=joined.get(TEXT),
        other={name: text for name, text in joined.items() if name not in plain and tool_index(name) is None},
    )
