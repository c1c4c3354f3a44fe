"""Counts over time in bounded memory: by the minute, and coarser when there are too many."""

from collections.abc import Iterator
from typing import Final, NamedTuple

_WIDTHS: Final = (0, 1, 3, 6)
"""Characters to cut from `11-20 22:47` for minutes, ten minutes, hours, days."""
_MOST: Final = 20_000


class Count(NamedTuple):
    """How often something happened in one stretch of time."""

    time: str
    """As the log writes it: `11-20 22:47`, or coarser `11-20 22:4x`, `11-20 22h`, `11-20`; may be empty."""
    name: str
    version: str
    """The server's version then, empty if unknown."""
    times: int


class Timeline:
    """Adds up events by time, name and version."""

    def __init__(self, most: int = _MOST) -> None:
        self._counts: dict[tuple[str, str, str], int] = {}
        self._width = 0
        self._most = most

    def add(self, minute: str, name: str, version: str) -> None:
        """Count one event; `minute` is `MM-DD HH:MM` with or without a year before it, or empty."""
        key = (self._cut(minute), name, version)
        self._counts[key] = self._counts.get(key, 0) + 1
        while len(self._counts) > self._most and self._width < len(_WIDTHS) - 1:
            self._width += 1
            self._merge()
        if len(self._counts) > self._most:
            self._forget_times()

    def __iter__(self) -> Iterator[Count]:
        marks = {0: "", 1: "x", 2: "h", 3: ""}
        for (time, name, version), count in sorted(self._counts.items()):
            yield Count(time + marks[self._width] if time else "", name, version, count)

    def _cut(self, minute: str) -> str:
        return minute[: len(minute) - _WIDTHS[self._width]] if minute else ""

    def _merge(self) -> None:
        before, self._counts = self._counts, {}
        cut = _WIDTHS[self._width] - _WIDTHS[self._width - 1]
        for (time, name, version), count in before.items():
            key = (time[: len(time) - cut] if time else "", name, version)
            self._counts[key] = self._counts.get(key, 0) + count

    def _forget_times(self) -> None:
        """More days than there is room for: dates that make no sense."""
        before, self._counts = self._counts, {}
        for (_, name, version), count in before.items():
            key = ("", name, version)
            self._counts[key] = self._counts.get(key, 0) + count
