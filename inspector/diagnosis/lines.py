"""One line of a log, a traceback or client output: what it is, without prefix and colours. No memory."""

import re
from collections.abc import Iterator
from typing import IO, Final, NamedTuple

from inspector.diagnosis.anchors import Anchor
from inspector.engines import ENGINES
from inspector.engines import versions_in as engine_versions
from inspector.wire.endpoints import ASKED

__all__ = [
    "LONGEST",
    "anchor_of",
    "exception_of",
    "lines_of_file",
    "minute_of",
    "request_of",
    "split",
    "uncoloured",
    "versions_in",
]

LONGEST: Final = 8192
"""Characters of a line that are looked at; prompts in logs can be far longer."""

_READ_AT_ONCE: Final = 1 << 16

_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_PREFIX: Final = re.compile(
    r"(?:\([^()]{1,60}\) )?"
    r"(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL)?:?\s*"
    r"(?:\d\d-\d\d \d\d:\d\d:\d\d )?"
    r"(?:\[(?P<file>[^\[\]\s]{1,120}):(?P<line>\d{1,6})\] ?)?"
)
_MINUTE: Final = re.compile(r"(?<!\d)(?:\d{4}-)?\d\d-\d\d[ T]\d\d:\d\d(?=:\d\d)")
_MINUTE_WITHIN: Final = 160
_FRAME: Final = re.compile(r'\s*File "(?P<file>[^"]{1,400})", line (?P<line>\d{1,6})')
_EXCEPTION: Final = re.compile(r"(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*(?:Error|Exception|Interrupt|Exit)(?:: .*)?$")
_REQUEST: Final = re.compile(
    rf'"POST (?P<path>(?:{"|".join(spec.full_path for spec in ASKED)}))[^"]{{0,200}}" (?P<status>\d{{3}})'
)
_VERSION_WORDS: Final = tuple({word for engine in ENGINES for word in engine.version_words})


class Split(NamedTuple):
    """A line without its log prefix."""

    rest: str
    level: str
    anchor: Anchor | None
    """File and line that the log prefix names."""


def uncoloured(line: str) -> str:
    """A line without the terminal's colours."""
    return _COLOUR.sub("", line) if "\x1b" in line else line


def split(line: str) -> Split:
    """A line's prefix and what follows it, colours removed."""
    line = uncoloured(line)
    found = _PREFIX.match(line)
    if found is None or not found.end():
        return Split(line, "", None)
    place = Anchor(found["file"], int(found["line"])) if found["file"] else None
    return Split(line[found.end() :], found["level"] or "", place)


def minute_of(line: str) -> str:
    """The time of a line to the minute, as the line writes it; empty when it has none."""
    # Every line is asked: look for "-DD HH:" by hand and leave the rest to the expression.
    dash = line.find("-", 2, _MINUTE_WITHIN)
    while dash >= 0:
        if line[dash + 6 : dash + 7] == ":" and line[dash + 3] in " T":
            start = dash - 7 if line[dash - 3 : dash - 2] == "-" else dash - 2
            if found := _MINUTE.match(line, max(start, 0)):
                return found[0].replace("T", " ")
        dash = line.find("-", dash + 1, _MINUTE_WITHIN)
    return ""


def anchor_of(rest: str) -> Anchor | None:
    """File and line of a traceback's frame."""
    found = _FRAME.match(rest)
    return Anchor(found["file"], int(found["line"])) if found else None


def exception_of(rest: str) -> str:
    """The line if it is a traceback's last one, `SomeError: words`; else empty."""
    return rest if _EXCEPTION.match(rest) else ""


def request_of(line: str) -> tuple[str, int] | None:
    """Path and status of a line of the access log; None for other lines and other paths."""
    if '"POST /v1/' not in line:
        return None
    found = _REQUEST.search(line)
    return (found["path"], int(found["status"])) if found else None


def versions_in(line: str) -> Iterator[tuple[str, str]]:
    """Versions of servers that a line tells, with what tells them, best first."""
    if any(word in line for word in _VERSION_WORDS):
        yield from engine_versions(line)


def lines_of_file(file: IO[bytes]) -> Iterator[str]:
    """Lines of a file of any size, one longer than 64 KiB in pieces; undecodable bytes become U+FFFD."""
    while piece := file.readline(_READ_AT_ONCE):
        yield piece.decode("utf-8", "replace")
