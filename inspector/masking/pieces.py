"""Texts whose stand-ins are known, character by character, and the texts that are made of their pieces."""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from typing import Final

from inspector.masking.standins import Standins

__all__ = ["Known"]

_SEARCHES_AT_MOST: Final = 20_000
"""Pieces that are looked for; a hostile stream has more, and its other text has stand-ins of its own."""
_QUOTED_FROM: Final = 8
_FEW: Final = 1000
"""Searches that take less time than one walk through all that is known."""
_PLACES_AT_MOST: Final = 16
"""Places of a run that are compared for the longest piece, so that repetitive text takes linear time too."""
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
        places = _places(known, words)
        if not places:
            return words
        parts: list[str] = []
        done = 0
        at = _next(places, words, 0)
        while at is not None:
            sizes = [(_shared(known, place, words, at), -place) for place in places[_run(words, at)]]
            size, place = max(sizes)
            parts += [words[done:at], others[max(done - at, 0) - place : size - place]]
            done = at + size
            # A run that only overlaps what is replaced is taken where none begins behind it.
            behind = [done, *range(done - 1, done - _QUOTED_FROM, -1)]
            at = next((one for one in behind if _run(words, one) in places), None)
            at = _next(places, words, done) if at is None else at
        return "".join([*parts, words[done:]])


def _longest_in(known: str, text: str, at: int, size: int) -> int:
    """Length of the longest piece from `at` on that is known; `size` characters of it are."""
    most = len(text) - at
    while size < most and text[at : at + min(size * 4, most)] in known:
        size = min(size * 4, most)
    high = min(size * 4, most)
    found = bisect_right(range(size + 1, high + 1), False, key=lambda one: text[at : at + one] not in known)
    return size + found


def _run(words: str, at: int) -> str:
    return words[at : at + _QUOTED_FROM]


def _next(places: Mapping[str, Sequence[int]], words: str, at: int) -> int | None:
    """Where the next known run begins."""
    return next((one for one in range(at, len(words)) if _run(words, one) in places), None)


def _shared(known: str, place: int, words: str, at: int) -> int:
    """How many characters are the same from two places on; a run of them is known to be."""
    size, most = _QUOTED_FROM, min(len(words) - at, len(known) - place)
    while size < most and known.startswith(words[at : at + (more := min(size * 2, most))], place):
        size = more
    high = min(size * 2, most)
    return size + bisect_right(
        range(size + 1, high + 1), False, key=lambda one: not known.startswith(words[at : at + one], place)
    )


def _places(known: str, words: str) -> dict[str, list[int]]:
    """The runs of eight characters of some words that are known, each with the first places where."""
    runs = {_run(words, at) for at in range(len(words) - _QUOTED_FROM + 1)}
    found: dict[str, list[int]] = {}
    if len(runs) < _FEW:
        for run in runs:
            place = known.find(run)
            while place >= 0 and len(found.setdefault(run, [])) < _PLACES_AT_MOST:
                found[run].append(place)
                place = known.find(run, place + 1)
        return found
    for place in range(len(known) - _QUOTED_FROM + 1):
        run = known[place : place + _QUOTED_FROM]
        if run in runs and len(at := found.setdefault(run, [])) < _PLACES_AT_MOST:
            at.append(place)
    return found
