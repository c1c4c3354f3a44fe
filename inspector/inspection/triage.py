"""Decides whether a file or pasted text is a capture or plain text, and diagnoses it.

The `diagnose` command and the Diagnose page both start here, so they give the same result for the same bytes.
"""

import io
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Final

from inspector.analysis.reading import read
from inspector.capture.capture import Capture
from inspector.capture.errors import CaptureError, InspectorError
from inspector.files.compression import HEAD, decompress
from inspector.files.importers import BEGINS
from inspector.files.store import LIMIT_BYTES, loads_all
from inspector.inspection.inspection import diagnose, examine
from inspector.issues import Because, Diagnosis, DiagnosisOutcome
from inspector.issues.catalogue.issue import Confidence
from inspector.issues.texts.diagnose import diagnose_text
from inspector.issues.texts.lines import lines_of_file
from inspector.protocol.engines import DEFAULT
from inspector.protocol.harmony.markup import markup_in

FOREIGN_LIMIT: Final = 64 * 2**20
"""A larger file is treated as a log, even if it begins like JSON or an event stream."""
_HEAD: Final = 2**16
_OWN: Final = b'"harmony_capture"'
_TEXT_LIMIT: Final = 64 * 2**10
"""Up to so many bytes are one response, whose own text may show what no finding explains, or a text that a
person pasted, which may quote one."""
_FIELD: Final = re.compile(
    r"(?<![\w-])(?P<key>content|reasoning_content|reasoning)\\?[\"']?\s?[:=]\s?\\?"
    r"(?P<quote>[\"'])(?P<text>(?:\\.|(?!(?P=quote))[^\\])*)"
)
"""A delivered text as JSON or Python prints it."""


def may_be_capture(head: bytes) -> bool:
    """True if bytes begin like a capture, or like another file with a response."""
    return BEGINS.match(head) is not None


def most_bytes(head: bytes) -> int:
    """How large a file may be to be read as a capture."""
    return LIMIT_BYTES if _OWN in head[:_HEAD] else FOREIGN_LIMIT


def is_log(content: bytes, name: str) -> bool:
    """True for a text that is no capture, as logs are; also compressed."""
    try:
        head = decompress(io.BufferedReader(io.BytesIO(content)), name).peek(HEAD)[:_HEAD]
    except InspectorError:
        return False
    return bool(head.strip()) and b"\0" not in head and not may_be_capture(head)


def of_content(content: bytes, name: str) -> tuple[Diagnosis, Capture | None]:
    """The diagnosis of bytes, and the capture that it rests on, if they are one or quote one.

    Raises:
        CaptureError: for a capture that cannot be read, and for several in one file.
    """
    capture = _capture(content, name)
    if capture is None:
        return of_lines(lines_of_file(io.BytesIO(content)), name)
    reading = read(capture)
    examined = examine(reading)
    diagnosis = diagnose(examined)
    events = [event.data for event in reading.events]
    if not any(choice.tokens or choice.deltas for choice in reading.choices) and not diagnosis.answers:
        if _OWN not in content[:_HEAD]:
            return _of_text(content), None  # the error of a server, as somebody saved it
        return diagnose_text(events) if examined.findings else diagnosis, capture
    if len(content) <= _TEXT_LIMIT and (not diagnosis.settled or _vague(diagnosis)):
        by_text = diagnose_text(events)
        if by_text.outcome is DiagnosisOutcome.KNOWN and _by_message(by_text):
            return by_text, capture
    return diagnosis, capture


def _of_text(content: bytes) -> Diagnosis:
    return diagnose_text(lines_of_file(io.BytesIO(content)))


def of_lines(lines: Iterable[str], name: str) -> tuple[Diagnosis, Capture | None]:
    """The diagnosis of a text; where no message in it has a cause, that of the faulty response it quotes."""
    head = _Head(lines)
    by_text = diagnose_text(head)
    if head.text is None or by_text.outcome is DiagnosisOutcome.KNOWN:
        return by_text, None
    faulty = []
    for quoted in _quoted(head.text, name):
        capture = _served_by(quoted, by_text.version)
        diagnosis = diagnose(examine(read(capture)))
        if diagnosis.outcome is DiagnosisOutcome.KNOWN:
            return diagnosis, capture
        if diagnosis.failures:
            faulty.append((diagnosis, capture))
    return faulty[0] if faulty and not by_text.failures else (by_text, None)


class _Head:
    """Lines, of which those of a short text are kept."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = lines
        self.text: str | None = ""
        """The text that was read so far; None for a long one."""

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            if self.text is not None:
                self.text = self.text + line if len(self.text) + len(line) <= _TEXT_LIMIT else None
            yield line


def _served_by(capture: Capture, version: str | None) -> Capture:
    """A capture with the release that the text around it names, if it names none itself."""
    header = capture.header
    if version is None or header.owned_by or header.server_version:
        return capture
    return replace(capture, header=replace(header, server_version=version, owned_by=DEFAULT.owners[0]))


def _quoted(text: str, name: str) -> Iterator[Capture]:
    """The responses in a text: those in its blocks, then single fields with Harmony in them."""
    with suppress(CaptureError):
        yield from loads_all(text, name)
    blocks = []
    for field in _FIELD.finditer(text):
        delivered = field["text"].replace("\\n", "\n").replace('\\"', '"')
        if markup_in(delivered) is not None:
            message = {"role": "assistant", field["key"]: delivered}
            body = {"object": "chat.completion", "choices": [{"index": 0, "message": message}]}
            blocks.append(json.dumps(body).encode())
    for block in blocks:
        try:
            capture = _capture(block, name)
        except CaptureError:
            continue
        if capture is not None:
            yield capture


def _vague(diagnosis: Diagnosis) -> bool:
    """Whether the findings lead only to an issue that wraps others, and not for certain."""
    first = next(iter(diagnosis.answers), None)
    return first is not None and first.issue.general and first.match is Confidence.LOW


def _by_message(diagnosis: Diagnosis) -> bool:
    return any(reason.because is Because.MESSAGE for reason in diagnosis.answers[0].reasons)


def _capture(content: bytes, name: str) -> Capture | None:
    """The capture in bytes; None if there is none."""
    if not may_be_capture(content[:_HEAD]) or len(content) > most_bytes(content):
        return None
    try:
        captures = loads_all(content, name)
    except CaptureError:
        if _OWN in content[:_HEAD]:
            raise
        return None
    if len(captures) != 1:
        raise CaptureError(
            name, f"contains {len(captures)} captures, but diagnose takes one; use audit for all of them"
        )
    return captures[0]
