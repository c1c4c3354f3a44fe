"""A folder of captures as a sink: one file per response, written as it arrives.

If a write fails, that recording ends with a message, and the client does not notice.
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
class _OpenRecording:
    path: Path
    writer: CaptureWriter | None
    """None once a write failed."""
    events: int = 0
    waiting: list[Event] = field(default_factory=list)
    """Events of this turn of the event loop, written at its end in one go."""


def file_name(header: Header) -> str:
    """A new name for the file of a recording."""
    moment = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return f"{moment}-{header.endpoint}-{secrets.token_hex(3)}.jsonl"


class FolderSink:
    """Writes each response to its own file in `folder`.

    `say` receives a line for each recording that ends or fails, `finished` each complete file.

    Raises StoreError if the folder cannot be created or written to.
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
        self._open: dict[str, _OpenRecording] = {}
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
        """Begin a recording in a new file; its ID."""
        path = self._folder / file_name(header)
        name = path.stem
        writer = None
        try:
            writer = open_writer(path, header)
        except (StoreError, CaptureError) as error:
            self._say(f"not recorded: {error}")
        self._open[name] = _OpenRecording(path, writer)
        return name

    def event(self, run: str, event: Event) -> None:
        """Append an event; events of one turn of the event loop are written together."""
        recording = self._open[run]
        if recording.writer is None:
            return
        recording.waiting.append(event)
        if len(recording.waiting) == 1:
            try:
                asyncio.get_running_loop().call_soon(self._write, recording)
            except RuntimeError:  # no event loop: write now
                self._write(recording)

    def ended(self, run: str, end: End) -> None:
        """Append the end and close the file."""
        recording = self._open.pop(run)
        self._write(recording)
        if recording.writer is None:
            return
        try:
            recording.writer.end(end)
        except StoreError as error:
            self._write_failed(recording, error)
            return
        how = f"connection broken: {end.detail}" if end.cut else "complete"
        self._say(f"{recording.path}: {recording.events:,} events, {how}")
        self._finished(recording.path)

    def _write(self, recording: _OpenRecording) -> None:
        events, recording.waiting = recording.waiting, []
        if recording.writer is None or not events:
            return
        try:
            recording.writer.write(events)
            recording.events += len(events)
        except StoreError as error:
            self._write_failed(recording, error)

    def _write_failed(self, recording: _OpenRecording, error: StoreError) -> None:
        writer, recording.writer = recording.writer, None
        self._say(f"recording stopped after {recording.events:,} events: {error}")
        try:
            if writer is not None:
                writer.close()
        except StoreError:
            return
