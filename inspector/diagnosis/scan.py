"""One pass over a text or log: failures counted by message, with their surroundings, in bounded memory.

Nothing is judged here: which lines are failures, what they match, how often and when, and what tells the
server's version. `text` makes answers of it.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Final, NamedTuple

from inspector.diagnosis.anchors import Anchor
from inspector.diagnosis.issue import Issue
from inspector.diagnosis.lines import (
    LONGEST,
    Split,
    anchor_of,
    exception_of,
    minute_of,
    request_of,
    split,
    versions_in,
)
from inspector.diagnosis.timeline import Timeline
from inspector.engines import PACKAGES

__all__ = ["REQUESTS", "Message", "Scan", "VersionSeen"]

REQUESTS: Final = "requests"
"""Name of the requests in the timeline."""

_BEFORE: Final = 8
_AFTER: Final = 3
_SHOWN: Final = 3
"""Occurrences of each message whose surrounding lines are kept."""
_MESSAGES: Final = 300
"""Different messages that are told apart; the rest is counted together."""
_HEAD_LINES: Final = 2000
_HEAD_CHARACTERS: Final = 400_000
_KEY: Final = 300
_ANCHORS: Final = 40
_VERSIONS: Final = 50
_AT_ONCE: Final = 256
_START_UP: Final = ("server version ", "  version ", "LLM engine (v")
"""What a server says of itself when it starts; a log may hold several starts."""
_ALWAYS: Final = ('File "', "Traceback", "Error", "ERROR", "CRITICAL", "Exception", "Interrupt", "Exit")
"""What lines of tracebacks and of failures that no issue makes contain."""


class VersionSeen(NamedTuple):
    """A version that a line tells."""

    version: str
    source: str
    """What tells it: start-up line, system_fingerprint, /version, the text."""
    line: int
    """Line number, from 1."""


@dataclass(slots=True)
class Message:
    """One failure's text with all its occurrences."""

    text: str
    first_line: int
    matched: dict[str, bool] = field(default_factory=dict)
    """Ids of issues that make this text, and whether the text is their own (or one of several issues)."""
    count: int = 0
    last_line: int = 0
    anchors: set[Anchor] = field(default_factory=set)
    """Files and lines of its tracebacks."""
    around: list[list[str]] = field(default_factory=list)
    """Surrounding lines of the first occurrences."""
    by_version: dict[str, int] = field(default_factory=dict)


class _Match(NamedTuple):
    text: str
    issues: tuple[tuple[str, bool], ...]


class Scan:
    """Takes lines; all it keeps is bounded."""

    def __init__(self, issues: Sequence[Issue]) -> None:
        self.messages: dict[str, Message] = {}
        """Failures by text, in order of appearance."""
        self.timeline = Timeline()
        self.versions: list[VersionSeen] = []
        """Versions told, each new one and each change."""
        self.lines = 0
        self.characters = 0
        self.requests: dict[str, int] = {}
        """Requests by path, from the access log."""
        self.refused = 0
        """Requests with an HTTP status of 400 or more."""
        self.stamped = 0
        """Lines with a time."""
        self.head: list[str] = []
        """The first lines."""
        self.frames: set[str] = set()
        """Packages that tracebacks go through: vllm, openai_harmony, other."""
        self.minutes: tuple[str, str] = ("", "")
        """First and last time."""
        self.other_messages = 0
        """Failures beyond the number of messages that are told apart."""
        self._patterns = [
            (pattern, issue.id, own)
            for issue in issues
            for patterns, own in ((issue.patterns, True), (issue.may_match, False))
            for pattern in patterns
        ]
        self._wanted = _fewest((*_ALWAYS, *(pattern.literal for pattern, _, _ in self._patterns)))
        self._match = lru_cache(4096)(self._match_uncached)
        self._before: deque[str] = deque(maxlen=_BEFORE)
        self._waiting: list[tuple[list[str], int]] = []
        self._head_characters = 0
        self._minute = ""
        self._version = ""
        self._traceback: set[Anchor] | None = None

    def receive(self, lines: Iterable[str]) -> None:
        """Take more lines, with or without their line feeds."""
        left = iter(lines)
        while some := list(islice(left, _AT_ONCE)):
            # Most words stand in no line of a block: one search in all of it spares one in each line.
            block = "\n".join([line[:LONGEST] for line in some])
            words = [word for word in self._wanted if word in block]
            starts = any(word in block for word in _START_UP)
            for line in some:
                self._receive(line, words, starts=starts)

    def _receive(self, line: str, words: Sequence[str], *, starts: bool) -> None:
        self.lines += 1
        self.characters += len(line)
        line = line[:LONGEST].rstrip("\r\n")
        if self.lines <= _HEAD_LINES and self._head_characters < _HEAD_CHARACTERS:
            self.head.append(line)
            self._head_characters += len(line)
            self._see_versions(line)
        elif starts and any(word in line for word in _START_UP):
            self._see_versions(line)
        if minute := minute_of(line):
            self._minute = minute
            self.stamped += 1
            self.minutes = (self.minutes[0] or minute, minute)
        for kept, _ in self._waiting:
            kept.append(line)
        if self._waiting:
            self._waiting = [(kept, left - 1) for kept, left in self._waiting if left > 1]
        request = request_of(line)
        if request is not None:
            path, status = request
            self.requests[path] = self.requests.get(path, 0) + 1
            self.refused += status >= 400
            self.timeline.add(self._minute, REQUESTS, self._version)
        else:
            for word in words:
                if word in line:
                    self._look_at(line)
                    break
        self._before.append(line)

    def _look_at(self, line: str) -> None:
        """Take a line that belongs to a failure, or may."""
        parts = split(line)
        if self._in_traceback(parts):
            return
        match = self._match(parts.rest)
        if not match.issues:
            match = _Match(self._unknown(parts), ())
        if match.text:
            self._fail(match, parts, line)
            self._traceback = None

    def _see_versions(self, line: str) -> None:
        for version, source in versions_in(line):
            seen = {(one.version, one.source) for one in self.versions}
            if (version, source) not in seen and len(seen) < _VERSIONS:
                self.versions.append(VersionSeen(version, source, self.lines))
            if source != "the text":
                self._version = version
            return

    def _in_traceback(self, parts: Split) -> bool:
        """Take a line of a traceback; True when the line says nothing but the way."""
        if parts.rest.startswith("Traceback"):
            self._traceback = set()
            if parts.anchor is not None:
                self._traceback.add(parts.anchor)
            return True
        place = anchor_of(parts.rest)
        if place is not None:
            if self._traceback is None:
                self._traceback = set()
            if len(self._traceback) < _ANCHORS:
                self._traceback.add(place)
            for package in ("openai_harmony", *PACKAGES):
                if f"/{package}/" in place.file:
                    self.frames.add(package)
                    break
            else:
                self.frames.add("other")
            return True
        return self._traceback is not None and parts.rest[:1] in {" ", "\t", ""}

    def _unknown(self, parts: Split) -> str:
        """The text of a failure that no issue makes: an exception's line, or an error of the log."""
        if text := exception_of(parts.rest):
            return text[:_KEY]
        if parts.level in {"ERROR", "CRITICAL"} and self._traceback is None and parts.rest.strip():
            return parts.rest.strip()[:_KEY]
        return ""

    def _match_uncached(self, rest: str) -> _Match:
        """The issues that make a line, and the part of it that they match."""
        found: dict[str, bool] = {}
        text = ""
        for pattern, issue, own in self._patterns:
            if pattern.literal not in rest:
                continue
            match = pattern.expression.search(rest)
            if match is None:
                continue
            found[issue] = found.get(issue, False) or own
            if len(match[0]) > len(text):
                text = match[0]
        return _Match(" ".join(text.split())[:_KEY], tuple(found.items()))

    def _fail(self, match: _Match, parts: Split, line: str) -> None:
        message = self.messages.get(match.text)
        if message is None:
            if len(self.messages) >= _MESSAGES:
                self.other_messages += 1
                return
            message = self.messages[match.text] = Message(match.text, self.lines, dict(match.issues))
        message.count += 1
        message.last_line = self.lines
        message.by_version[self._version] = message.by_version.get(self._version, 0) + 1
        places = self._traceback or set()
        if parts.anchor is not None:
            places.add(parts.anchor)
        if len(message.anchors) < _ANCHORS:
            message.anchors |= places
        if message.count <= _SHOWN:
            around = [*self._before, line]
            message.around.append(around)
            self._waiting.append((around, _AFTER))
        self.timeline.add(self._minute, message.text, self._version)


def _fewest(words: Iterable[str]) -> tuple[str, ...]:
    """The words without those that contain another one."""
    kept: list[str] = []
    for word in sorted(set(words), key=len):
        if not any(short in word for short in kept):
            kept.append(word)
    return tuple(kept)
