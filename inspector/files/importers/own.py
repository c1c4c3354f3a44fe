"""Captures of this program: lines of JSON whose first line names the format. `capture` parses them."""

import re
from typing import Final

from inspector.capture.capture import Capture, parse_content
from inspector.capture.errors import CaptureError
from inspector.files.importers.importer import Content, Importer
from inspector.files.importers.payloads import is_cut_character

_HEADER: Final = re.compile(rb'\s*\{[^\n]{0,1000000}?"harmony_capture"\s*:')


def sniff(content: Content) -> bool:
    """True if the first line has the key of a capture."""
    return _HEADER.match(content.data) is not None


def read(content: Content) -> list[Capture]:
    """The capture; raises CaptureError for damage that would look like lost tokens."""
    _check_utf8(content.data, content.name)
    return [parse_content(content.data, content.name)]


def _check_utf8(data: bytes, name: str) -> None:
    """Raise CaptureError for bytes that are not UTF-8, unless the file is cut off in its last character."""
    if data.isascii():
        return
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        if not is_cut_character(data, error):
            line = data.count(b"\n", 0, error.start) + 1
            why = f"byte {error.start} is not valid UTF-8; the file is damaged, record it again"
            raise CaptureError(name, why, line=line) from error


OWN: Final = Importer(
    name="capture",
    label="a capture",
    files="a capture of this program (JSONL)",
    becomes="the capture that this page describes",
    suffixes=(".jsonl",),
    begins=rb"\{",
    sniff=sniff,
    read=read,
)
