"""The repository's own tables: YAML and TOML files that people edit, read as the types that describe them.

A wrong file raises InspectorError with the file, the entry and the key. A range of versions or a regular
expression is a class of its own, made from the string in the file; its ValueError becomes such an error.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from inspector.capture.collector import collector_paused
from inspector.capture.errors import InspectorError

T = TypeVar("T")


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A mapping of a table, with the keys that its class has and no others."""


def one_of(words: Iterable[str]) -> msgspec.Meta:
    """The strings of a closed set that is computed; others are Literals or enums."""
    return msgspec.Meta(pattern=rf"\A(?:{'|'.join(map(re.escape, words))})\Z")


Text = Annotated[str, msgspec.Meta(pattern=r"\A\S(?s:.*\S)?\Z")]
"""Without white space around it."""
Sentence = Annotated[str, msgspec.Meta(pattern=r"\A\S(?s:.*)[.)]\Z")]
Verbatim = Annotated[str, msgspec.Meta(pattern=r"\S")]
Identifier = Annotated[str, msgspec.Meta(pattern=r"\A[a-z0-9]+(?:-[a-z0-9]+)*\Z")]
Several = Annotated[tuple[T, ...], msgspec.Meta(min_length=1)]


def read_table(path: Path, kind: type[T], *, error: type[InspectorError] = InspectorError) -> T:
    """A file as a type; `error` for one that cannot be read."""
    try:
        content = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as wrong:
        raise error(f"{path}: cannot be read: {wrong}") from wrong
    return parse_table(content, kind, str(path), error=error)


def parse_table(content: str, kind: type[T], name: str, *, error: type[InspectorError] = InspectorError) -> T:
    """The content of a file as a type: TOML if the name says so, else YAML. Nothing in it is executed."""
    value: Any = None
    try:
        with collector_paused():
            value = (msgspec.toml if name.endswith(".toml") else msgspec.yaml).decode(content)
            return msgspec.convert(value, kind, dec_hook=_from_string)
    except msgspec.DecodeError as wrong:
        raise error(f"{name}: {_with_entry(' '.join(str(wrong).split()), value)}") from wrong


def _from_string(kind: type, value: object) -> object:
    if not isinstance(value, str):
        raise ValueError("Expected `str`")
    return kind(value)


def _with_entry(wrong: str, value: Any) -> str:
    """An error with the ID or name of the entry in place of its number."""
    place = re.search(r"\$\[(\d+)\]", wrong)
    entry = value[int(place[1])] if place else None
    name = (entry.get("id") or entry.get("name")) if isinstance(entry, dict) else None
    return wrong.replace(place[0], name) if place and isinstance(name, str) else wrong
