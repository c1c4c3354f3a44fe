"""A folder of captures as a sink: one file per response, written as it arrives.

The disk may refuse: then that recording ends, once and in words, and the client never notices.
"""

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from inspector.capture.capture import End, Event, Header
from inspector.capture.errors import CaptureError, StoreError
from inspector.files.store import CaptureWriter, open_writer


@dataclass(slots=True)
class _Open:
    path: Path
    writer: CaptureWriter | None
    """None once the disk refused."""
    events: int = 0
    waiting: list[Event] = field(default_factory=list)
    """Events of this turn of the event loop, written at its end in one go."""


def file_name(header: Header) -> str:
    """A new name for the file of a recording."""
    moment = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return f"{moment}-{header.endpoint}-{secrets.token_hex(3)}.jsonl"


class FolderSink:
    """Writes each response to a file of its own in `folder`; `say` is told of each end and each refusal.

    `finished` is given each file that holds all of its recording.

    Raises StoreError when the folder cannot be made or written to.
    """

    def __init__(
        self,
        folder: Path,
        *,
        say: Callable[[str], None] = lambda _: None,
        finished: Callable[[Path], None] = lambda _: None,
    ) -> None:
        self._folder = folder
        self._say = say
        self._finished = finished
        self._open: dict[str, _Open] = {}
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            probe = folder / f".writable-{secrets.token_hex(4)}"
            probe.touch()
            probe.unlink()
        except (OSError, ValueError) as error:
            words = error.strerror if isinstance(error, OSError) else str(error)
            raise StoreError(
                f"{folder}: cannot write captures there ({words}); choose another folder with --captures"
            ) from error

    def opened(self, header: Header) -> str:
        """Begin a file."""
        path = self._folder / file_name(header)
        name = path.stem
        writer = None
        try:
            writer = open_writer(path, header)
        except (StoreError, CaptureError) as error:
            self._say(f"not recorded: {error}")
        self._open[name] = _Open(path, writer)
        return name

    def event(self, run: str, event: Event) -> None:
        """Append one event; events that come together are written together."""
        found = self._open[run]
        if found.writer is None:
            return
        found.waiting.append(event)
        if len(found.waiting) == 1:
            try:
                asyncio.get_running_loop().call_soon(self._write, found)
            except RuntimeError:  # no event loop: write now
                self._write(found)

    def ended(self, run: str, end: End) -> None:
        """Append how it ended."""
        found = self._open.pop(run)
        self._write(found)
        if found.writer is None:
            return
        try:
            found.writer.end(end)
        except StoreError as error:
            self._refused(found, error)
            return
        how = f"connection broken: {end.detail}" if end.cut else "complete"
        self._say(f"{found.path}: {found.events:,} events, {how}")
        self._finished(found.path)

    def _write(self, found: _Open) -> None:
        events, found.waiting = found.waiting, []
        if found.writer is None or not events:
            return
        try:
            found.writer.write(events)
            found.events += len(events)
        except StoreError as error:
            self._refused(found, error)

    def _refused(self, found: _Open, error: StoreError) -> None:
        writer, found.writer = found.writer, None
        self._say(f"recording stopped after {found.events:,} events: {error}")
        try:
            if writer is not None:
                writer.close()
        except StoreError:
            return
