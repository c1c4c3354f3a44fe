"""Texts whose stand-ins are known, character by character, and the texts that are made of their pieces."""

from bisect import bisect_left, bisect_right
from typing import Final

from inspector.masking.standins import Standins

__all__ = ["Known"]

_SEARCHES_AT_MOST: Final = 20_000
"""Pieces that are looked for; a hostile stream has more, and its other text has stand-ins of its own."""
_QUOTED_FROM: Final = 8
_FEW: Final = 1000
"""Searches that take less time than one walk through all that is known."""
_WITHIN_FROM: Final = 3
_BETWEEN: Final = "\0"


class Known:
    """Texts with their stand-ins; of several that have a piece, the one that was added first is used."""

    def __init__(self, standins: Standins) -> None:
        self._standins = standins
        self._exact: dict[str, str] = {}
        self._text = _BETWEEN
        self._other = _BETWEEN
        self._quotes: list[str] = []
        self._others: list[str] = []
        self._short: dict[str, str] = {}
        self._searches = 0

    def add(self, text: str, standin: str) -> None:
        """Remember a text; pieces of it have the same stand-in."""
        if not text or text in self._exact or len(text) != len(standin):
            return
        self._exact[text] = standin
        self._text += text + _BETWEEN
        self._other += standin + _BETWEEN

    def quote(self, text: str, standin: str) -> None:
        """Remember a text that only the server's own words may repeat."""
        if len(text) != len(standin):
            return
        if len(text) < _QUOTED_FROM:
            self._short[text] = standin
            return
        self._quotes.append(text)
        self._others.append(standin)

    def quoted(self, text: str) -> str:
        """The stand-in of a short text that stands between quotation marks; others stay as they are."""
        return self._short.get(text, text)

    def exact(self, text: str) -> str | None:
        """The stand-in of a text that is known as a whole."""
        return self._exact.get(text)

    def slice(self, text: str) -> str | None:
        """The stand-in of a piece of a known text; None where no text has it."""
        if (found := self._exact.get(text)) is not None:
            return found
        at = self._text.find(text)
        return None if at < 0 else self._other[at : at + len(text)]

    def mapped(self, text: str, *, least: int = 1) -> str:
        """The stand-in of a text: of the longest known pieces, from left to right, of at least `least`.

        A piece that ends within a word counts from three characters on: single letters are everywhere.
        """
        if (found := self._exact.get(text)) is not None:
            return found
        if len(self._text) < 2:
            return self._standins.text(text)
        parts: list[str] = []
        ends = [end for _, end in self._standins.pieces(text)]
        at = last = loose = 0
        while at < len(text):
            size = self._longest(text, at)
            end = ends[bisect_left(ends, at + 1)]
            if size < min(least, len(text)) or (size < _WITHIN_FROM and at + size != end):
                at = end
                continue
            if loose < at:
                parts.append(self._loose(text, loose, at))
            piece = text[at : at + size]
            place = self._text.find(piece, last)
            if place < 0:
                place = self._text.find(piece)
            parts.append(self._other[place : place + size])
            at = loose = at + size
            last = place + size
        if loose < at:
            parts.append(self._loose(text, loose, at))
        return "".join(parts)

    def _loose(self, text: str, start: int, end: int) -> str:
        return self._standins.text(text[start:end])

    def _longest(self, text: str, at: int) -> int:
        """Length of the longest known piece that begins there."""
        self._searches += 1
        if self._searches > _SEARCHES_AT_MOST or text[at] not in self._text:
            return 0
        return _longest_in(self._text, text, at, 1)

    def without_quotes(self, words: str) -> str:
        """The server's words with stand-ins for what they quote, from eight characters on."""
        known = self._text + "".join(f"{one}{_BETWEEN}" for one in self._quotes)
        others = self._other + "".join(f"{one}{_BETWEEN}" for one in self._others)
        begin = _beginnings(known, words)
        parts: list[str] = []
        at = 0
        while at < len(words):
            if words[at : at + _QUOTED_FROM] not in begin:
                parts.append(words[at])
                at += 1
                continue
            size = _longest_in(known, words, at, _QUOTED_FROM)
            place = known.find(words[at : at + size])
            parts.append(others[place : place + size])
            at += size
        return "".join(parts)


def _longest_in(known: str, text: str, at: int, size: int) -> int:
    """Length of the longest piece from `at` on that is known; `size` characters of it are."""
    most = len(text) - at
    while size < most and text[at : at + min(size * 4, most)] in known:
        size = min(size * 4, most)
    high = min(size * 4, most)
    found = bisect_right(range(size + 1, high + 1), False, key=lambda one: text[at : at + one] not in known)
    return size + found


def _beginnings(known: str, words: str) -> set[str]:
    """The runs of eight characters of some words that are known."""
    runs = {words[at : at + _QUOTED_FROM] for at in range(len(words) - _QUOTED_FROM + 1)}
    if len(runs) < _FEW:
        return {run for run in runs if run in known}
    every = (known[at : at + _QUOTED_FROM] for at in range(len(known) - _QUOTED_FROM + 1))
    return {run for run in every if run in runs}
