"""What a terminal showed: an event stream or HTTP headers behind prompts, progress and other lines."""

import re
from typing import Final

from inspector.capture.capture import Capture
from inspector.files.importers.dumps import read_dump
from inspector.files.importers.importer import Content, Importer

_HEAD: Final = 65536
_STREAM: Final = re.compile(rb"[\r\n](?:HTTP/[0-9.]+ [0-9]{3}|(?:data|event): ?[\[{a-z])")


def sniff(content: Content) -> bool:
    """True if a line of the head begins as a stream or as HTTP headers do."""
    return content.is_text and _STREAM.search(content.data, 0, _HEAD) is not None


def read(content: Content) -> list[Capture]:
    """The responses from that line on."""
    stream = _STREAM.search(content.data, 0, _HEAD)
    return read_dump(content.data[stream.start() + 1 :] if stream else content.data, content)


TERMINAL: Final = Importer(
    name="terminal",
    label="",
    files="a terminal's text in which output of `curl -N` follows other lines",
    becomes="the same as the output alone",
    suffixes=(".txt", ".log"),
    sniff=sniff,
    read=read,
)
