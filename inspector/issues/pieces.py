"""Messages in pieces: wrapped by a terminal or a mail program, or broken off at the end of a line."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from inspector.issues.schema import Pattern

_LINES: Final = 4
"""Lines that a message is looked for in."""
_NARROW: Final = 16
"""A line shorter than this was not wrapped."""
_LEAST: Final = 18
"""Characters of a message that tell which it is."""
_LEAST_MARKED: Final = 12
"""The same where the text says that it was cut."""
_CUT: Final = re.compile(
    r"\s*(?:\.{2,}|\u2026|\[truncated\]|<truncated>|\(truncated\)|\[\.\.\.\])[\s\"'`)\]}]*$"
)
_DIGITS: Final = re.compile(r"\d+")
_NOT_OURS: Final = re.compile(r"SyntaxError|Discord|JSON\b|in JSON|TypeError")
_HEAD: Final = 8


class Piece(NamedTuple):
    """A line of the text without its prefix."""

    line: int
    text: str


class Known(NamedTuple):
    """A message that an issue makes."""

    issue: str
    text: str
    own: bool


def joined(pieces: Sequence[Piece], patterns: Sequence[Pattern]) -> Iterator[tuple[Piece, str]]:
    """Neighbouring lines as one, where a pattern matches across their border; with the first line."""
    texts = [piece.text.strip() for piece in pieces]
    together = " ".join(texts) + "".join(texts)
    wanted = [pattern for pattern in patterns if pattern.literal in together]
    if not wanted:
        return
    for place in range(len(texts) - 1):
        if len(texts[place]) < _NARROW:
            continue
        for count in range(2, _LINES + 1):
            some = texts[place : place + count]
            if len(some) < count or not all(some):
                break
            if found := _across(some, wanted):
                yield pieces[place], found
                break


def _across(texts: Sequence[str], patterns: Sequence[Pattern]) -> str:
    for between in (" ", ""):
        whole = between.join(texts)
        last = len(whole) - len(texts[-1])
        for pattern in patterns:
            if pattern.literal not in whole:
                continue
            found = pattern.expression.search(whole)
            if found is not None and found.start() < len(texts[0]) and found.end() > last:
                return whole
    return ""


def beginning_of(line: str, known: Sequence[Known]) -> tuple[str, tuple[tuple[str, bool], ...]]:
    """What a line ends in that a known message begins with, and the issues that make such messages."""
    marked = _CUT.search(line)
    text = (line[: marked.start()] if marked else line).rstrip()
    if _NOT_OURS.search(text):
        return "", ()
    least = _LEAST_MARKED if marked else _LEAST
    found: dict[str, dict[str, bool]] = {}
    for exact in (True, False):
        for one in known:
            tail = _tail(text, one.text, exact=exact)
            if len(tail) >= least and len(tail) < len(one.text):
                issues = found.setdefault(tail, {})
                issues[one.issue] = issues.get(one.issue, False) or one.own
        if found:
            longest = max(found, key=len)
            return longest, tuple(found[longest].items())
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
