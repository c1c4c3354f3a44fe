"""Texts of the token strip: of each distinct id, and of the cells around split characters."""

from codecs import getincrementaldecoder
from collections.abc import Iterable, Sequence

from inspector.protocol.harmony.vocab import VOCABULARY_SIZE, token_bytes
from inspector.views.payload import Entry

_UTF8 = getincrementaldecoder("utf-8")


def vocabulary(ids: Iterable[int]) -> dict[str, Entry]:
    """Text (None for partial UTF-8) and bytes as hex of each distinct ID; unknown IDs have no entry."""
    entries: dict[str, Entry] = {}
    for token_id in dict.fromkeys(ids):
        if 0 <= token_id < VOCABULARY_SIZE:
            content = token_bytes(token_id)
            entries[str(token_id)] = (_decoded(content), content.hex())
    return entries


class SplitTexts:
    """Texts by cell of tokens with split characters: runs of IDs whose bytes alone are not valid UTF-8."""

    def __init__(self) -> None:
        self._decoder = _UTF8("replace")
        self._run = False

    def step(self, ids: Sequence[int], start: int, end: int) -> dict[str, str]:
        """The texts of cells that the tokens from `start` to `end` add or change."""
        by_cell: dict[str, str] = {}
        first = start
        if start and not self._run:
            while first and _partial(ids[first - 1]):
                first -= 1  # a reader that comes in the middle of a split character
        partial = {token_id for token_id in set(ids[first:end]) if _partial(token_id)}
        if not partial and not self._run:
            return by_cell
        for place in range(first, end):
            if ids[place] in partial:
                self._run = True
                by_cell[str(place)] = self._decoder.decode(token_bytes(ids[place]))
            elif self._run:
                self._run = False
                if rest := self._decoder.decode(b"", True):
                    before = str(place - 1)
                    by_cell[before] = by_cell.get(before, "") + rest
                self._decoder.reset()
        return by_cell


def _partial(token_id: int) -> bool:
    return 0 <= token_id < VOCABULARY_SIZE and _decoded(token_bytes(token_id)) is None


def _decoded(content: bytes) -> str | None:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None
