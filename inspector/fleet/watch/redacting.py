"""A sink that redacts: a recording is held in memory, and written to a folder without its text.

A separate process redacts, so that no client waits. A recording whose text cannot be replaced, or that does
not fit into the memory limit, is not written.
"""

import os
import secrets
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, Final

from inspector.capture.capture import Capture, End, Event, Header
from inspector.capture.errors import InspectorError, StoreError
from inspector.files.recording import Unwritten, unwritten_in_memory
from inspector.files.store import save
from inspector.fleet.workers import Workers
from inspector.inspection.masking import Standins, masked
from inspector.net.tap.folder import FolderSink, file_name
from inspector.protocol.harmony.vocab import encoding

CHARACTERS_AT_MOST: Final = 256 * 2**20
"""Characters of recordings in memory, requests too, those that wait for their redaction included."""

_NICE: Final = 10
_EVENT: Final = 200
"""Assumed size of an event beside its characters."""
_VALUE: Final = 8
"""Assumed size of a request's value that is not text."""


@dataclass(slots=True)
class _HeldRecording:
    header: Header
    path: Path
    events: list[Event] = field(default_factory=list)
    size: int = 0
    lost: bool = False


class RedactingSink:
    """Writes each response, redacted, to a file of its own in `folder`; a sink as `tap.FolderSink` is.

    `finished` is given each file that was written, `unwritten` each recording that the disk did not take;
    `failed` is called for each that could not be redacted.

    Raises StoreError when the folder cannot be made or written to.
    """

    def __init__(
        self,
        folder: Path,
        *,
        say: Callable[[str], None] = lambda _: None,
        finished: Callable[[Path], None] = lambda _: None,
        failed: Callable[[], None] = lambda: None,
        unwritten: Callable[[Unwritten], None] | None = None,
        most: int = CHARACTERS_AT_MOST,
    ) -> None:
        FolderSink(folder)
        self._folder = folder
        self._say = say
        self._finished = finished
        self._failed = failed
        self._unwritten = unwritten or self._say_unwritten
        self._most = most
        self._held_chars = 0
        self._open: dict[str, _HeldRecording] = {}
        self._lock = Lock()
        self._workers = Workers(1, prepare=_prepare)

    def opened(self, header: Header) -> str:
        """Begin a recording."""
        run = secrets.token_hex(8)
        self._open[run] = recording = _HeldRecording(header, self._folder / file_name(header))
        self._hold(recording, _size_of(header.request))
        return run

    def event(self, run: str, event: Event) -> None:
        """Hold an event."""
        recording = self._open[run]
        if not recording.lost and self._hold(recording, len(event.data) + _EVENT):
            recording.events.append(event)

    def ended(self, run: str, end: End) -> None:
        """Redact it and write it, elsewhere."""
        recording = self._open.pop(run)
        if recording.lost:
            self._say(f"a recording was not kept: more than {self._most // 2**20} MiB wait to be redacted")
            self._failed()
            return
        capture = Capture(header=recording.header, events=recording.events, end=end)
        try:
            future = self._workers.submit(write_redacted, capture, recording.path)
        except RuntimeError:  # closed
            self._release(recording.size)
            return
        future.add_done_callback(partial(self._done, recording.path, recording.size, capture))

    def close(self) -> None:
        """Finish waiting recordings, and end the process."""
        self._workers.shutdown()

    def _say_unwritten(self, recording: Unwritten) -> None:
        self._say(f"a recording was not kept: {recording.error}")
        recording.release()

    def _done(self, path: Path, size: int, capture: Capture, future: "Future[None]") -> None:
        self._release(size)
        try:
            future.result()
        except StoreError as error:
            self._unwritten(unwritten_in_memory(error, path, lambda: capture, characters=size))
        except InspectorError as error:
            self._say(f"a recording was not kept: {error}")
            self._failed()
        except (Exception, CancelledError) as error:  # more than the process could hold
            self._say(f"a recording was not kept: redacting it failed ({type(error).__name__})")
            self._failed()
        else:
            self._say(f"{path}: {len(capture.events):,} events, redacted")
            self._finished(path)

    def _hold(self, recording: _HeldRecording, size: int) -> bool:
        """Reserve room for more of a recording; if there is none, drop what it holds and return False."""
        with self._lock:
            recording.lost = self._held_chars + size > self._most
            if not recording.lost:
                self._held_chars += size
        if not recording.lost:
            recording.size += size
            return True
        self._release(recording.size)
        recording.header = replace(recording.header, request={})
        recording.events.clear()
        recording.size = 0
        return False

    def _release(self, size: int) -> None:
        with self._lock:
            self._held_chars -= size


def _size_of(request: Mapping[str, Any]) -> int:
    """About the characters of a request, however deep it is nested."""
    size, pending = 0, list[Any]([request])
    while pending:
        node = pending.pop()
        if isinstance(node, Mapping):
            size += sum(map(len, node))
            pending.extend(node.values())
        elif isinstance(node, list | tuple):
            pending.extend(node)
        size += len(node) if isinstance(node, str) else _VALUE
    return size


def write_redacted(capture: Capture, path: Path) -> None:
    """Write a capture with stand-ins from a random key that is not stored; raises InspectorError."""
    save(masked(capture, Standins(os.urandom(32)), name=path.name), path)


def _prepare() -> None:
    os.nice(_NICE)
    encoding()
