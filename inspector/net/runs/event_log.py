"""The events of a growing run, compressed: about 30 bytes for an event of one token instead of 450.

Events of one stream are much alike, so blocks of them compress well. Append-only; one thread may read while
another appends.
"""

import json
import zlib
from array import array
from collections.abc import Iterable, Iterator, MutableSequence
from math import isnan, nan
from threading import Lock
from typing import Any, Final, NoReturn, overload

from inspector.capture.capture import Event, EventKind

BLOCK: Final = 128
"""Events of one block."""


class PackedEvents(MutableSequence[Event]):
    """A list of events that only grows."""

    def __init__(self) -> None:
        self._times = array("d")
        self._blocks: list[bytes] = []
        self._open: list[Event] = []
        self._lock = Lock()
        self._cached: tuple[int, list[Event]] = (-1, [])

    def __len__(self) -> int:
        return len(self._times)

    def extend(self, values: Iterable[Event]) -> None:
        """Append events."""
        with self._lock:
            for event in values:
                self._open.append(event)
                self._times.append(nan if event.at_s is None else event.at_s)
                if len(self._open) == BLOCK:
                    self._blocks.append(_pack(self._open))
                    self._open = []

    def append(self, value: Event) -> None:
        """Append one event."""
        self.extend((value,))

    def at_s(self, index: int) -> float | None:
        """Arrival of one event, without unpacking it."""
        time = self._times[index]
        return None if isnan(time) else time

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> list[Event]: ...
    def __getitem__(self, index: int | slice) -> Event | list[Event]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        place = index if index >= 0 else index + len(self)
        if not 0 <= place < len(self):
            raise IndexError(index)
        block, offset = divmod(place, BLOCK)
        return self._block(block)[offset]

    def __iter__(self) -> Iterator[Event]:
        block = 0
        while events := self._block(block):
            yield from events
            if len(events) < BLOCK:
                return
            block += 1

    def _block(self, number: int) -> list[Event]:
        with self._lock:
            if number == len(self._blocks):
                return list(self._open)
            if number > len(self._blocks):
                return []
            if self._cached[0] == number:
                return self._cached[1]
            rows = json.loads(zlib.decompress(self._blocks[number]))
            start = number * BLOCK
            events = [
                Event(row[0], self.at_s(place), row[1], EventKind(row[2]))
                for place, row in enumerate(rows, start)
            ]
            self._cached = (number, events)
            return events

    def insert(self, index: int, value: Event) -> NoReturn:  # noqa: ARG002 -- the sequence's own signature
        """Raises TypeError: events are only appended."""
        raise TypeError("events of a run are only appended")

    def __setitem__(self, index: Any, value: Any) -> NoReturn:
        raise TypeError("events of a run are only appended")

    def __delitem__(self, index: int | slice) -> NoReturn:
        raise TypeError("events of a run are only appended")


def _pack(events: Iterable[Event]) -> bytes:
    rows = [(event.data, event.name, event.kind.value) for event in events]
    return zlib.compress(json.dumps(rows).encode("ascii"), level=1)
