"""Responses that are still arriving: events as they come, or a capture file while its recorder writes it."""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final

from inspector.analysis.reading import Reader
from inspector.capture.capture import Capture, End, Event, Header, parse_content
from inspector.capture.errors import InspectorError
from inspector.files.store import LIMIT_BYTES, disk_errors, read_at_most
from inspector.inspection.inspection import Inspection, examine, inspection_of

_EVERY_S: Final = 0.5


class LiveInspection:
    """The inspection of a response so far; each event is read once.

    `truth` are token IDs known from outside the stream.
    """

    def __init__(self, header: Header, *, name: str = "", truth: Sequence[int] | None = None) -> None:
        self._reader = Reader(header, truth=truth)
        self._header = header
        self._name = name
        self._end: End | None = None

    @property
    def events(self) -> int:
        """How many events it has."""
        return len(self._reader.events)

    @property
    def ended(self) -> bool:
        """True once the end was received."""
        return self._end is not None

    def receive(self, events: Sequence[Event], end: End | None = None) -> None:
        """Read some more events, and how the connection ended; raises InspectorError after the end."""
        if self.ended:
            raise InspectorError("the response has ended; begin another LiveInspection for the next one")
        self._reader.receive(events)
        self._end = end

    def inspect(self) -> Inspection:
        """Findings and verdict so far; what it returns does not change with later events."""
        capture = Capture(header=self._header, events=list(self._reader.events), end=self._end)
        reading = self._reader.reading(end=self._end, ended=self.ended).apart()
        reading.events = capture.events
        return inspection_of(capture, examine(reading), name=self._name)


def follow(
    path: Path | str, *, every_s: float = _EVERY_S, sleep: Callable[[float], object] = time.sleep
) -> Iterator[LiveInspection]:
    """A growing capture file: the same LiveInspection again each time it has grown, the last time at its end.

    Waits for a file that does not exist yet. Raises InspectorError for one that is no capture.
    """
    name = str(path)
    while not Path(path).exists():
        sleep(every_s)
    with disk_errors(path), Path(path).open("rb") as file:
        lines = _lines(file, name, every_s, sleep)
        head = next(lines)
        live = LiveInspection(parse_content(head, name).header, name=name)
        for added in lines:
            capture = parse_content(head + added, name)
            live.receive(capture.events, capture.end)
            yield live
            if live.ended:
                return


def _lines(file: BinaryIO, name: str, every_s: float, sleep: Callable[[float], object]) -> Iterator[bytes]:
    """The first line, then all whole lines that were added since."""
    pending, read, first = b"", 0, True
    while True:
        added = read_at_most(file, LIMIT_BYTES - read + 1)
        read += len(added)
        if read > LIMIT_BYTES:
            raise InspectorError(f"{name}: larger than the limit of {LIMIT_BYTES // 2**20} MiB")
        pending += added
        while (end := pending.find(b"\n") + 1 if first else pending.rfind(b"\n") + 1) > 0:
            yield pending[:end]
            pending, first = pending[end:], False
        sleep(every_s)
