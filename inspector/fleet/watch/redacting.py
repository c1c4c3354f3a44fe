"""A folder of captures without their text: a recording is held in memory, and redacted before it is written.

A process does it, so that no other client waits. A recording whose text cannot be replaced, or that is more
than is held, is not written.
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
from inspector.capture.errors import InspectorError
from inspector.files.store import save
from inspector.fleet.workers import Workers
from inspector.inspection.masking import Standins, masked
from inspector.net.tap.folder import FolderSink, file_name
from inspector.protocol.harmony.vocab import encoding

HELD_AT_MOST: Final = 256 * 2**20
"""Characters of recordings in memory, requests too, those that wait for their redaction included."""

_NICE: Final = 10
_EVENT: Final = 200
"""What an event takes beside its characters."""
_VALUE: Final = 8
"""What a value of a request takes that is not text."""


@dataclass(slots=True)
class _Held:
    header: Header
    path: Path
    events: list[Event] = field(default_factory=list)
    size: int = 0
    lost: bool = False


class RedactingSink:
    """Writes each response, redacted, to a file of its own in `folder`; a sink as `tap.FolderSink` is.

    `finished` is given each file that was written, `failed` is called for each recording that was not.

    Raises StoreError when the folder cannot be made or written to.
    """

    def __init__(
        self,
        folder: Path,
        *,
        say: Callable[[str], None] = lambda _: None,
        finished: Callable[[Path], None] = lambda _: None,
        failed: Callable[[], None] = lambda: None,
        most: int = HELD_AT_MOST,
    ) -> None:
        FolderSink(folder)
        self._folder = folder
        self._say = say
        self._finished = finished
        self._failed = failed
        self._most = most
        self._held = 0
        self._open: dict[str, _Held] = {}
        self._lock = Lock()
        self._workers = Workers(1, prepare=_prepare)

    def opened(self, header: Header) -> str:
        """Begin a recording."""
        run = secrets.token_hex(8)
        self._open[run] = held = _Held(header, self._folder / file_name(header))
        self._hold(held, _size_of(header.request))
        return run

    def event(self, run: str, event: Event) -> None:
        """Hold an event."""
        held = self._open[run]
        if not held.lost and self._hold(held, len(event.data) + _EVENT):
            held.events.append(event)

    def ended(self, run: str, end: End) -> None:
        """Redact it and write it, elsewhere."""
        held = self._open.pop(run)
        if held.lost:
            self._say(f"a recording was not kept: more than {self._most // 2**20} MiB wait to be redacted")
            self._failed()
            return
        capture = Capture(header=held.header, events=held.events, end=end)
        try:
            future = self._workers.submit(write_redacted, capture, held.path)
        except RuntimeError:  # closed
            self._release(held.size)
            return
        future.add_done_callback(partial(self._done, held.path, held.size, len(held.events)))

    def close(self) -> None:
        """Finish what waits, and end the process."""
        self._workers.shutdown()

    def _done(self, path: Path, size: int, events: int, future: "Future[None]") -> None:
        self._release(size)
        try:
            future.result()
        except InspectorError as error:
            self._say(f"a recording was not kept: {error}")
            self._failed()
        except (Exception, CancelledError) as error:  # more than the process could hold
            self._say(f"a recording was not kept: redacting it failed ({type(error).__name__})")
            self._failed()
        else:
            self._say(f"{path}: {events:,} events, redacted")
            self._finished(path)

    def _hold(self, held: _Held, size: int) -> bool:
        """Whether there is room for more of a recording; what it holds is dropped where there is none."""
        with self._lock:
            held.lost = self._held + size > self._most
            if not held.lost:
                self._held += size
        if not held.lost:
            held.size += size
            return True
        self._release(held.size)
        held.header = replace(held.header, request={})
        held.events.clear()
        held.size = 0
        return False

    def _release(self, size: int) -> None:
        with self._lock:
            self._held -= size


def _size_of(request: Mapping[str, Any]) -> int:
    """About the characters of a request, however deep it is nested."""
    size, pending = 0, list[Any]([request])
    while pending:
        one = pending.pop()
        if isinstance(one, Mapping):
            size += sum(map(len, one))
            pending.extend(one.values())
        elif isinstance(one, list | tuple):
            pending.extend(one)
        size += len(one) if isinstance(one, str) else _VALUE
    return size


def write_redacted(capture: Capture, path: Path) -> None:
    """Write a capture with stand-ins of a random key that nobody keeps; raises InspectorError."""
    save(masked(capture, Standins(os.urandom(32)), name=path.name), path)


def _prepare() -> None:
    os.nice(_NICE)
    encoding()
