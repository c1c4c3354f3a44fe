"""Which lines of a log have one of many words, at the cost of what is new in them: logs repeat themselves."""

from collections.abc import Sequence
from typing import Final

_EQUAL: Final = bytes.maketrans(b"123456789", b"000000000")
_SHAPES: Final = 8192
_LONGEST: Final = 512
"""Longer lines are not remembered: 4 MiB of shapes at most."""


class Wanted:
    """Looks for words in lines; a line that differs from an earlier one in its digits only costs a lookup."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = [word.encode("utf-8", "surrogatepass") for word in words if not _has_digit(word)]
        self._exact = [word for word in words if _has_digit(word)]
        self._shapes: dict[bytes, bool] = {}
        """By line with its digits made equal: whether it has a word without digits."""

    def said_in(self, lines: Sequence[str], block: str) -> list[bool]:
        """For each line whether it has one of the words; `block` has the lines, joined."""
        shapes = [line.encode("utf-8", "surrogatepass").translate(_EQUAL) for line in lines]
        known = self._shapes
        fresh = {shape for shape in shapes if shape not in known}
        found = dict[bytes, bool]()
        if fresh:
            # Most words are in no line of a block: one search in all of it spares one in each line.
            together = b"\n".join(fresh)
            words = [word for word in self._words if word in together]
            found = {shape: any(word in shape for word in words) for shape in fresh}
        exact = [word for word in self._exact if word in block]
        said = [
            (found[shape] if shape in found else known[shape]) or any(word in line for word in exact)
            for line, shape in zip(lines, shapes, strict=True)
        ]
        if len(known) + len(found) > _SHAPES:
            known.clear()
        known.update((shape, says) for shape, says in found.items() if len(shape) <= _LONGEST)
        return said


def _has_digit(word: str) -> bool:
    return any(letter.isdigit() for letter in word)
