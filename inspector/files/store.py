"""Captures on disk: reads every supported format, compressed or not; writes complete or growing captures.

Limits file sizes before and after decompression, and never overwrites a recording in progress. Disk errors
raise StoreError, unreadable content raises CaptureError; both messages include the fix.
"""

import errno
import os
import secrets
import shutil
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from io import BytesIO, RawIOBase
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final, Protocol, Self

import zstandard
from msgspec import field, structs

from inspector.analysis.audit.verdict import Level
from inspector.capture.capture import (
    Capture,
    End,
    Endpoint,
    Event,
    Header,
    end_line,
    event_line,
    header_line,
    render,
)
from inspector.capture.errors import CaptureError, InspectorError, StoreError
from inspector.files.importers import sniff_and_read
from inspector.files.tables import Row, Text, read_table
from inspector.protocol.engines import DEFAULT

LIMIT_BYTES: Final = 512 * 2**20
"""Size limit of a file, compressed and decompressed."""

APP: Final = next(
    (
        folder
        for folder in (Path(__file__).parents[1] / "_app", Path(__file__).parents[2])
        if (folder / "app.py").is_file()
    ),
    Path(__file__).parents[2],
)
"""Where the dashboard and the built-in captures are: below the installed package, beside it in a checkout."""

FIXTURES: Final = APP / "fixtures"
"""The built-in captures."""

_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_WINDOW_BYTES: Final = 128 * 2**20  # zstd's own bound for --long=27: an archive cannot ask for more memory
_PARTS_AT_MOST: Final = 16384
"""Gzip members or zstd frames of a file: each takes a decompressor of its own, however little it holds."""
_SLICE: Final = 65536
_STEP: Final = 2**20
_FOLDS: Final = 300
_FOLDED_FROM: Final = 32 * 2**20
"""A packed file may always expand to so much, and beyond it `_FOLDS`-fold."""
_ZSTD_SLICE: Final = 1024  # a zstd block of 4 bytes stands for up to 128 KiB: small slices bound the step


class Readable(Protocol):
    """A file, or what decompresses one."""

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes; none at the end."""


class Builtin(Row, frozen=True, kw_only=True):
    """A capture that comes with the program: a row of fixtures/index.toml."""

    path: Path = field(name="file")
    title: Text
    shows: Text
    """What it demonstrates, in one line."""
    verdict: Level
    """What the audit says of it: a list can show that without reading every capture."""
    server_version: str
    endpoint: Endpoint
    tokens_per_step: int
    """Tokens that the engine returned at a time (`--stream-interval`)."""

    @property
    def name(self) -> str:
        """File name without extensions; used in URLs and commands."""
        return self.path.name.partition(".jsonl")[0]

    @property
    def server_label(self) -> str:
        """The server that it was recorded with."""
        return DEFAULT.labelled(self.server_version)


class _Index(Row, frozen=True):
    capture: tuple[Builtin, ...]


def builtin(folder: Path = FIXTURES) -> list[Builtin]:
    """The built-in captures, in the order of their index; empty where there are none."""
    index = folder / "index.toml"
    if not index.exists():
        return []
    try:
        rows = read_table(index, _Index, error=StoreError).capture
    except StoreError as error:
        raise StoreError(f"{error}; restore the index of built-in captures from git") from error
    return [structs.replace(row, path=folder / row.path) for row in rows]


def load(path: Path | str, *, limit_bytes: int = LIMIT_BYTES) -> Capture:
    """The capture of a file.

    Raises StoreError if it cannot be read, CaptureError if it is not a capture or holds several.
    """
    return _only(load_all(path, limit_bytes=limit_bytes), str(path))


def load_all(path: Path | str, *, limit_bytes: int = LIMIT_BYTES) -> list[Capture]:
    """The captures of a file, one or more; raises as `load` does."""
    if not isinstance(path, str | os.PathLike):
        raise InspectorError(f"load takes a path, not {type(path).__name__}; loads reads content")
    with disk_errors(path), Path(path).open("rb") as file:
        content = read_at_most(file, limit_bytes + 1)
    return loads_all(content, str(path), limit_bytes=limit_bytes)


def read_at_most(file: Readable, size: int) -> bytes:
    """The first bytes of a file; takes memory for what there is, not for `size`."""
    content = BytesIO()
    while (left := size - content.tell()) > 0 and (piece := file.read(min(left, _STEP))):
        content.write(piece)
    return content.getvalue()


@contextmanager
def disk_errors(path: Path | str) -> Iterator[None]:
    """Turn what opening and reading a file raises into StoreError."""
    try:
        yield
    except FileNotFoundError as error:
        raise StoreError(f"{path}: no such file; check the name") from error
    except IsADirectoryError as error:
        raise StoreError(f"{path}: is a folder; pass a file in it, or use `scan`") from error
    except PermissionError as error:
        raise StoreError(f"{path}: permission denied; change the file's permissions") from error
    except (OSError, ValueError) as error:  # ValueError: a NUL byte in the name
        raise StoreError(f"{path}: cannot be read ({_words(error)}); check the name and the disk") from error


def loads(content: bytes | str, name: str = "content", *, limit_bytes: int = LIMIT_BYTES) -> Capture:
    """The capture of a file's content, compressed or not; `name` is for errors. Raises as `load` does."""
    return _only(loads_all(content, name, limit_bytes=limit_bytes), name)


def _only(captures: list[Capture], name: str) -> Capture:
    if len(captures) > 1:
        raise CaptureError(name, f"holds {len(captures):,} captures; use load_all or loads_all")
    return captures[0]


def loads_all(
    content: bytes | str, name: str = "content", *, limit_bytes: int = LIMIT_BYTES
) -> list[Capture]:
    """The captures of a file's content, one or more."""
    if isinstance(content, str):
        content = content.encode("utf-8", "replace")
    if not isinstance(content, bytes):
        raise InspectorError(f"loads takes bytes or str, not {type(content).__name__}; use json.dumps")
    if len(content) > limit_bytes:
        why = f"larger than the limit of {_mib(limit_bytes)}; keep only the request you need"
        raise CaptureError(name, why)
    note: str | None = None
    # No recording packs this well, and what does costs far more to read than its bytes.
    plain_limit = min(limit_bytes, max(_FOLDED_FROM, _FOLDS * len(content)))
    if content.startswith(_GZIP):
        content, note = _gunzip(content, name, plain_limit)
    elif content.startswith(_ZSTD):
        content, note = _unzstd(content, name, plain_limit)
    captures = sniff_and_read(content, name)
    if note:
        captures = [replace(capture, notes=(*capture.notes, note)) for capture in captures]
    return captures


def _gunzip(content: bytes, name: str, limit_bytes: int) -> tuple[bytes, str | None]:
    """Decompress all members; with a note if the last one is truncated."""
    plain, at, members, complete = bytearray(), 0, 0, True
    while content.startswith(_GZIP, at) and complete:
        member, members = zlib.decompressobj(wbits=31), members + 1
        _count(members, name)
        try:
            while at < len(content) and not member.eof:
                piece = content[at : at + _SLICE]
                at += len(piece)
                while piece and not member.eof:
                    plain += member.decompress(piece, _STEP)
                    _bound(len(plain), name, limit_bytes)
                    piece = member.unconsumed_tail
        except zlib.error as error:
            raise CaptureError(name, f"the gzip file is damaged ({error}); save it again") from error
        complete = member.eof
        at -= len(member.unused_data)
    return bytes(plain), _note("gzip", complete, content[at:])


def _unzstd(content: bytes, name: str, limit_bytes: int) -> tuple[bytes, str | None]:
    """Decompress all frames; with a note if the last one is truncated."""
    plain, at, frames, complete = bytearray(), 0, 0, True
    unpacker = zstandard.ZstdDecompressor(max_window_size=_WINDOW_BYTES)
    while content.startswith(_ZSTD, at) and complete:
        frame, frames = unpacker.decompressobj(), frames + 1
        _count(frames, name)
        try:
            while at < len(content) and not frame.eof:
                piece = content[at : at + _ZSTD_SLICE]
                at += len(piece)
                plain += frame.decompress(piece)
                _bound(len(plain), name, limit_bytes)
        except zstandard.ZstdError as error:
            raise CaptureError(name, f"the zstd file is damaged ({error}); save it again") from error
        complete = frame.eof
        at -= len(frame.unused_data)
    return bytes(plain), _note("zstd", complete, content[at:])


def _count(parts: int, name: str) -> None:
    if parts > _PARTS_AT_MOST:
        raise CaptureError(name, f"has more than {_PARTS_AT_MOST:,} compressed parts; decompress it first")


def _note(kind: str, whole: bool, rest: bytes) -> str | None:
    if not whole:
        return f"The {kind} file is truncated; the content up to that point was read."
    return f"{len(rest):,} bytes after the {kind} content were ignored." if rest.strip(b"\x00") else None


def _bound(size: int, name: str, limit_bytes: int) -> None:
    if size > limit_bytes:
        why = (
            f"larger than the limit of {_mib(limit_bytes)} when decompressed; keep only the request you need"
        )
        raise CaptureError(name, why)


def _mib(size: int) -> str:
    return f"{size / 2**20:g} MiB"


def save(capture: Capture, path: Path | str) -> None:
    """Write a capture, compressed if the name ends in .gz or .zst; the file appears only when complete."""
    with replacing(path) as file:
        file.writelines(_packed(_text(capture), Path(path).suffix))


@contextmanager
def replacing(path: Path | str, *, private: bool = True) -> Iterator[BinaryIO]:
    """A file that takes the place of `path` once it is complete; an error leaves there what was there.

    `private` is for its owner alone. Raises StoreError. A device or a pipe is written as it is.
    """
    target, part = Path(path), None
    try:
        if target.is_file() or not target.exists():
            target = Path(os.path.realpath(target))  # what a link leads to is replaced, not the link
            part = Path(f"{target}.{secrets.token_hex(4)}.part")
        # Exclusive: of two writers each has its own, and no link or file of that name is followed or lost.
        opener = _private if private else None
        with open(part or target, "wb" if part is None else "xb", opener=opener) as file:
            if part is not None and not private and target.exists():
                shutil.copymode(target, part)
            yield file
        if part is not None:
            os.replace(part, target)
    except BaseException as error:
        if part is not None:
            _remove(part)
        if isinstance(error, OSError | ValueError):
            raise _refused(Path(path), error) from error
        raise


def _private(path: str, flags: int) -> int:
    """Open a file that only its owner may read: captures hold prompts."""
    return os.open(path, flags, 0o600)


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except (OSError, ValueError):
        return


class _Packer(Protocol):
    def compress(self, data: bytes, /) -> bytes: ...
    def flush(self) -> bytes: ...


def _text(capture: Capture) -> Iterator[bytes]:
    for line in render(capture):
        yield line.encode("ascii") + b"\n"


def _packed(pieces: Iterator[bytes], suffix: str) -> Iterator[bytes]:
    """The bytes of the file; the same capture gives the same bytes."""
    if suffix not in {".gz", ".zst"}:
        yield from pieces
        return
    packer: _Packer = zstandard.ZstdCompressor().compressobj()
    if suffix == ".gz":
        packer = zlib.compressobj(wbits=31)
    for piece in pieces:
        yield packer.compress(piece)
    yield packer.flush()


def _refused(path: Path, error: OSError | ValueError) -> StoreError:
    words = f"{path}: cannot be written ({_words(error)}); choose another path or free disk space"
    return StoreError(words, errno=error.errno if isinstance(error, OSError) else None)


def _words(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


class CaptureWriter:
    """A growing capture file: each call hands its lines to the operating system before it returns.

    Raises StoreError on disk errors; everything written before stays readable.
    """

    def __init__(self, file: RawIOBase, path: Path, header: Header) -> None:
        self._file = file
        self._path = path
        self.size = 0
        """Bytes of all writes that succeeded; a failed one may have left a part of a line behind them."""
        self._write(header_line(header))

    def write(self, events: Sequence[Event]) -> None:
        """Append events that arrived together."""
        if events:
            self._write("\n".join(map(event_line, events)))

    def end(self, end: End) -> None:
        """Append how the connection ended, and close the file; raises StoreError for one that was removed."""
        if self._removed():
            raise StoreError(
                f"{self._path}: was removed while it was being written; keep the folder until the end",
                errno=errno.ENOENT,
            )
        self._write(end_line(end))
        self.close()

    def content(self) -> bytes:
        """What was written, also of a file that was removed since; raises StoreError."""
        try:
            self._file.seek(0)
            return self._file.read(self.size) or b""
        except (OSError, ValueError) as error:
            raise _refused(self._path, error) from error

    def close(self) -> None:
        """Close the file; without `end` before, how the stream ended stays unknown."""
        try:
            self._file.close()
        except OSError as error:
            raise _refused(self._path, error) from error

    def _removed(self) -> bool:
        try:
            return os.fstat(self._file.fileno()).st_nlink == 0
        except (OSError, ValueError):  # not a file of a file system
            return False

    def _write(self, lines: str) -> None:
        unwritten = memoryview(lines.encode("ascii") + b"\n")
        size = len(unwritten)
        try:
            # The file has no buffer: what a full disk refuses must not be tried again when it is closed.
            while unwritten:
                unwritten = unwritten[self._file.write(unwritten) :]
        except (OSError, ValueError) as error:  # ValueError: the file is closed
            raise _refused(self._path, error) from error
        self.size += size

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_writer(path: Path | str, header: Header) -> CaptureWriter:
    """A new capture file with its header line; raises StoreError if it exists or cannot be written."""
    target = Path(path)
    if target.suffix in {".gz", ".zst"}:
        raise StoreError(
            f"{target}: a recording cannot be compressed while it grows; use a name that ends in .jsonl"
        )
    try:
        file: RawIOBase = open(target, "x+b", buffering=0, opener=_private)  # noqa: SIM115 -- the writer's
    except FileExistsError as error:
        words = f"{target}: file already exists; choose another name"
        raise StoreError(words, errno=error.errno) from error
    except (OSError, ValueError) as error:
        raise _refused(target, error) from error
    try:
        return CaptureWriter(file, target, header)
    except BaseException:
        with suppress(OSError):
            file.close()
        _remove(target)  # without its header it is no capture, and would only block the name
        raise
