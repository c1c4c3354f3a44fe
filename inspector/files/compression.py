"""A log as it is, or decompressed by content (gzip, zstd) while it is read; memory does not grow with it."""

import gzip
import io
import zlib
from typing import IO, Any, Final, cast

import zstandard

from inspector.capture.errors import StoreError
from inspector.files.importers import refuse_binary

HEAD: Final = 65536
"""Bytes that may be looked at ahead."""

_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_DEEP: Final = 3
"""Compressions within each other that are taken off."""
_WINDOW_BYTES: Final = 2**27
"""zstd's own bound for `--long=27`: a file cannot ask for more memory."""


def decompress(file: "io.BufferedReader[Any]", name: str) -> "io.BufferedReader[Any]":
    """The file, or a reader of what it decompresses to.

    Raises CaptureError for a picture, an archive and the like; reading raises StoreError where a packed
    file is damaged.
    """
    for _ in range(_DEEP):
        head = file.peek(HEAD)
        if head.startswith(_GZIP):
            file = io.BufferedReader(
                _Decompressing(cast(IO[bytes], gzip.GzipFile(fileobj=file)), name, "gzip"), HEAD
            )
        elif head.startswith(_ZSTD):
            decompressor = zstandard.ZstdDecompressor(max_window_size=_WINDOW_BYTES)
            file = io.BufferedReader(
                _Decompressing(decompressor.stream_reader(file, read_across_frames=True), name, "zstd"), HEAD
            )
        else:
            break
    refuse_binary(file.peek(HEAD), name, "an error message, a traceback, a vLLM log or a capture")
    return file


class _Decompressing(io.RawIOBase):
    def __init__(self, inner: IO[bytes], name: str, kind: str) -> None:
        self._inner = inner
        self._name = name
        self._kind = kind

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            piece = self._inner.read(len(buffer))
        except (EOFError, gzip.BadGzipFile, zlib.error, zstandard.ZstdError) as error:
            raise StoreError(
                f"{self._name}: the {self._kind} file is damaged ({error}); save it again"
            ) from error
        buffer[: len(piece)] = piece
        return len(piece)
