"""One pass over a text or log: failures counted by message, with their surroundings, in bounded memory.

It records which lines are failures, what they match, how often and when, and where the server's version was
found. `text` derives the answers.
"""

import re
from collections import deque
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from itertools import islice
from typing import Final

from inspector.issues.catalogue.issue import Issue
from inspector.issues.catalogue.versions import ReportedVersion
from inspector.issues.diagnosis import Timeline
from inspector.issues.texts.anchors import Anchor
from inspector.issues.texts.cleanup import cleaned, is_altered, segments
from inspector.issues.texts.lines import (
    LONGEST,
    Split,
    access_of,
    anchor_of,
    error_of,
    exception_of,
    level_of,
    minute_of,
    request_of,
    split,
    versions_in,
)
from inspector.issues.texts.message import LogMessage, Match
from inspector.issues.texts.paste import IssueMessage, Paste, PastedLine, messages_of
from inspector.protocol.engines import PACKAGES

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
"""Lines that are cleaned and searched as one text, which costs less than one by one."""
_START_UP: Final = ("server version ", "  version ", "LLM engine (v")
"""Words of a start-up line; a log may have several starts."""
_ALWAYS: Final = (
    *('File "', "Traceback", "Error", "ERROR", "CRITICAL", "FATAL", "Exception", "Interrupt", "Exit"),
    *("rror:", "rror code", "fatal", "panic"),
)
"""What lines of tracebacks and of failures that no issue makes contain."""
_IN_A_PASTE: Final = (
    *("rror", "ERR!", "Failure", "ailed", "efused", "tatus", "imed out", "nsupported", "nexpected"),
    *("nvalid", "E]", " 40", " 42", " 50", "(40", "not ", "ncaught", "nhandled", "ad request", "ad Request"),
    *("prematurely", "restarting", "crash", "fault", "memory", "annot", "issing finish", "illed", "ould not"),
    *("No such", "o module", "does not exist", "core dumped", "nable to", " | 5", " | 4", "File /", "File ~"),
    *("[E", "build ", "isconnected"),
)
"""Words of any program's errors, which are also frequent in healthy lines: looked for in a paste only."""
_QUIET: Final = frozenset({"DEBUG", "INFO", "WARNING", "WARN"})
_LOUD: Final = frozenset({"ERROR", "CRITICAL", "FATAL"})
_FRONT: Final = 6144
_BACK: Final = LONGEST - _FRONT
_KEPT_LINES: Final = 4096
_KEPT_AT_MOST: Final = 512
"""Lines whose parts are remembered, and their length: 2 MiB at most."""
_PASTED: Final = 600
"""A text of so many lines was pasted by a person: wrapped and broken-off messages are looked for in it."""
_STATUSES: Final = 40
_PAYLOAD: Final = re.compile(
    r"[\"']object[\"']: ?[\"']error[\"']"
    r"|[\"']type[\"']: ?[\"']\w{1,40}Error[\"'], ?[\"']param[\"']: ?(?:null|None)"
    r"|[\"']type[\"']: ?[\"'](?:Internal Server Error|InternalServerError|BadRequestError"
    r"|NotImplementedError)[\"']"
)
"""An error as vLLM's server words it to its client."""


_CELL: Final = re.compile(r"[\w.]{3,80}\s{2,}Traceback \(most recent call last\)")
"""How a notebook begins a traceback: with the exception's name."""


class TextSearch:
    """Takes lines; all it keeps is bounded."""

    def __init__(self, issues: Sequence[Issue]) -> None:
        self.messages: dict[str, LogMessage] = {}
        """Failures by text, in order of appearance."""
        self.timeline = Timeline()
        self.versions: list[ReportedVersion] = []
        """Reported versions: each new one and each change."""
        self.lines = 0
        self.characters = 0
        self.requests: dict[str, int] = {}
        """Requests by path, from the access log."""
        self.rejected_requests = 0
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
        self.access: dict[str, tuple[int, int]] = {}
        """Rejected requests of any path, as the access log has them: first line and how many."""
        self._issue_messages = [
            IssueMessage(issue.id, text, own) for issue in issues for text, own in messages_of(issue)
        ]
        self._patterns = [
            (pattern, issue.id, own)
            for issue in issues
            for patterns, own in ((issue.patterns, True), (issue.may_match, False))
            for pattern in patterns
        ]
        words = _fewest((*_ALWAYS, *(pattern.literal for pattern, _, _ in self._patterns)))
        self._word_search = WordSearch(words)
        self._word_search_in_a_paste = WordSearch((*words, *_IN_A_PASTE))
        self._match = lru_cache(4096)(self._match_uncached)
        self._before: deque[str] = deque(maxlen=_BEFORE)
        self._waiting: list[tuple[list[str], int]] = []
        self._head_characters = 0
        self._minute = ""
        self._version = ""
        self._traceback: set[Anchor] | None = None
        self._frame: deque[str] = deque(maxlen=_BEFORE)

    def receive(self, lines: Iterable[str]) -> None:
        """Take more lines, with or without their line feeds."""
        remaining = iter(lines)
        while batch := list(islice(remaining, _AT_ONCE)):
            sizes = [len(line) for line in batch]
            batch = [_shortened(line) for line in batch]
            block = "\n".join(batch)
            if is_altered(block):
                batch = [
                    _cleaned_once(line) if len(line) <= _KEPT_AT_MOST else cleaned(line) for line in batch
                ]
                block = "\n".join(batch)
            search = self._word_search if self.lines >= _PASTED else self._word_search_in_a_paste
            starts = [word for word in _START_UP if word in block]
            for line, size, has_word in zip(batch, sizes, search.lines_with_words(batch, block), strict=True):
                self.characters += size
                self._receive(line, has_word=has_word, starts=starts)

    def finish(self) -> None:
        """No more lines come: look at what a person's paste may have wrapped or broken off."""
        if self.lines <= _PASTED:
            paste = Paste(self.messages, self._patterns, self._issue_messages, self._match, self._fail)
            paste.look_at([PastedLine(number, split(line).rest) for number, line in enumerate(self.head, 1)])
        if self._traceback and not self.messages and self._frame:
            # A traceback without its last line: the last line of code may say what was called.
            called = self._frame[-1]
            match = self._match(called)
            text = match.text if match.issues else f"a traceback that is cut off: {called.strip()[:_KEY]}"
            self._fail(Match(text, match.issues), Split("", "", None), called)
            self.messages[text].without_error = not match.issues
        if not self.messages:
            for line, (first, times) in self.access.items():
                match = self._match(line)
                text = match.text if match.issues else line
                self._fail(Match(text, match.issues), Split("", "", None), line)
                self.messages[text].first_line, self.messages[text].count = first, times

    def _receive(self, line: str, *, has_word: bool, starts: Sequence[str]) -> None:
        self.lines += 1
        line = line.rstrip("\r\n")
        if self.lines <= _HEAD_LINES and self._head_characters < _HEAD_CHARACTERS:
            self.head.append(line)
            self._head_characters += len(line)
            self._see_versions(line)
        else:
            for word in starts:
                if word in line:
                    self._see_versions(line)
                    break
        if minute := minute_of(line):
            self._minute = minute
            self.stamped += 1
            self.minutes = (self.minutes[0] or minute, minute)
        for kept, _ in self._waiting:
            kept.append(line)
        if self._waiting:
            self._waiting = [(kept, countdown - 1) for kept, countdown in self._waiting if countdown > 1]
        request = request_of(line)
        if request is not None:
            path, status = request
            self.requests[path] = self.requests.get(path, 0) + 1
            if status >= 400:
                self.rejected_requests += 1
                self._see_access(line)
            self.timeline.add(self._minute, REQUESTS, self._version)
        elif not self._see_access(line) and has_word:
            self._look_at(line)
        self._before.append(line)

    def _see_access(self, line: str) -> bool:
        """Take a line of an access log; a rejected request is a failure only if nothing more precise is."""
        access = access_of(line)
        if access is None:
            return False
        verb, path, status = access
        if status >= 400:
            text = f'"{verb} {path} HTTP/1.1" {status}'
            if text in self.access or len(self.access) < _STATUSES:
                first, times = self.access.get(text, (self.lines, 0))
                self.access[text] = (first, times + 1)
        return True

    def _look_at(self, line: str) -> None:
        """Take a line that belongs to a failure, or may."""
        parts, place = _parted_once(line) if len(line) <= _KEPT_AT_MOST else _parted(line)
        if self._in_traceback(parts, place):
            return
        match = self._match(parts.rest)
        if not match.issues:
            match = Match(self._unknown(parts, line), ())
        if match.text:
            self._fail(match, parts, line)
            self._traceback = None

    def _see_versions(self, line: str) -> None:
        for version, source in versions_in(line):
            recorded = {(reported.version, reported.source) for reported in self.versions}
            if (version, source) not in recorded and len(recorded) < _VERSIONS:
                self.versions.append(ReportedVersion(version, source, self.lines))
            if source != "the text":
                self._version = version
            return

    def _in_traceback(self, parts: Split, place: Anchor | None) -> bool:
        """Take a line of a traceback; True when the line says nothing but the way."""
        if parts.rest.startswith("Traceback") or _CELL.match(parts.rest):
            self._traceback = set()
            if not parts.rest.startswith("Traceback"):
                self._frame.append(parts.rest)
            if parts.anchor is not None:
                self._traceback.add(parts.anchor)
            return True
        if place is not None:
            if self._traceback is None:
                self._traceback = set()
            self._frame.clear()
            self._frame.append(parts.rest)
            if len(self._traceback) < _ANCHORS:
                self._traceback.add(place)
            path = place.file.replace("\\", "/")
            for package in ("openai_harmony", *PACKAGES):
                if f"/{package}/" in path:
                    self.frames.add(package)
                    break
            else:
                self.frames.add("other")
            return True
        within = self._traceback is not None and parts.rest[:1] in {" ", "\t", ""}
        if within and parts.rest.strip(" ^~\t"):
            self._frame.append(parts.rest)
        return within

    def _unknown(self, parts: Split, line: str) -> str:
        """The text of a failure that no issue makes: an exception's line, an error of a log or a client."""
        if text := exception_of(parts.rest):
            return text[:_KEY]
        if self._traceback is not None and parts.level in _LOUD:
            return ""
        level = parts.level or level_of(line)
        if level in _LOUD and parts.rest.strip():
            return _worded(parts.rest)[:_KEY]
        if level in _QUIET:
            return ""
        for piece in reversed(list(segments(parts.rest))):
            if text := exception_of(piece):
                return text[:_KEY]
        return _error_once(parts.rest)[:_KEY]

    def _match_uncached(self, rest: str) -> Match:
        """The issues that make a line, and the part of it that they match."""
        issues: dict[str, bool] = {}
        text = ""
        for pattern, issue, own in self._patterns:
            if pattern.literal not in rest:
                continue
            match = pattern.expression.search(rest)
            if match is None:
                continue
            issues[issue] = issues.get(issue, False) or own
            if len(match[0]) > len(text):
                text = match[0]
        return Match(" ".join(text.split())[:_KEY], tuple(issues.items()))

    def _fail(self, match: Match, parts: Split, line: str) -> None:
        message = self.messages.get(match.text)
        if message is None:
            if len(self.messages) >= _MESSAGES:
                self.other_messages += 1
                return
            message = self.messages[match.text] = LogMessage(match.text, self.lines, dict(match.issues))
        message.count += 1
        message.last_line = self.lines
        message.by_version[self._version] = message.by_version.get(self._version, 0) + 1
        places = self._traceback or set()
        if parts.anchor is not None:
            places.add(parts.anchor)
        if len(message.anchors) < _ANCHORS:
            message.anchors |= places
        message.of_server = (
            message.of_server
            or parts.of_server
            or _PAYLOAD.search(line) is not None
            or any(_is_vllm_file(place.file) for place in places)
        )
        if message.count <= _SHOWN:
            around = [*self._before, line]
            message.around.append(around)
            self._waiting.append((around, _AFTER))
        self.timeline.add(self._minute, message.text, self._version)


def _parted(line: str) -> tuple[Split, Anchor | None]:
    """A line without its prefix, and the place that it names as a frame of a traceback."""
    parts = split(line)
    return parts, anchor_of(parts.rest)


# Failures repeat themselves: the same frames of the same tracebacks, without a time in them.
_parted_once = lru_cache(_KEPT_LINES)(_parted)
_cleaned_once = lru_cache(_KEPT_LINES)(cleaned)
_error_once = lru_cache(512)(error_of)


def _is_vllm_file(file: str) -> bool:
    path = file.replace("\\", "/")
    return any(f"/{package}/" in path for package in PACKAGES)


def _shortened(line: str) -> str:
    """A line cut to the length that is searched: errors are named at its beginning or its end."""
    return line if len(line) <= LONGEST else f"{line[:_FRONT]} … {line[-_BACK:]}"


def _worded(rest: str) -> str:
    """A log's error without the marks of its logger."""
    return _error_once(rest) or rest.strip()


@cache
def _fewest(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words without those that contain another one."""
    shortest: list[str] = []
    for word in sorted(set(words), key=len):
        if not any(short in word for short in shortest):
            shortest.append(word)
    return tuple(shortest)


_EQUAL: Final = bytes.maketrans(b"123456789", b"000000000")
_SHAPES: Final = 8192
_LONGEST: Final = 512
"""Longer lines are not remembered: 4 MiB of shapes at most."""


class WordSearch:
    """Looks for words in lines; a line that differs from an earlier one in its digits only costs a lookup."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = [word.encode("utf-8", "surrogatepass") for word in words if not _has_digit(word)]
        self._exact = [word for word in words if _has_digit(word)]
        self._shapes: dict[bytes, bool] = {}
        """By line with its digits made equal: whether it has a word without digits."""

    def lines_with_words(self, lines: Sequence[str], block: str) -> list[bool]:
        """For each line whether it has one of the words; `block` has the lines, joined."""
        shapes = [line.encode("utf-8", "surrogatepass").translate(_EQUAL) for line in lines]
        remembered = self._shapes
        fresh = {shape for shape in shapes if shape not in remembered}
        searched = dict[bytes, bool]()
        if fresh:
            # Most words are in no line of a block: one search in all of it spares one in each line.
            all_lines = b"\n".join(fresh)
            words = [word for word in self._words if word in all_lines]
            searched = {shape: any(word in shape for word in words) for shape in fresh}
        exact = [word for word in self._exact if word in block]
        results = [
            (searched[shape] if shape in searched else remembered[shape])
            or any(word in line for word in exact)
            for line, shape in zip(lines, shapes, strict=True)
        ]
        if len(remembered) + len(searched) > _SHAPES:
            remembered.clear()
        remembered.update((shape, match) for shape, match in searched.items() if len(shape) <= _LONGEST)
        return results


def _has_digit(word: str) -> bool:
    return any(letter.isdigit() for letter in word)
