"""What a scan reads: one item for each file, member of a zip archive or object; and its bytes, bounded."""

import os
from collections.abc import Hashable
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote_from_bytes, unquote_to_bytes, urlsplit

from inspector.capture.errors import StoreError
from inspector.data.scan.local import open_at_once, read_at_once
from inspector.data.scan.remote import is_url, open_url
from inspector.data.scan.zips import Archive, opened_zip
from inspector.files.store import LIMIT_BYTES, disk_errors, read_at_most

_FILE_URL: Final = "file://"

Key = tuple[str, str | None]
"""Path and member of an item, as rows have them."""


class ScanItem(NamedTuple):
    """A file to read."""

    path: str
    """Absolute path, or URL."""
    member: str | None
    """Path inside a zip archive."""
    size: int
    stamp: str
    """A value that changes with the content; empty if there is none, and the item is then read each time."""
    trouble: str = ""
    """Why it cannot be read, where the listing found that already."""

    @property
    def key(self) -> Key:
        """What names it in the rows."""
        return as_text(self.path), None if self.member is None else _as_member(self.member)

    @property
    def name(self) -> str:
        """File name, for lists and errors."""
        return (self.member or self.path).rstrip("/").rpartition("/")[2] or self.path


class ItemReader:
    """Reads items; keeps the last archive open, as its members come one after the other."""

    def __init__(self) -> None:
        self._key: Hashable = None
        self._archive: Archive | None = None

    def content(self, item: ScanItem) -> bytes:
        """The bytes of an item, at most one more than the limit of a file; raises InspectorError."""
        if item.trouble:
            raise StoreError(f"{item.name}: {item.trouble}")
        if item.member is not None:
            return self._opened(item.path).read(item.member)
        if is_url(item.path):
            return _remote(item)
        try:
            with disk_errors(item.path), open_at_once(item.path) as file:
                return read_at_once(file, LIMIT_BYTES + 1)
        except StoreError as error:  # the folder has a column of its own
            raise StoreError(str(error).replace(item.path, Path(item.path).name, 1)) from error

    def close(self) -> None:
        """Close the archive."""
        if self._archive is not None:
            with suppress(OSError):
                self._archive.close()
        self._key, self._archive = None, None

    def _opened(self, path: str) -> Archive:
        key = (path, _version(path))
        if self._archive is None or self._key != key:
            self.close()
            self._archive = opened_zip(path)
            self._key = key
        return self._archive


def _version(path: str) -> Hashable:
    """A value that differs if another archive is at the path now."""
    with suppress(OSError):
        status = os.stat(path)
        return status.st_ino, status.st_size, status.st_mtime_ns
    return None


def _remote(item: ScanItem) -> bytes:
    with open_url(item.path) as file:
        try:
            return read_at_most(file, LIMIT_BYTES + 1)
        except Exception as error:  # each object store has errors of its own
            words = f"cannot be read ({error}); check the object and your access"
            raise StoreError(f"{item.name}: {words}") from error


def _as_member(name: str) -> str:
    """The name of a member, which is text already but for lone surrogates."""
    return name if name.isascii() else name.encode("utf-8", "backslashreplace").decode("utf-8")


def as_text(path: str) -> str:
    """A path as a row has it. Bytes that are not UTF-8 become a URL, which cannot be another path."""
    if path.isascii():
        return path
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return f"{_FILE_URL}{quote_from_bytes(os.fsencode(path))}"
    return path


def from_text(path: str) -> str:
    """The path that a row has, or that the URL of a file names."""
    if not path.startswith(_FILE_URL):
        return path
    try:
        return os.fsdecode(unquote_to_bytes(urlsplit(path).path))
    except ValueError as error:
        raise StoreError(f"{path}: invalid URL ({error}); use file:///folder/file") from error
