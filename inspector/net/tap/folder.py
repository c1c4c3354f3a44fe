"""A folder of captures as a sink: one file per response, written as it arrives.

If the disk fails, the client does not notice: the rest of that recording is held in memory.
"""

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from inspector.capture.capture import End, Event, Header
from inspector.capture.errors import StoreError
from inspector.files.recording import Recording, Unwritten


@dataclass(slots=True)
class _OpenRecording:
    file: Recording
    failed: bool = False
    """True once it was said that the disk failed."""
    waiting: list[Event] = field(default_factory=list)
    """Events of this turn of the event loop, written at its end in one go."""


def file_name(header: Header) -> str:
    """A new name for the file of a recording."""
    moment = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return f"{moment}-{header.endpoint}-{secrets.token_hex(3)}.jsonl"


class FolderSink:
    """Writes each response to its own file in `folder`.

    `say` receives a line for each recording that ends or fails, `finished` each complete file, and
    `unwritten` what the disk did not take of a recording that has ended.

    Raises StoreError if the folder cannot be created or written to.
    """

    def __init__(
        self,
        folder: Path,
        *,
        say: Callable[[str], None] = lambda _: None,
        finished: Callable[[Path], None] = lambda _: None,
        unwritten: Callable[[Unwritten], None] = lambda unwritten: unwritten.release(),
    ) -> None:
        self._folder = folder
        self._unwritten = unwritten
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
                f"{folder}: cannot write captures there ({words}); choose another folder with --out"
            ) from error

    def opened(self, header: Header) -> str:
        """Begin a recording in a new file; its ID."""
        path = self._folder / file_name(header)
        self._open[path.stem] = recording = _OpenRecording(Recording(path, header))
        self._say_failure(recording, "not recorded")
        return path.stem

    def event(self, run: str, event: Event) -> None:
        """Append an event; events of one turn of the event loop are written together."""
        recording = self._open[run]
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
        file = recording.file
        file.end(end)
        if (unwritten := file.unwritten()) is not None:
            self._say_failure(recording, f"recording stopped after {file.events:,} events")
            self._unwritten(unwritten)
            return
        how = f"connection broken: {end.detail}" if end.cut else "complete"
        self._say(f"{file.path}: {file.events:,} events, {how}")
        self._finished(file.path)

    def _write(self, recording: _OpenRecording) -> None:
        events, recording.waiting = recording.waiting, []
        if events:
            recording.file.write(events)
            self._say_failure(recording, f"recording stopped after {recording.file.events:,} events")

    def _say_failure(self, recording: _OpenRecording, what: str) -> None:
        if recording.file.error is not None and not recording.failed:
            recording.failed = True
            self._say(f"{what}: {recording.file.error}")
