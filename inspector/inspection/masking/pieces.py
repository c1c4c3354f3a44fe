"""Texts whose stand-ins are known, character by character, and the texts that are made of their pieces."""

from bisect import bisect_left, bisect_right
from typing import Final

from inspector.inspection.masking.standins import Standins
from inspector.inspection.masking.vocabulary import GRAMMAR

_SEARCHES_AT_MOST: Final = 20_000
"""Pieces that are looked for; a hostile stream has more, and its other text has stand-ins of its own."""
_PLACES_AT_MOST: Final = 1000
_WITHIN_FROM: Final = 3
_SEPARATOR: Final = "\0"


class MaskedTexts:
    """Texts with their stand-ins; of several that have a piece, the one that was added first is used."""

    def __init__(self, standins: Standins) -> None:
        self._standins = standins
        self._exact: dict[str, str] = {}
        self._text = _SEPARATOR
        self._other = _SEPARATOR
        self._searches = 0

    def add(self, text: str, standin: str) -> None:
        """Remember a text; pieces of it have the same stand-in."""
        if not text or text in self._exact or len(text) != len(standin):
            return
        self._exact[text] = standin
        self._text += text + _SEPARATOR
        self._other += standin + _SEPARATOR

    def slice(self, text: str, *, replaced: bool = False) -> str | None:
        """The stand-in of a piece of a known text, best of whole words; None where no text has it.

        With `replaced` only whole words count, and not those that stayed as words of the protocol.
        """
        if (standin := self._exact.get(text)) is not None:
            return standin
        self._searches += 1
        if self._searches > _SEARCHES_AT_MOST:
            return None
        first = place = self._text.find(text)
        for _ in range(_PLACES_AT_MOST):
            if place < 0:
                break
            standin = self._other[place : place + len(text)]
            if self._bounded(place, place + len(text)) and not (replaced and standin == text):
                return standin
            place = self._text.find(text, place + 1)
        return None if replaced or first < 0 else self._other[first : first + len(text)]

    def _bounded(self, start: int, end: int) -> bool:
        """Whether no word goes on at either end."""
        return not any(
            self._text[place].isalnum() and self._text[place + 1].isalnum() for place in (start - 1, end - 1)
        )

    def mapped(self, text: str, *, least: int = 1) -> str:
        """The stand-in of a text: of the longest known pieces, from left to right, of at least `least`.

        A piece that ends within a word counts from three characters on: single letters are everywhere.
        """
        if (standin := self._exact.get(text)) is not None:
            return standin
        fixed = GRAMMAR if "<|" in text else None
        if len(self._text) < 2:
            return self._standins.text(text, fixed)
        mask = "" if fixed is None else self._standins.mask(text, fixed)
        parts: list[str] = []
        ends = [end for _, end in self._standins.pieces(text)]
        at = last = loose = 0
        while at < len(text):
            stays = mask != "" and mask[at] == "-" and text[at].isalnum()
            size = 0 if stays else self._longest(text, at)
            end = ends[bisect_left(ends, at + 1)]
            if size < min(least, len(text)) or (size < _WITHIN_FROM and at + size != end):
                at = end
                continue
            if loose < at:
                parts.append(self._standins.text(text[loose:at], fixed))
            piece = text[at : at + size]
            place = self._text.find(piece, last)
            if place < 0:
                place = self._text.find(piece)
            parts.append(self._other[place : place + size])
            at = loose = at + size
            last = place + size
        if loose < at:
            parts.append(self._standins.text(text[loose:at], fixed))
        return "".join(parts)

    def _longest(self, text: str, at: int) -> int:
        """Length of the longest known piece that begins there."""
        self._searches += 1
        if self._searches > _SEARCHES_AT_MOST or text[at] not in self._text:
            return 0
        size, most = 1, len(text) - at
        while size < most and text[at : at + min(size * 4, most)] in self._text:
            size = min(size * 4, most)
        sizes = range(size + 1, min(size * 4, most) + 1)
        return size + bisect_right(sizes, False, key=lambda longer: text[at : at + longer] not in self._text)
