"""Results of a size that a model can read, with escapes for what is invisible, and a list of what was cut."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from inspector.capture.formats import count, number
from inspector.commands.terminal import printable

LIMIT: Final = 16_000
"""Characters of a result as JSON; about 4,000 tokens."""

_CUTS_AT_MOST: Final = 12


class _Level(NamedTuple):
    characters: int
    """Of a text."""
    items: int
    """Of a list or an object."""


_LEVELS: Final = tuple(
    _Level(*level) for level in ((2000, 200), (1000, 60), (500, 25), (250, 25), (120, 10), (60, 5), (30, 2))
)


@dataclass
class _Cutter:
    level: _Level
    cuts: list[str] = field(default_factory=list)

    def value(self, value: Any, place: str) -> Any:
        if isinstance(value, str):
            return self._text(value, place)
        if isinstance(value, Mapping):
            items = list(value.items())[: self.level.items]
            self._note(place, len(items), len(value), "entry", "entries")
            return {
                visible(str(key)[: self.level.characters]): self.value(item, f"{place}.{key}"[-200:])
                for key, item in items
            }
        if isinstance(value, Sequence):
            kept = value[: self.level.items]
            self._note(place, len(kept), len(value), "item")
            return [self.value(item, f"{place}[{index}]") for index, item in enumerate(kept)]
        return value

    def _text(self, text: str, place: str) -> str:
        kept = text[: self.level.characters]
        self._note(place, len(kept), len(text), "character")
        return visible(kept)

    def _note(self, place: str, kept: int, size: int, *words: str) -> None:
        if kept < size:
            self.cuts.append(visible(f"{place.removeprefix('.')}: {number(kept)} of {count(size, *words)}"))


def bounded(value: Mapping[str, Any], limit: int = LIMIT) -> tuple[dict[str, Any], list[str]]:
    """A value of at most `limit` characters as JSON, and what was cut from it, by place.

    The longest texts and lists are cut first, all to one length, so that each part of the value stays.
    """
    for level in _LEVELS:
        cutter = _Cutter(level)
        cut: dict[str, Any] = cutter.value(value, "")
        if len(json.dumps(cut)) <= limit:
            break
    more = len(cutter.cuts) - _CUTS_AT_MOST
    return cut, [*cutter.cuts[:_CUTS_AT_MOST], *([f"and {count(more, 'other place')}"] if more > 0 else [])]


def visible(text: str) -> str:
    """A text whose control, bidirectional and other invisible characters are escapes; line feeds stay."""
    return "\n".join(map(printable, text.split("\n")))
