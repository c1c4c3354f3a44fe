"""One line of a log, a traceback or client output: what it is, without prefix and colours. No memory."""

import codecs
import re
from collections.abc import Iterator
from typing import IO, Final, NamedTuple

from inspector.issues.texts.anchors import Anchor
from inspector.issues.texts.cleanup import uncoloured, unshipped
from inspector.protocol.engines import ENGINES
from inspector.protocol.engines import versions_in as engine_versions
from inspector.protocol.wire.endpoints import ASKED

LONGEST: Final = 8192
"""Characters of a line that are looked at; prompts in logs can be far longer."""

_READ_AT_ONCE: Final = 1 << 16
_MARKS: Final = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"),
)
_LOOKED_AT: Final = 1024
_LEAST: Final = 8

_PREFIX: Final = re.compile(
    r"(?:\([^()]{1,60}\) )?"
    r"(?P<level>DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL)?:?\s*"
    r"(?:\d\d-\d\d \d\d:\d\d:\d\d )?"
    r"(?:\[?(?P<file>[^\[\]\s]{1,120}\.py):(?P<line>\d{1,6})\] ?)?"
)
_LEVEL: Final = re.compile(
    r"[^\n]{0,120}?(?:"
    r"(?:^|[\s\[|(<\"':\-])(?P<level>DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL)(?=[\s\])|>:\"',\-]|$)"
    r"|(?:\[|level=\"?|\"level\": ?\"|[|] ?| - )(?P<small>debug|info|warning|warn|error|fatal)"
    r"(?=[\s\]\"|]|$))"
)
"""The level in other programs' logs: `2026-02-03 10:41:22 - httpx - INFO - ...`, `[debug]`, `level=error`."""
_GLOG: Final = re.compile(
    r"(?:\([^()]{1,60}\) )?\[?[WID](?:\d{4}[ \]]|\d{0,4} ?\w{1,40}\.cpp)|.{0,200}\b\w{3,40}Warning: "
)
"""Warnings of PyTorch's C++ parts, and those of Python."""
_PREFIXES: Final = tuple(engine.prefix for engine in ENGINES if engine.prefix is not None)
_PROCESS_WITHIN: Final = 200
_MINUTE: Final = re.compile(r"(?<!\d)(?:\d{4}-)?\d\d-\d\d[ T]\d\d:\d\d(?=:\d\d)")
_MINUTE_WITHIN: Final = 160
_FRAME: Final = re.compile(r'\s*File "(?P<file>[^"]{1,400})", line (?P<line>\d{1,6})')
_CELL_FRAME: Final = re.compile(
    r"\s*File (?P<file>[~/\w][^\s:\"]{1,400}\.py):(?P<line>\d{1,6})(?:, in |\s*$)"
)
"""The same in a notebook."""
_EXCEPTION: Final = re.compile(
    r"(?:[A-Za-z_]\w{0,80}\.){0,12}[A-Za-z_]\w{0,80}(?:Error|Exception|Interrupt|Exit"
    r"|Warning(?=: .*[Ee]rror)|Failure)"
    r"(?:\[\w{1,20}\])?(?:: .*|:)?$"
)
_RAISED: Final = re.compile(
    r"(?<![\w.])(?:[A-Za-z_]\w{0,80}\.){0,12}[A-Z]\w{0,80}(?:Error"
    r"|Exception)(?:\[\w{1,20}\])?(?:: ?\S.*|\(['\"].*|:?$)"
)
"""An exception within a line: after a prompt, a prefix, "raise" or a client's own words."""
_ERROR: Final = re.compile(
    r"(?i)(?<![\w-])(?:fatal(?: error)?|error|panic|npm err!|exception|uncaught|unhandled"
    r"|\[e\])(?:\[\w{1,20}\])?"
    r"\s?(?:[:!(=](?!\s?(?:null|none|no\b|0\b|false|''|\"\"))|code\b|rendering|while|response|message"
    r"|in |sending|loading|during|when|from)"
    r"|\[error\]|(?<![\w-])E\]\s|\[E(?:\d{4} [\d:.]+)? ?\w{3,40}\.cpp|\bbuild (?:stopped|failed)\b"
    r"|\berror code:? ?\d{3}|\b(?:status(?: ?code)?|http(?:/[\d.]{1,3})?"
    r"|code)[\"']?[:= ]{1,3}[\"']?[45]\d\d\b|\bhttp [45]\d\d\b"
    r"|\b[45]\d\d \(?(?:bad request|internal server error|not found|unauthorized|forbidden"
    r"|not implemented|bad gateway"
    r"|service unavailable|gateway time-?out|unprocessable|method not allowed|too many requests|status code)"
    r"|\|\s{0,3}[45]\d\d\s{0,3}\||\binternal server error\b|\bbad request\b"
    r"|\bsegmentation fault\b|\bcore dumped\b|\bout of memory\b"
    r"|\"error\"\s?:\s?[{\"\[]|'error': ?[{'\[]|\bbacktrace\b|\bcrashed\b|\bcrashes\b"
    r"|\bconnection (?:refused|reset|closed|aborted|error)\b|\btimed out\b|\bprematurely closed\b"
    r"|\bback-?off restarting\b"
    r"|\bauthentication failed\b|\bpermission denied\b|\bno such file\b|\bis not compatible with\b"
    r"|\bunrecognized arguments?\b"
    r"|\binvalid (?:choice|argument|value|json|response|parameter|request)\b|\bnot found in\b"
    r"|\b(?:is|are|was) not (?:supported|valid|allowed|permitted|available|found|installed|a valid)\b"
    r"|\bdoes not exist\b"
    r"|\bassertion failed\b|\bfailed (?:to|with|validation)\b|^\s{0,4}failed\b(?! requests)"
    r"|\bcannot\b.{1,60}\bbecause\b|\bno module named\b"
    r"|\bcommand not found\b|\bunable to (?:locate|find|open|load|connect|parse|resolve)\b|^killed$"
    r"|\bcould not (?:be )?\w+"
    r"|\bnot supported by\b|\bmissing finish[_ ]reason\b|\bunexpected token\b|\bunsupported\b"
    r"|\brefused to connect\b|\bstream (?:disconnected|closed|error)\b|\bdisconnected before\b"
)
_REQUEST: Final = re.compile(
    rf'"POST (?P<path>(?:{"|".join(spec.full_path for spec in ASKED)}))[^"]{{0,200}}" (?P<status>\d{{3}})'
)
_ACCESS: Final = re.compile(
    r'"(?P<verb>[A-Z]{3,7}) (?P<path>/[^" ]{0,200}) HTTP/[\d.]{1,3}" (?P<status>\d{3})\b'
)
_VERSION_WORDS: Final = tuple({word for engine in ENGINES for word in engine.version_words})


class Split(NamedTuple):
    """A line without its log prefix."""

    rest: str
    level: str
    anchor: Anchor | None
    """File and line that the log prefix names."""
    of_server: bool = False
    """Whether the prefix is one that the server's processes write."""


def split(line: str) -> Split:
    """A line's prefix and what follows it, without colours and what shippers put before it."""
    line = uncoloured(line)
    of_server = any(prefix.search(line, 0, _PROCESS_WITHIN) for prefix in _PREFIXES)
    line = unshipped(line)
    match = _PREFIX.match(line)
    if match is None or not match.end():
        return Split(line, "", None, of_server)
    place = Anchor(match["file"], int(match["line"])) if match["file"] else None
    return Split(line[match.end() :], match["level"] or "", place, of_server or place is not None)


def level_of(line: str) -> str:
    """The level that any program's log line names near its start, in upper case; empty for other lines."""
    if _GLOG.match(line):
        return "WARNING"
    match = _LEVEL.match(line)
    return (match["level"] or match["small"]).upper() if match else ""


def minute_of(line: str) -> str:
    """The time of a line to the minute, as the line writes it; empty when it has none."""
    # Every line is asked: look for "-DD HH:" by hand and leave the rest to the expression.
    dash = line.find("-", 2, _MINUTE_WITHIN)
    while dash >= 0:
        if line[dash + 6 : dash + 7] == ":" and line[dash + 3] in " T":
            start = dash - 7 if line[dash - 3 : dash - 2] == "-" else dash - 2
            if match := _MINUTE.match(line, max(start, 0)):
                return match[0].replace("T", " ")
        dash = line.find("-", dash + 1, _MINUTE_WITHIN)
    return ""


def anchor_of(rest: str) -> Anchor | None:
    """File and line of a traceback's frame."""
    frame = _FRAME.match(rest) or _CELL_FRAME.match(rest)
    return Anchor(frame["file"], int(frame["line"])) if frame else None


def exception_of(rest: str) -> str:
    """The line if it is a traceback's last one, `SomeError: words`; else empty."""
    return rest if _EXCEPTION.match(rest) else ""


def error_of(rest: str) -> str:
    """The error in a line of any program: from an exception's name on, or all of it; else empty."""
    if raised := _RAISED.search(rest):
        return raised[0].strip()
    return rest.strip() if _ERROR.search(rest) else ""


def access_of(line: str) -> tuple[str, str, int] | None:
    """Verb, path and status of any line of an access log."""
    if " HTTP/" not in line:
        return None
    match = _ACCESS.search(line)
    return (match["verb"], match["path"], int(match["status"])) if match else None


def request_of(line: str) -> tuple[str, int] | None:
    """Path and status of a line of the access log; None for other lines and other paths."""
    if '"POST /v1/' not in line:
        return None
    match = _REQUEST.search(line)
    return (match["path"], int(match["status"])) if match else None


def versions_in(line: str) -> Iterator[tuple[str, str]]:
    """Versions of servers that a line tells, with what tells them, best first."""
    if any(word in line for word in _VERSION_WORDS):
        yield from engine_versions(line)


def lines_of_file(file: IO[bytes]) -> Iterator[str]:
    """Lines of a file of any size, one longer than 64 KiB in pieces; undecodable bytes become U+FFFD.

    UTF-8, and UTF-16 and UTF-32 with or without a byte order mark (PowerShell's `>` writes UTF-16).
    """
    head = file.readline(_READ_AT_ONCE)
    name = _encoding(head)
    if name == "utf-8":
        while head:
            yield head.decode("utf-8", "replace")
            head = file.readline(_READ_AT_ONCE)
        return
    decoder = codecs.getincrementaldecoder(name)("replace")
    pending = ""
    while head:
        pending += decoder.decode(head)
        *lines, pending = pending.splitlines(keepends=True) or [""]
        yield from lines
        if pending.endswith("\n") or len(pending) > _READ_AT_ONCE:
            yield pending
            pending = ""
        head = file.read(_READ_AT_ONCE)
    pending += decoder.decode(b"", True)
    yield from pending.splitlines(keepends=True)


def _encoding(head: bytes) -> str:
    for mark, name in _MARKS:
        if head.startswith(mark):
            return name
    sample = head[:_LOOKED_AT]
    if len(sample) >= _LEAST:
        even, odd = sample[::2].count(0), sample[1::2].count(0)
        for mostly, rarely, name in ((odd, even, "utf-16-le"), (even, odd, "utf-16-be")):
            if mostly > len(sample) // 4 and rarely < len(sample) // 16:
                return name
    return "utf-8"
