"""Cells, fates and strays: the generated text token by token, what became of it, and text beyond it."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate
from typing import Final

from inspector.capture.tokens import Tokens
from inspector.protocol.harmony.text import text_of, texts
from inspector.protocol.harmony.vocab import VOCABULARY_SIZE

FIRST_SPECIAL: Final = 199998
"""First id of o200k_harmony that is a special token."""


class FateState(StrEnum):
    """What became of a generated token."""

    OK = "ok"
    DROPPED = "dropped"
    MISROUTED = "misrouted"
    REORDERED = "reordered"
    GARBLED = "garbled"
    UNSERVED = "unserved"


@dataclass(slots=True)
class Fate:
    """What became of the tokens `start` to `end`, which belong to one message."""

    start: int
    end: int
    state: FateState
    field: str | None
    """The field that was promised."""
    delivered_in: str | None
    message: int | None
    generated: str
    delivered: str = ""
    """Text that stands in their place, for garbled tokens."""
    event: int | None = None
    """Event of the delivery, where it is another than the tokens' own."""


@dataclass(slots=True)
class Extra:
    """Delivered text that was not generated there."""

    event: int
    field: str
    text: str
    start: int | None = None
    """Tokens whose text it repeats, when it repeats some."""
    end: int | None = None
    last_event: int | None = None
    """Last event that brought some of it, if it came in several."""
    separates: bool = False
    """True for what the server puts between two messages of the field."""


@dataclass(slots=True)
class Stray:
    """A piece of delivered text that no token explains so far."""

    event: int
    field: str
    text: str
    place: int | None = None
    """Where it stands among the cells of its field, if that is known: before the cell of that number."""


@dataclass(frozen=True, slots=True)
class Part:
    """A run of tokens whose text belongs together: a body, a rejected run, all of a plain completion."""

    start: int
    end: int
    field: str | None
    """The field that is promised; None when none is."""
    lane: str | None
    """The field in which its text is looked for first."""
    message: int | None


@dataclass(slots=True)
class Cell:
    """One generated token that completes text, with the tokens before it that only began a character."""

    first: int
    token: int
    text: str
    event: int
    field: str | None
    """The field that was promised; None for text that is promised to none."""
    lane: str | None
    """The field in which the text is looked for first."""
    message: int | None
    state: FateState
    delivered_in: str | None = None
    delivered: str = ""
    delivery_event: int | None = None

    @property
    def free(self) -> bool:
        """True while nothing tells where the text went."""
        return self.state is FateState.DROPPED or self.state is FateState.UNSERVED

    def reset(self) -> None:
        """Back to unexplained."""
        self.state = FateState.UNSERVED if self.field is None else FateState.DROPPED
        self.delivered_in, self.delivered, self.delivery_event = None, "", None

    def arrive(self, field: str, event: int | None = None, state: FateState | None = None) -> None:
        """The text arrived in `field`; as promised or misrouted, if `state` does not say it."""
        if state is None:
            as_promised = self.field is None or self.field == field
            state = FateState.OK if as_promised else FateState.MISROUTED
        self.state, self.delivered_in, self.delivery_event = state, field, event


class Pool:
    """Cells whose texts are searched for a run that gives a text; a run is not used twice."""

    def __init__(self, cells: Iterable[Cell]) -> None:
        self.cells = list(cells)
        self._starts = [0, *accumulate(len(cell.text) for cell in self.cells)]
        self._text = "".join(cell.text for cell in self.cells)

    def run(self, text: str, *, last: bool = False) -> Sequence[Cell]:
        """Free neighbours whose texts together are `text`: the first, or the last; empty when none are."""
        return self._find(text, last=last, end=len(self._text), free=True)

    def run_before(self, text: str, event: int) -> Sequence[Cell]:
        """The last neighbours whose texts together are `text` and that came by `event`, free or not."""
        count = bisect_right(self.cells, event, key=lambda cell: cell.event)
        return self._find(text, last=True, end=self._starts[count], free=False)

    def _find(self, text: str, *, last: bool, end: int, free: bool) -> Sequence[Cell]:
        at = self._text.rfind(text, 0, end) if last else self._text.find(text, 0, end)
        tries = 64  # a text that stands everywhere between the borders must not cost its square
        while at >= 0 and tries:
            tries -= 1
            first, stop = bisect_left(self._starts, at), bisect_left(self._starts, at + len(text))
            if self._starts[first] == at and self._starts[stop] == at + len(text):
                found = self.cells[first:stop]
                if not free or all(cell.free for cell in found):
                    return found
            at = self._text.rfind(text, 0, at + len(text) - 1) if last else self._text.find(text, at + 1, end)
        return ()


def visible(ids: Sequence[int], skip_special: bool) -> Sequence[int]:
    """The IDs, with special tokens made to show nothing if the server leaves them out."""
    if not skip_special:
        return ids
    return [-1 if FIRST_SPECIAL <= token_id < VOCABULARY_SIZE else token_id for token_id in ids]


def cells_of(tokens: Tokens, part: Part, *, skip_special: bool = False) -> Iterator[Cell]:
    """Cells of the tokens of one body or rejected run.

    A character that its end cuts off has no cell, as it does not count as lost, unless it is all that a
    message without a field has.
    """
    state = FateState.UNSERVED if part.field is None else FateState.DROPPED
    first = part.start
    ids = visible(tokens.ids[part.start : part.end], skip_special)
    for token, text in enumerate(texts(ids, ended=False), part.start):
        if text:
            yield Cell(first, token, text, tokens.events[token], part.field, part.lane, part.message, state)
            first = token + 1
    if part.field is None and part.message is not None and first == part.start < part.end:
        last = part.end - 1
        if text := text_of(ids):
            yield Cell(first, last, text, tokens.events[last], None, part.lane, part.message, state)


def fates_of(cells: Sequence[Cell]) -> Iterator[Fate]:
    """Neighbours of one message with one fate, as one."""
    at = 0
    while at < len(cells):
        head = cells[at]
        key = (head.state, head.delivered_in, head.field, head.message)
        end = at + 1
        while (
            end < len(cells)
            and (cells[end].state, cells[end].delivered_in, cells[end].field, cells[end].message) == key
            and (head.message is not None or cells[end].first == cells[end - 1].token + 1)
        ):
            end += 1
        run, at = cells[at:end], end
        yield Fate(
            head.first,
            run[-1].token + 1,
            head.state,
            head.field,
            head.delivered_in,
            head.message,
            "".join(cell.text for cell in run),
            "".join(cell.delivered for cell in run),
            head.delivery_event,
        )
