"""What an importer is, and what it gets: the content of a file.

Each file format is one module with `sniff` and `read`, and one row of `table`. The rows are asked in their
order; the first whose `sniff` is true reads the file, and nothing else decides.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from inspector.capture.bounds import TOKENS, over
from inspector.capture.capture import Capture, Endpoint
from inspector.capture.errors import CaptureError
from inspector.files.importers.payloads import loads

JSON: Final = rb"\{|\[(?![0-9]{1,4}[-/:][0-9]|(?!null\]|true\]|false\]|NaN\])[A-Za-z][\w .-]*\])"
"""How a JSON object or array begins, and no line of a log with a time or a level in brackets."""
_JSON: Final = re.compile(rb"\s*(?:%b)" % JSON)
_LEFT_OUT: Final = re.compile(rb"^[ \t>]*(?:\[?\.{3,}\]?|\xe2\x80\xa6)[ \t]*\r?$", re.MULTILINE)
"""A line that stands for others; text of a model has its line feeds as escapes in all that is streamed."""
_NUMERIC: Final = b"0123456789+-,; \t\r\n[]()"
_HEAD: Final = 65536
_MAGIC: Final = {
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"RIFF": "an image or audio file",
    b"%PDF": "a PDF document",
    b"PK\x03\x04": "a ZIP archive; extract it first, or use",
    b"\x1f\x8b": "a gzip file inside another file; decompress it first, or use",
    b"\x28\xb5\x2f\xfd": "a zstd file inside another file; decompress it first, or use",
    b"BZh": "a bzip2 file; decompress it first, or use",
    b"\xfd7zXZ\x00": "an xz file; decompress it first, or use",
    b"SQLite format 3": "a database",
    b"\x7fELF": "a program",
    b"PAR1": "a Parquet file, which the commands lint and rollout read",
}


class Content:
    """The bytes of a file in UTF-8; every importer asks the same value, so JSON is parsed at most once."""

    def __init__(self, data: bytes, name: str, formats: str) -> None:
        self.data = data
        """Without a byte order mark."""
        self.name = name
        """The file, for errors."""
        self._formats = formats
        """The supported formats, for errors."""

    @cached_property
    def begins_as_json(self) -> bool:
        """True if it begins as a JSON object or array does, valid or not."""
        return _JSON.match(self.data) is not None

    @cached_property
    def is_numeric(self) -> bool:
        """True if it has only numbers and separators."""
        return not self.data[:4096].translate(None, _NUMERIC) and not self.data.translate(None, _NUMERIC)

    @property
    def is_shortened(self) -> bool:
        """True if a line of it stands for lines that its author left out."""
        return _LEFT_OUT.search(self.data) is not None

    @property
    def has_too_many_numbers(self) -> bool:
        """True for numbers that are not worth parsing, as there are more than are read."""
        return self.data.count(b",", 0, 64 * TOKENS) > TOKENS and self.is_numeric

    @cached_property
    def is_text(self) -> bool:
        """True for what is neither JSON nor binary: a log, a terminal's output."""
        return not self.begins_as_json and not self.data.startswith(tuple(_MAGIC)) and self.nul_at < 0

    @property
    def nul_at(self) -> int:
        """The first NUL byte of the head; -1 if there is none."""
        return self.data.find(b"\x00", 0, _HEAD)

    @cached_property
    def _parsed(self) -> object:
        try:
            if self.has_too_many_numbers:
                return CaptureError(self.name, over(TOKENS, "token IDs"))
            return loads(self.data, self.name)
        except CaptureError as error:
            return error

    @property
    def json_error(self) -> CaptureError | None:
        """Why content that begins as JSON does not parse."""
        return self._parsed if self.begins_as_json and isinstance(self._parsed, CaptureError) else None

    @property
    def items(self) -> list[object] | None:
        """The JSON array; None for anything else."""
        return self._parsed if self.begins_as_json and isinstance(self._parsed, list) else None

    @property
    def row(self) -> Mapping[str, object]:
        """The JSON object; empty for anything else."""
        return self._parsed if self.begins_as_json and isinstance(self._parsed, dict) else {}

    def part(self, data: bytes) -> "Content":
        """A part of it, as another importer reads it."""
        return Content(data, self.name, self._formats)

    def unsupported(self, why: str) -> CaptureError:
        """An error that names the supported formats."""
        return CaptureError(self.name, f"{why}; use {self._formats}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Importer:
    """One file format: a row of `table`."""

    name: str
    """Its key, unique in the table."""
    label: str
    """What error messages and help call it, such as `a HAR file`; empty for a variant of another row."""
    files: str
    """The files, in Markdown: the row of the docs."""
    becomes: str
    """What a file of it is read as, in Markdown."""
    suffixes: tuple[str, ...] = ()
    """Usual suffixes, for the docs: only the content decides."""
    begins: bytes = b""
    """A pattern of its first bytes behind white space, for code that has only the head of a file and asks
    whether it may be a capture; empty for a format that begins as any text may."""
    by_lines: bool = False
    """Whether people leave out lines of such a file and write dots for them."""
    sniff: Callable[[Content], bool]
    """Whether content has this format, valid or damaged; called only if no row above it has said so."""
    read: Callable[[Content], list[Capture]]
    """The captures, one or more; raises CaptureError."""


def read_as(importer: Importer, content: Content) -> list[Capture]:
    """The captures of content that the importer knows; excerpts where lines are left out."""
    captures = importer.read(content)
    if not importer.by_lines or not content.is_shortened:
        return captures
    return [
        capture
        if capture.header.endpoint is Endpoint.TOKENS
        else replace(capture, header=replace(capture.header, excerpt=True))
        for capture in captures
    ]


def refuse_binary(data: bytes, name: str, formats: str) -> None:
    """Raise CaptureError for images, archives and the like; `formats` names the supported formats."""
    for magic, words in _MAGIC.items():
        if data.startswith(magic):
            joint = "" if words.endswith("use") else "; use"
            raise CaptureError(name, f"this is {words}{joint} {formats}")
