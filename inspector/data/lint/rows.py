"""The rows of a data set or an evaluation log, one at a time: JSON Lines, JSON, Parquet, Inspect's `.eval`.

Memory does not grow with a file of JSON Lines (also compressed), of Parquet or of Inspect: one row or one
batch is held. A file that is one JSON document has to be read whole, so its size is bounded.
"""

import io
import json
import lzma
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, cast

import zstandard

from inspector.capture.errors import CaptureError, InspectorError
from inspector.files.compression import HEAD, decompress
from inspector.files.store import disk_errors, read_at_most
from inspector.protocol.harmony.vocab import Marker
from inspector.protocol.wire.stream import loads

ROW_BYTES: Final = 64 * 2**20
"""Size of one row, and of a file that is one JSON document."""

_PARQUET: Final = b"PAR1"
_ZIP: Final = b"PK\x03\x04"
_START: Final = Marker.START.text.encode()
_TEXT: Final = "text"
"""The column of a file that is one text."""
_BATCH: Final = 32
"""LintRows of a Parquet file that are held at a time."""
_STEP: Final = 4096
"""Packed bytes that are expanded at a time."""
_ZSTD: Final = 93
"""The number of zstd among the compressions of zip."""
_ZSTD_STEP: Final = 1024  # a zstd block of 4 bytes stands for up to 128 KiB
_WINDOW_BYTES: Final = 2**27
_ENCRYPTED: Final = 1
_NESTED_AT_MOST: Final = 500
"""Levels of a row; what walks one has less than a thousand, of which callers have some."""
_TOO_DEEP: Final = "it nests too deeply"
_LOCAL: Final = struct.Struct("<26xHH")
"""The header before a member, with the lengths of its name and extra field."""
_NOT_UNPACKED: Final = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    zstandard.ZstdError,
    NotImplementedError,
    EOFError,
    OSError,
    RuntimeError,
    ValueError,
)
"""What a damaged or encrypted member raises."""
_NO_VALUE: Final = (ValueError, OverflowError)
"""What Arrow raises for a value that Python cannot hold, such as text that is not UTF-8."""
_MISSING: Final = (
    'Parquet needs pyarrow; install it with: pip install "harmony-inspector[scan]"'
    ", in a checkout pip install -r requirements.txt"
)


@dataclass(frozen=True, slots=True)
class LintRow:
    """One row; `values` is None where it cannot be read, and `problem` says why."""

    number: int
    """From 1; the line of a file of JSON Lines."""
    values: Mapping[str, Any] | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class LintTable:
    """A file as rows."""

    name: str
    format: str
    """What it was read as, in words."""
    rows: Iterator[LintRow]


@contextmanager
def open_table(path: Path | str) -> Iterator[LintTable]:
    """Open a file; `-` is standard input.

    Raises StoreError if it cannot be read, CaptureError if it is not a table, InspectorError without pyarrow.
    """
    name = str(path)
    if name == "-":
        yield table_of(cast("io.BufferedReader[Any]", sys.stdin.buffer), "standard input")
        return
    with _opened(path) as file:
        yield table_of(file, name)


def _opened(path: Path | str) -> "io.BufferedReader[Any]":
    with disk_errors(path):
        return Path(path).open("rb")


def table_of(file: "io.BufferedReader[Any]", name: str) -> LintTable:
    """The rows of an open file; `name` is for errors."""
    head = file.peek(len(_PARQUET))
    if head.startswith((_PARQUET, _ZIP)) and not file.seekable():
        raise CaptureError(
            name, "is Parquet or a zip archive, which cannot be read from a pipe; pass its path"
        )
    if head.startswith(_PARQUET):
        return LintTable(name, "Parquet", _parquet(file, name))
    if head.startswith(_ZIP):
        return LintTable(name, "an Inspect log", _inspect(file, name))
    plain = decompress(file, name)
    head = plain.peek(HEAD).lstrip(b"\xef\xbb\xbf \t\r\n")
    if head.startswith(_START):
        return LintTable(name, "Harmony text", iter((_text(plain, name),)))
    if _is_document(head):
        return LintTable(name, "JSON", _document(plain, name))
    return LintTable(name, "JSON Lines", _lines(plain, name))


def _text(file: IO[bytes], name: str) -> LintRow:
    """A rendered prompt or conversation as one row."""
    with disk_errors(name):
        content = read_at_most(file, ROW_BYTES + 1)
    if len(content) > ROW_BYTES:
        return LintRow(1, None, f"it is larger than {ROW_BYTES // 2**20} MiB")
    return LintRow(1, {_TEXT: content.decode("utf-8-sig", "replace").strip("\r\n")})


def _is_document(head: bytes) -> bool:
    """True for a JSON array or an object that is written over several lines."""
    first, newline, _ = head.partition(b"\n")
    if first.startswith(b"["):
        return True
    return bool(newline) and first.strip() == b"{"


def _lines(file: IO[bytes], name: str) -> Iterator[LintRow]:
    number = 0
    while True:
        with disk_errors(name):
            line = file.readline(ROW_BYTES + 1)
        if not line:
            return
        number += 1
        if len(line) > ROW_BYTES:
            while line and not line.endswith(b"\n"):
                line = file.readline(ROW_BYTES)
            yield LintRow(number, None, f"it is larger than {ROW_BYTES // 2**20} MiB")
        elif line.strip():
            yield _row(number, line.decode("utf-8-sig" if number == 1 else "utf-8", "replace"))


def _row(number: int, text: str) -> LintRow:
    try:
        values = json.loads(text)
    except ValueError as error:
        return LintRow(number, None, f"it is not valid JSON ({error})")
    except RecursionError:
        return LintRow(number, None, _TOO_DEEP)
    return _of_value(number, values)


def _of_value(number: int, values: object) -> LintRow:
    if not isinstance(values, dict):
        return LintRow(number, None, f"it is not a JSON object but {_kind(values)}")
    if _nests_deeply(values):
        return LintRow(number, None, _TOO_DEEP)
    return LintRow(number, values)


def _nests_deeply(value: object) -> bool:
    """True for what is decoded, but deeper than what walks a row: from Python 3.12 on, ten times."""
    level: list[Any] = [value]
    for _ in range(_NESTED_AT_MOST):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True


def _kind(value: object) -> str:
    return {list: "an array", str: "a string", type(None): "null"}.get(type(value), "a number or a boolean")


def _document(file: IO[bytes], name: str) -> Iterator[LintRow]:
    """The elements of an array, or the samples of an Inspect log in JSON."""
    content = read_at_most(file, ROW_BYTES + 1)
    if len(content) > ROW_BYTES:
        raise CaptureError(
            name,
            f"is one JSON document of more than {ROW_BYTES // 2**20} MiB; "
            "write it as JSON Lines, one object per line",
        )
    text = content.decode("utf-8-sig", "replace")
    if (value := loads(text)) is None:
        value = _lenient(text)
    if isinstance(value, dict):
        samples = value.get("samples")
        value = samples if isinstance(samples, list) else [value]
    if not isinstance(value, list):
        raise CaptureError(name, "is not valid JSON; save it again, or write one JSON object per line")
    return (_of_value(number, item) for number, item in enumerate(value, 1))


def _lenient(text: str) -> Any:
    """The value of JSON with raw line breaks in its strings, as written by hand; None for any other."""
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None


def _inspect(file: IO[bytes], name: str) -> Iterator[LintRow]:
    """The samples of Inspect's `.eval`, a zip archive."""
    try:
        archive = zipfile.ZipFile(file)
        members = [member for member in archive.infolist() if _is_sample(member.filename)]
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OverflowError, OSError) as error:
        raise CaptureError(name, f"the zip archive is damaged ({error}); save it again") from error
    if not members:
        raise CaptureError(name, "is a zip archive without samples of Inspect; unpack it and pass its files")
    return _samples(archive, members)


def _is_sample(member: str) -> bool:
    return member.startswith("samples/") and member.endswith(".json")


def _samples(archive: zipfile.ZipFile, members: list[zipfile.ZipInfo]) -> Iterator[LintRow]:
    for number, member in enumerate(members, 1):
        try:
            if member.compress_type == _ZSTD:
                content = _unpacked_zstd(archive, member)
            else:
                with archive.open(member) as file:
                    content = _unpacked(file, member)
        except _NOT_UNPACKED as error:
            yield LintRow(number, None, f"it cannot be unpacked ({error})")
            continue
        if len(content) > ROW_BYTES:
            yield LintRow(number, None, f"it is larger than {ROW_BYTES // 2**20} MiB")
        else:
            yield _row(number, content.decode("utf-8-sig", "replace"))


def _unpacked(file: IO[bytes], member: zipfile.ZipInfo) -> bytes:
    """The bytes of a member, at most one more than a row may have."""
    if member.compress_type in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        return read_at_most(file, ROW_BYTES + 1)
    content = bytearray()
    while len(content) <= ROW_BYTES and (piece := file.read(_STEP)):  # more is expanded than is asked for
        content += piece
    return bytes(content)


def _unpacked_zstd(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """The same for zstd, Inspect's default, which Python's `zipfile` reads from 3.14 on."""
    file = archive.fp
    if file is None or member.flag_bits & _ENCRYPTED:
        raise zipfile.BadZipFile("it is encrypted")
    file.seek(member.header_offset)
    header = file.read(_LOCAL.size)
    if len(header) < _LOCAL.size or not header.startswith(_ZIP):
        raise zipfile.BadZipFile("its header is damaged")
    file.seek(sum(_LOCAL.unpack(header)), io.SEEK_CUR)
    unpacker = zstandard.ZstdDecompressor(max_window_size=_WINDOW_BYTES).decompressobj()
    content, left = bytearray(), member.compress_size
    while left > 0 and len(content) <= ROW_BYTES and (piece := file.read(min(_ZSTD_STEP, left))):
        left -= len(piece)
        content += unpacker.decompress(piece)
    if len(content) <= ROW_BYTES and zlib.crc32(content) != member.CRC:
        raise zipfile.BadZipFile("its checksum is wrong")
    return bytes(content)


def _parquet(file: IO[bytes], name: str) -> Iterator[LintRow]:
    number = 0
    for batch in _batches(file, name):
        try:
            rows = [LintRow(number + place, values) for place, values in enumerate(batch.to_pylist(), 1)]
        except _NO_VALUE:
            rows = [_row_of(number + place + 1, batch.slice(place, 1)) for place in range(batch.num_rows)]
        yield from rows
        number += len(rows)


def _row_of(number: int, batch: Any) -> LintRow:
    try:
        return LintRow(number, batch.to_pylist()[0])
    except _NO_VALUE as error:
        return LintRow(number, None, f"it has a value that cannot be read ({error})")


def _batches(file: IO[bytes], name: str) -> Iterator[Any]:
    """Batches of rows without times, which are not checked: some are beyond what Python's types hold."""
    try:
        import pyarrow as pa  # noqa: PLC0415 -- an extra
        from pyarrow import parquet  # noqa: PLC0415
    except ImportError as error:
        raise InspectorError(f"{name}: {_MISSING}") from error
    try:
        # Without `pre_buffer` a batch needs its own pages only.
        table = parquet.ParquetFile(file, pre_buffer=False)
        kept = [
            place for place, field in enumerate(table.schema_arrow) if not pa.types.is_temporal(field.type)
        ]
        for batch in table.iter_batches(batch_size=_BATCH):
            yield batch.select(kept)
    except (pa.ArrowException, OSError) as error:
        raise CaptureError(name, f"the Parquet file is damaged ({error}); save it again") from error
