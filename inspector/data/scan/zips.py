"""Zip archives, read in place: nothing is extracted, and an archive costs no more than its bounds.

An archive may lie about itself: a directory of millions of members, members that overlap, members that expand
a thousandfold. The directory is bounded before it is parsed, members may not take more room together than
the archive has, and a member expands no further than a packed file may (`store`).
"""

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from io import BufferedIOBase
from typing import IO, Final, cast

from inspector.capture.errors import CaptureError, StoreError
from inspector.data.scan.local import open_at_once
from inspector.data.scan.remote import download, is_url, open_url
from inspector.files.store import LIMIT_BYTES

MEMBERS: Final = 100_000
"""Members of an archive."""

_DIRECTORY_BYTES: Final = 16 * 2**20
_FOLDS: Final = 300
_FOLDED_FROM: Final = 32 * 2**20
_BOUNDED: Final = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
"""Methods that zipfile decompresses no further than it is asked to; others are read in small steps."""
_STEP: Final = 4096
_ENCRYPTED: Final = 1


class _FromStartError(Exception):
    """The server sends the archive from its start only."""


class _Bounded(BufferedIOBase):
    """A file that limits each read to the size of a directory, until it is released."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.released = False

    def read(self, size: int | None = -1, /) -> bytes:
        if not self.released and size is not None and size > _DIRECTORY_BYTES:
            raise OverflowError
        return self._file.read(-1 if size is None else size)

    def seek(self, place: int, whence: int = 0, /) -> int:
        return self._file.seek(place, whence)

    def tell(self) -> int:
        return self._file.tell()

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._file.close()


class Archive:
    """An open archive."""

    def __init__(self, archive: zipfile.ZipFile, file: _Bounded) -> None:
        self._archive = archive
        self._file = file

    def members(self) -> list[zipfile.ZipInfo]:
        """What is in it, folders left out."""
        return [member for member in self._archive.infolist() if not member.is_dir()]

    def read(self, member: str) -> bytes:
        """The bytes of a member; raises CaptureError if it cannot be read or expands beyond the bounds."""
        name = member.rpartition("/")[2] or member
        with _damage(name, "cannot be read from the archive"):
            try:
                info = self._archive.getinfo(member)
            except KeyError as error:
                raise CaptureError(name, "is no longer in the archive; scan again") from error
            most = min(LIMIT_BYTES, max(_FOLDED_FROM, _FOLDS * info.compress_size))
            if info.file_size > most:
                why = f"expands to {info.file_size:,} bytes, more than the limit of {most:,}; it is not read"
                raise CaptureError(name, why)
            if info.flag_bits & _ENCRYPTED:
                raise CaptureError(name, "is encrypted; extract it with its password first")
            with self._archive.open(info) as file:
                if info.compress_type in _BOUNDED:
                    return file.read()
                return b"".join(iter(partial(file.read, _STEP), b""))

    def close(self) -> None:
        """Close it."""
        self._archive.close()
        self._file.close()


def opened_zip(path: str) -> Archive:
    """An archive by path or URL; raises CaptureError for one that is damaged or beyond the bounds."""
    name = path.rstrip("/").rpartition("/")[2]
    try:
        plain = open_url(path) if is_url(path) else open_at_once(path)
    except OSError as error:
        raise StoreError(f"{name}: cannot be read ({error.strerror or error}); check the file") from error
    try:
        return _opened(plain, name, remote=is_url(path))
    except _FromStartError:
        return _opened(download(path, LIMIT_BYTES), name, remote=False)


def _opened(plain: IO[bytes], name: str, *, remote: bool) -> Archive:
    file = _Bounded(plain)
    try:
        with _damage(name, "the zip archive cannot be read" if remote else "the zip archive is damaged"):
            try:
                size = file.seek(0, 2)
                archive = zipfile.ZipFile(cast(IO[bytes], file))
            except ValueError as error:  # what fsspec raises where a server sends no parts of a file
                if remote:
                    raise _FromStartError from error
                raise
            members = archive.infolist()
            if len(members) > MEMBERS:
                raise CaptureError(name, f"has more than {MEMBERS:,} members; split the archive")
            if sum(member.compress_size for member in members) > size:
                raise CaptureError(name, "its members overlap, as in a zip bomb; it is not read")
            file.released = True
            return Archive(archive, file)
    except BaseException:
        file.close()
        raise


@contextmanager
def _damage(name: str, words: str) -> Iterator[None]:
    """Raise CaptureError for what zipfile and object stores raise, which are many kinds."""
    try:
        yield
    except (CaptureError, _FromStartError):
        raise
    except OverflowError as error:
        why = f"its directory has more than {_DIRECTORY_BYTES // 2**20} MiB; split the archive"
        raise CaptureError(name, why) from error
    except (Exception, zlib.error) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise CaptureError(name, f"{words} ({reason}); save it again") from error
