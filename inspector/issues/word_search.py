"""Which lines of a log contain one of many words; a line that repeats an earlier one costs a lookup."""

from collections.abc import Sequence
from typing import Final

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
            together = b"\n".join(fresh)
            words = [word for word in self._words if word in together]
            searched = {shape: any(word in shape for word in words) for shape in fresh}
        exact = [word for word in self._exact if word in block]
        results = [
            (searched[shape] if shape in searched else remembered[shape])
            or any(word in line for word in exact)
            for line, shape in zip(lines, shapes, strict=True)
        ]
        if len(remembered) + len(searched) > _SHAPES:
            remembered.clear()
        remembered.update((shape, says) for shape, says in searched.items() if len(shape) <= _LONGEST)
        return results


def _has_digit(word: str) -> bool:
    return any(letter.isdigit() for letter in word)
