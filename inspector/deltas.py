"""Deltas: text that the server delivered, with its field.

A field is a word: `reasoning`, `content`, `text` (raw text of plain completions),
`tool_calls[0].name`, `tool_calls[0].arguments`, or the name of a server-side tool item of
Responses such as `mcp_call[0].arguments`.
"""

import re
from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter
from typing import Final, NamedTuple

__all__ = ["CONTENT", "REASONING", "TEXT", "Delta", "by_field", "tool_arguments", "tool_index", "tool_name"]

REASONING: Final = "reasoning"
CONTENT: Final = "content"
TEXT: Final = "text"

_TOOL: Final = re.compile(r"tool_calls\[(\d+)\]\.(?:name|arguments)")


class Delta(NamedTuple):
    """Text that one event delivered in one field."""

    event: int
    field: str
    text: str


def by_field(deltas: Iterable[Delta]) -> dict[str, list[Delta]]:
    """The deltas of each field, in their order."""
    found: dict[str, list[Delta]] = {}
    for field, run in groupby(deltas, itemgetter(1)):  # of 131,072 deltas nearly all continue their field
        found.setdefault(field, []).extend(run)
    return found


def tool_arguments(index: int) -> str:
    """The field that carries the arguments of tool call `index`."""
    return f"tool_calls[{index}].arguments"


def tool_name(index: int) -> str:
    """The field that carries the function name of tool call `index`."""
    return f"tool_calls[{index}].name"


def tool_index(field: str) -> int | None:
    """The tool call that a field belongs to, or None for another field."""
    found = _TOOL.fullmatch(field)
    return int(found[1]) if found else None
