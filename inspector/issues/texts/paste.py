"""Messages that were damaged by pasting: wrapped, written in lower case, or cut off.

Looked for in short texts only, after their lines were read one by one.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from inspector.issues.catalogue.issue import Issue
from inspector.issues.catalogue.schema import Pattern
from inspector.issues.texts.lines import Split
from inspector.issues.texts.message import LogMessage, Match

_FOLDED: Final = 16
"""Characters that a text needs to be looked for in any case."""
_MESSAGE_LENGTH: Final = 300
_LINES: Final = 4
"""Lines that a message is looked for in."""
_NARROW: Final = 16
"""A line shorter than this was not wrapped."""
_LEAST: Final = 18
"""Characters that identify a message."""
_LEAST_MARKED: Final = 12
"""The same where the text says that it was cut."""
_CUT: Final = re.compile(
    r"\s*(?:\.{2,}|\u2026|\[truncated\]|<truncated>|\(truncated\)|\[\.\.\.\])[\s\"'`)\]}]*$"
)
_DIGITS: Final = re.compile(r"\d+")
_OTHER_SUBJECT: Final = re.compile(r"SyntaxError|Discord|JSON\b|in JSON|TypeError")
_HEAD: Final = 8


class PastedLine(NamedTuple):
    """A line of the text without its prefix."""

    line: int
    text: str


class IssueMessage(NamedTuple):
    """An error message that an issue produces."""

    issue: str
    text: str
    own: bool


def messages_of(issue: Issue) -> Iterator[tuple[str, bool]]:
    """The messages that an issue makes, as its examples have them, and whether they are its own."""
    for example in issue.examples:
        for patterns, own in ((issue.patterns, True), (issue.may_match, False)):
            for pattern in patterns:
                match = pattern.expression.search(example)
                if match is not None and not match[0].startswith("--"):
                    # A flag by itself is no beginning of a message about it.
                    yield match[0], own


@dataclass(frozen=True, slots=True)
class Paste:
    """A scan's failures, and what is needed to add to them."""

    messages: dict[str, LogMessage]
    patterns: Sequence[tuple[Pattern, str, bool]]
    issue_messages: Sequence[IssueMessage]
    match: Callable[[str], Match]
    fail: Callable[[Match, Split, str], None]

    def look_at(self, pieces: Sequence[PastedLine]) -> None:
        """Find messages in the lines of a paste that no line has as a whole."""
        self._wrapped(pieces)
        if not self._matched():
            self._folded(pieces)
        if not self._matched():
            self._broken(pieces)

    def _matched(self) -> bool:
        return any(message.matched for message in self.messages.values())

    def _wrapped(self, pieces: Sequence[PastedLine]) -> None:
        for piece, joined in _joined(pieces, [pattern for pattern, _, _ in self.patterns]):
            match = self.match(joined)
            if match.issues and match.text not in self.messages:
                # What the halves of the message looked like goes away.
                self._forget(lambda text, message, m=match, w=joined: _is_half(message, text, w, m))  # type: ignore[misc]
                self._add(match, piece, joined)

    def _folded(self, pieces: Sequence[PastedLine]) -> None:
        """LogMessages written in lower case."""
        for piece in pieces:
            lower = piece.text.lower()
            matched: dict[str, bool] = {}
            text = ""
            for pattern, issue, own in self.patterns:
                if len(pattern.literal) < _FOLDED or pattern.literal.lower() not in lower:
                    continue
                match = re.search(pattern.text, piece.text, re.DOTALL | re.IGNORECASE)
                if match is not None:
                    matched[issue] = matched.get(issue, False) or own
                    text = max(text, " ".join(match[0].split())[:_MESSAGE_LENGTH], key=len)
            if matched:
                self._forget(lambda name, _, t=text: t in name)  # type: ignore[misc]
                self._add(Match(text, tuple(matched.items())), piece, piece.text)

    def _broken(self, pieces: Sequence[PastedLine]) -> None:
        for piece in pieces:
            text, issues = _beginning_of(piece.text, self.issue_messages)
            if issues:
                self._forget(lambda name, _, t=text, p=piece: t in name or name in p.text)  # type: ignore[misc]
                self._add(Match(text, issues), piece, piece.text)
                self.messages[text].cut = True
                return

    def _forget(self, which: Callable[[str, LogMessage], bool]) -> None:
        for text in [text for text, message in self.messages.items() if which(text, message)]:
            del self.messages[text]

    def _add(self, match: Match, piece: PastedLine, line: str) -> None:
        self.fail(match, Split(line, "", None), line)
        if match.text in self.messages:
            self.messages[match.text].first_line = piece.line


def _is_half(message: LogMessage, text: str, whole: str, match: Match) -> bool:
    return text in whole and (not message.matched or match.text.startswith(text) or match.text.endswith(text))


def _joined(pieces: Sequence[PastedLine], patterns: Sequence[Pattern]) -> Iterator[tuple[PastedLine, str]]:
    """Neighbouring lines as one, where a pattern matches across their border; with the first line."""
    texts = [piece.text.strip() for piece in pieces]
    all_text = " ".join(texts) + "".join(texts)
    candidates = [pattern for pattern in patterns if pattern.literal in all_text]
    if not candidates:
        return
    for place in range(len(texts) - 1):
        if len(texts[place]) < _NARROW:
            continue
        for count in range(2, _LINES + 1):
            neighbours = texts[place : place + count]
            if len(neighbours) < count or not all(neighbours):
                break
            if joined := _across(neighbours, candidates):
                yield pieces[place], joined
                break


def _across(texts: Sequence[str], patterns: Sequence[Pattern]) -> str:
    for separator in (" ", ""):
        joined = separator.join(texts)
        last = len(joined) - len(texts[-1])
        for pattern in patterns:
            if pattern.literal not in joined:
                continue
            match = pattern.expression.search(joined)
            if match is not None and match.start() < len(texts[0]) and match.end() > last:
                return joined
    return ""


def _beginning_of(line: str, messages: Sequence[IssueMessage]) -> tuple[str, tuple[tuple[str, bool], ...]]:
    """What a line ends in that a known message begins with, and the issues that make such messages."""
    marked = _CUT.search(line)
    text = (line[: marked.start()] if marked else line).rstrip()
    if _OTHER_SUBJECT.search(text):
        return "", ()
    least = _LEAST_MARKED if marked else _LEAST
    by_tail: dict[str, dict[str, bool]] = {}
    for exact in (True, False):
        for message in messages:
            tail = _tail(text, message.text, exact=exact)
            if len(tail) >= least and len(tail) < len(message.text):
                issues = by_tail.setdefault(tail, {})
                issues[message.issue] = issues.get(message.issue, False) or message.own
        if by_tail:
            longest = max(by_tail, key=len)
            return longest, tuple(by_tail[longest].items())
    return "", ()


def _tail(line: str, message: str, *, exact: bool) -> str:
    """The end of a line that a message begins with, numbers aside unless `exact`; empty if there is none."""
    start = line.rfind(message[:_HEAD])
    if start < 0:
        return ""
    tail = line[start:]
    if message.startswith(tail):
        return tail
    if not exact and _DIGITS.sub("0", message).startswith(_DIGITS.sub("0", tail)):
        return tail
    return ""
