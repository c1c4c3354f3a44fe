"""Uploaded captures and archives on disk, a folder for each session, so that a reload of the page finds them.

Bounded in bytes and age; readable by their owner alone. What cannot be kept is only lost at a reload, so no
error of the disk reaches the page.
"""

import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Final

from inspector.capture.capture import Capture, render
from inspector.capture.errors import InspectorError
from inspector.files.store import loads_all, replacing

KEPT_BYTES: Final = 1024 * 2**20
"""Bytes of all sessions together; the sessions that were used longest ago give way."""
KEPT_DAYS: Final = 7
"""Days after which an unused session is removed."""

ARCHIVES_BYTES: Final = 512 * 2**20
"""Bytes of a session's archives and of the rows of their scans."""

_SESSION_BYTES: Final = 256 * 2**20
_SESSION: Final = re.compile(r"[A-Za-z0-9_-]{22}")
_CAPTURES_AT_MOST: Final = 64
_HEAD_AT_MOST: Final = 65_536
_NAME_AT_MOST: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """A capture that a session opened."""

    name: str
    digest: str
    capture: Capture
    vouched: bool = False
    lines: bytes | None = None
    """The file as it is, where it already has the form in which captures are kept."""


class Shelf:
    """The folder of all sessions; without one nothing is kept.

    What is held for it is found at once, before and while it is written. Every method may be called from any
    thread; sessions that share a process share its shelf.
    """

    def __init__(
        self, folder: Path | None, *, bytes_at_most: int = KEPT_BYTES, clock: Callable[[], float] = time.time
    ) -> None:
        self._folder = folder
        self._bytes_at_most = bytes_at_most
        self._clock = clock
        self._pending: dict[tuple[str, str], Upload] = {}
        """By session and file name: what is not written yet."""
        self._writing = Lock()

    def session(self) -> str:
        """The name of a new session, which cannot be guessed."""
        return secrets.token_urlsafe(16)

    def hold(self, session: str, uploads: Iterable[Upload]) -> None:
        """Take some more captures of a session, in their order; `keep` writes them."""
        if self._of(session) is not None:
            self._pending.update({(session, _file_name(upload)): upload for upload in uploads})

    def keep(self) -> None:
        """Write what is held, also what a session left that ended first; one caller does it for all."""
        # Looks again after each release: what was taken before it, another caller has left to this one.
        while self._pending and self._writing.acquire(blocking=False):
            try:
                self._write_pending(list(self._pending.items()))
            finally:
                self._writing.release()

    def _write_pending(self, pending: Sequence[tuple[tuple[str, str], Upload]]) -> None:
        by_session: dict[str, list[Upload]] = {}
        for (session, _), upload in pending:
            by_session.setdefault(session, []).append(upload)
        try:
            for session, uploads in by_session.items():
                self._write(session, uploads)
        finally:
            for key, upload in pending:
                if self._pending.get(key) is upload:  # else it was opened once more meanwhile
                    del self._pending[key]

    def _write(self, session: str, uploads: Iterable[Upload]) -> None:
        folder = self._of(session)
        if folder is None:
            return
        with suppress(OSError):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._remove_old()
            most = min(_SESSION_BYTES, self._bytes_at_most)
            for upload in uploads:
                with suppress(InspectorError):  # a full disk, or a request that is nested too deeply
                    if sum(map(len, content := _written(upload))) <= most:
                        _write(folder / _file_name(upload), content)
            _remove_beyond(folder, most)

    def kept(self, session: str) -> list[Upload]:
        """The captures of a session, oldest first; empty for a session that is not known."""
        folder = self._of(session)
        if folder is None:
            return []
        # Before the files: what is written meanwhile is then found in one of both places.
        pending = {file: upload for (name, file), upload in list(self._pending.items()) if name == session}
        stored = []
        with suppress(OSError):
            if folder.is_dir():
                os.utime(folder)
            for path in sorted(folder.glob("*.jsonl"), key=lambda path: path.stat().st_mtime_ns):
                with suppress(InspectorError):
                    if path.name not in pending:
                        stored.append(_read(path))
        return [*stored, *pending.values()]

    def archives(self, session: str) -> Path | None:
        """The folder of a session whose subfolders each have archives and the scan of them."""
        folder = self._of(session)
        return None if folder is None else folder / "scans"

    def place(self, session: str, name: str) -> Path:
        """A new folder among the `archives` of a session; raises InspectorError for disk errors.

        The name comes from a file of the user, so what a path could misread in it is replaced.
        """
        archives = self.archives(session)
        if archives is None:
            raise InspectorError(f"{name}: there is no folder to keep it in; open its files one by one")
        stem = _plain(name)
        try:
            for parent in (archives.parent, archives):
                parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._remove_old()
            for number in count(1):
                folder = archives / (stem if number == 1 else f"{stem} ({number})")
                with suppress(FileExistsError):
                    folder.mkdir(mode=0o700)
                    break
        except OSError as error:
            raise InspectorError(
                f"{archives}: cannot be written ({error.strerror}); free disk space"
            ) from error
        return folder

    def add_archives(self, session: str, name: str, archives: Sequence[tuple[str, bytes]]) -> list[Path]:
        """Keep archives that came together, with their names; raises InspectorError where there is no room.

        What a session has dropped is never removed for what it drops next.
        """
        kept = self.archives(session)
        used = 0 if kept is None else _size(kept)
        if used + sum(len(content) for _, content in archives) > min(ARCHIVES_BYTES, self._bytes_at_most):
            raise InspectorError(
                f"{name}: more than {ARCHIVES_BYTES // 2**20} MB with what this session has already; "
                "drop fewer files, or let `harmony-inspector scan` read their folder"
            )
        folder = self.place(session, name)
        paths = [folder / f"{number}-{_plain(file)}.zip" for number, (file, _) in enumerate(archives, 1)]
        for path, (_, content) in zip(paths, archives, strict=True):
            _write(path, [content])
        return paths

    def _of(self, session: str) -> Path | None:
        """The folder of a session; the name comes from a URL, so it is checked before it becomes a path."""
        valid = self._folder is not None and _SESSION.fullmatch(session) is not None
        return self._folder / session if self._folder is not None and valid else None

    def _remove_old(self) -> None:
        """Remove sessions unused for days, then the oldest until the rest is small enough."""
        now, free = self._clock(), self._bytes_at_most
        for when, size, folder in sorted(self._sessions(), reverse=True):
            free -= size
            if free < 0 or now - when > KEPT_DAYS * 86_400:
                shutil.rmtree(folder, ignore_errors=True)

    def _sessions(self) -> Iterator[tuple[float, int, Path]]:
        for folder in self._folder.iterdir() if self._folder is not None else ():
            if folder.is_dir() and _SESSION.fullmatch(folder.name):
                yield folder.stat().st_mtime, _size(folder), folder


def _plain(name: str) -> str:
    """A name of a file without its ending, as a part of a path."""
    stem = name.removesuffix(".zip")
    stem = "".join(char if char.isprintable() and char not in "/\\:" else "_" for char in stem)
    return stem.strip(". ")[:_NAME_AT_MOST].strip() or "files"


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _remove_beyond(folder: Path, bytes_at_most: int) -> None:
    """Remove the oldest captures of a session until the others are few and small enough."""
    kept = size = 0
    for path in sorted(folder.glob("*.jsonl"), key=lambda path: path.stat().st_mtime_ns, reverse=True):
        kept, size = kept + 1, size + path.stat().st_size
        if kept > _CAPTURES_AT_MOST or size > bytes_at_most:
            path.unlink()


def _file_name(upload: Upload) -> str:
    identity = f"{upload.name} {upload.digest}".encode("utf-8", "replace")
    return f"{blake2b(identity, digest_size=12).hexdigest()}.jsonl"


def _written(upload: Upload) -> tuple[bytes, bytes]:
    """The content of the file: a line that describes the upload, then the capture in our own format.

    Returned in two parts, so that a long capture is not copied.
    """
    head = (
        json.dumps({"name": upload.name, "digest": upload.digest, "vouched": upload.vouched}).encode("ascii")
        + b"\n"
    )
    if upload.lines is not None:
        return head, upload.lines
    return head, "".join(f"{line}\n" for line in render(upload.capture)).encode("ascii")


def _write(path: Path, content: Iterable[bytes]) -> None:
    with replacing(path) as file:
        file.writelines(content)


def _read(path: Path) -> Upload:
    with path.open("rb") as file:
        first = file.readline(_HEAD_AT_MOST)
        rest = file.read(_SESSION_BYTES)
    try:
        head = json.loads(first)
        name, digest, vouched = str(head["name"]), str(head["digest"]), head["vouched"] is True
    except (ValueError, KeyError, TypeError) as error:
        raise InspectorError(f"{path}: not a kept upload") from error
    (capture,) = loads_all(rest, name)[:1]
    return Upload(name=name, digest=digest, capture=capture, vouched=vouched)
