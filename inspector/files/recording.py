"""A capture that grows on disk, and in memory once the disk fails."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Final

from inspector.capture.capture import (
    Capture,
    End,
    Event,
    Header,
    end_line,
    event_line,
    header_line,
    render,
)
from inspector.capture.errors import CaptureError, InspectorError, StoreError
from inspector.files.store import CaptureWriter, open_writer


class Memory:
    """A bound on what several recordings hold in memory; every method may be called from any thread."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._used = 0
        self._lock = Lock()

    def take(self, size: int) -> bool:
        """Reserve room; False if that much is not free."""
        with self._lock:
            if self._used + size > self.limit:
                return False
            self._used += size
            return True

    def release(self, size: int) -> None:
        """Give room back."""
        with self._lock:
            self._used -= size


UNWRITTEN: Final = Memory(64 * 2**20)
"""Bytes of recordings that the disk does not take, those that wait for their audit included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unwritten:
    """A recording that is not on disk, at least not to its end."""

    error: InspectorError
    path: Path
    """The file, which may hold a part of it."""
    content: bytes | None = None
    """It as a capture file; None where memory did not suffice."""
    release: Callable[[], None] = lambda: None
    """To be called once the content is no longer needed."""


class Recording:
    """Writes a capture file as its events arrive. Nothing is raised: `error` says why it is incomplete.

    What the disk does not take is held in memory until `unwritten` is called, as far as `memory` has room.
    With `makes_folder` a folder that does not exist is made.
    """

    def __init__(
        self, path: Path, header: Header, *, memory: Memory = UNWRITTEN, makes_folder: bool = False
    ) -> None:
        self.path = path
        self.error: InspectorError | None = None
        """Why the file is incomplete; None while nothing failed."""
        self.events = 0
        """Events in the file."""
        self._memory = memory
        self._writer: CaptureWriter | None = None
        self._held: list[bytes] = []
        self._size = 0
        self._fits = True
        try:
            if makes_folder:
                _make(path.parent)
            self._writer = open_writer(path, header)
        except CaptureError as error:  # a request that no file can hold
            self.error, self._fits = error, False
        except StoreError as error:
            self.error = error
            self._hold(header_line(header))

    def write(self, events: Sequence[Event]) -> None:
        """Append events that arrived together."""
        if self._writer is not None and self.error is None:
            try:
                self._writer.write(events)
                self.events += len(events)
                return
            except StoreError as error:
                self.error = error
        if self._fits:
            self._hold("\n".join(map(event_line, events)))

    def end(self, end: End) -> None:
        """Append how the connection ended, and close the file."""
        if self._writer is not None and self.error is None:
            try:
                self._writer.end(end)
                return
            except StoreError as error:
                self.error = error
        self._hold(end_line(end))
        if self._writer is not None:
            self._hold_file(self._writer)
            with suppress(StoreError):
                self._writer.close()

    def unwritten(self) -> Unwritten | None:
        """What the disk did not take of an ended recording; None if it took all."""
        if self.error is None:
            return None
        content = b"".join(self._held) if self._fits else None
        size, self._held, self._size = self._size, [], 0
        return Unwritten(
            error=self.error, path=self.path, content=content, release=lambda: self._memory.release(size)
        )

    def _hold_file(self, writer: CaptureWriter) -> None:
        """Hold what the file has too, in front."""
        if not self._room(writer.size):
            return
        try:
            self._held.insert(0, writer.content())
        except StoreError:
            self._drop()

    def _hold(self, lines: str) -> None:
        content = lines.encode("ascii") + b"\n"
        if self._room(len(content)):
            self._held.append(content)

    def _room(self, size: int) -> bool:
        if self._fits and self._memory.take(size):
            self._size += size
        else:
            self._drop()
        return self._fits

    def _drop(self) -> None:
        self._memory.release(self._size)
        self._held, self._size, self._fits = [], 0, False


def unwritten_in_memory(
    error: InspectorError, path: Path, capture: Callable[[], Capture], *, characters: int
) -> Unwritten:
    """What the disk did not take of a capture that is in memory; `characters` are those of its events."""
    size = 2 * characters  # JSON within JSON has its quotes escaped
    if not UNWRITTEN.take(size):
        return Unwritten(error=error, path=path)
    content = "\n".join(render(capture())).encode("ascii")
    return Unwritten(error=error, path=path, content=content, release=lambda: UNWRITTEN.release(size))


def _make(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        words = f"{folder}: cannot be created ({error.strerror}); choose another folder"
        raise StoreError(words, errno=error.errno) from error
