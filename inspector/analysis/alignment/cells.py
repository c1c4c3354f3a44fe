"""The values of an alignment: parts and cells of the generated text, its fates, and delivered text beyond it.

A `Cell` is the only value that changes: matching marks, cell by cell, where its text arrived.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import accumulate
from typing import Final, NamedTuple

from inspector.capture.deltas import Delta
from inspector.capture.tokens import Tokens
from inspector.protocol.harmony.text import text_of, texts
from inspector.protocol.harmony.vocab import VOCABULARY_SIZE

FIRST_SPECIAL: Final = 199998
"""First ID of o200k_harmony that is a special token."""


class FateState(StrEnum):
    """What became of a generated token."""

    OK = "ok"
    DROPPED = "dropped"
    MISROUTED = "misrouted"
    REORDERED = "reordered"
    GARBLED = "garbled"
    UNSERVED = "unserved"
    LEFT_OUT = "left out"
    """Not delivered on purpose: the text from a stop string on."""
    UNSENT = "not sent"
    """Behind all delivered text of a response that broke off."""


class Arrival(NamedTuple):
    """Tokens whose text stands together in the field in which it was delivered."""

    start: int
    end: int
    at: int
    """Where the text begins in the whole text of the field."""
    text: str
    """As it was delivered; that of garbled tokens is not theirs."""


@dataclass(slots=True)
class Fate:
    """What became of the tokens `start` to `end`, which belong to one message."""

    start: int
    end: int
    state: FateState
    field: str | None
    """The field that should deliver it; None where no field is defined."""
    delivered_in: str | None
    message: int | None
    generated: str
    delivered: str = ""
    """Text that arrived in their place, for garbled tokens."""
    event: int | None = None
    """Event of the delivery, if it is not that of the tokens."""
    arrivals: tuple[Arrival, ...] = ()
    """Where it is in `delivered_in`, in token order."""


@dataclass(slots=True)
class Extra:
    """Delivered text that was not generated there."""

    event: int
    field: str
    text: str
    at: int
    """Where it begins in the whole text of the field."""
    start: int | None = None
    """First of the tokens whose text it repeats; None if it repeats none."""
    end: int | None = None
    last_event: int | None = None
    """Last of its events, if it came in several."""
    separates: bool = False
    """True for what the server puts between two messages of the field."""


@dataclass(slots=True, kw_only=True)
class Alignment:
    """Fates of all body tokens in token order, and what was delivered beyond them."""

    fates: list[Fate]
    extras: list[Extra]
    calls: list[int | None]
    """For each generated tool call the index under which it was delivered; None if its name was lost."""
    delivered_stop: str = ""
    """The stop string that was delivered as the end of the text, which OpenAI's API leaves out."""
    unsent: int | None = None
    """The first token behind all delivered text of a response that broke off; None in others."""


class Piece(NamedTuple):
    """Text that one event delivered in one field, or the part that is not yet matched with a token."""

    event: int
    field: str
    text: str
    start: int
    """Where it begins in the whole text of the field."""

    @property
    def end(self) -> int:
        """Past its last character in the whole text of the field."""
        return self.start + len(self.text)

    def part(self, first: int, last: int) -> "Piece":
        """The characters `first` to `last` of it."""
        return Piece(self.event, self.field, self.text[first:last], self.start + first)


@dataclass(frozen=True, slots=True)
class Part:
    """A run of tokens whose text belongs together: a body, a rejected run, all of a plain completion."""

    start: int
    end: int
    field: str | None
    """The field that should deliver it; None where no field is defined."""
    lane: str | None
    """The field in which its text is searched for first."""
    message: int | None
    kept: int | None = None
    """Characters of its text that a server delivers, which stops at a string; None for all of them."""


@dataclass(slots=True)
class Cell:
    """One generated token that completes text, with the tokens before it that only began a character."""

    first: int
    token: int
    text: str
    event: int
    field: str | None
    """The field that should deliver it; None where no field is defined."""
    lane: str | None
    """The field in which its text is searched for first."""
    message: int | None
    state: FateState
    delivered_in: str | None = None
    at: int = -1
    """Where its text begins in the whole text of the field that it was delivered in."""
    delivered: str = ""
    delivery_event: int | None = None
    """Event of the delivery, if it is not that of the token."""
    optional: bool = False
    """True for a character that the end of a message cuts off: it arrives as U+FFFD or not at all."""

    @property
    def free(self) -> bool:
        """True until it is matched with delivered text."""
        return self.state is FateState.DROPPED or self.state is FateState.UNSERVED

    @property
    def lost(self) -> bool:
        """True while a field should have this text and no field has it."""
        return self.state is FateState.DROPPED and not self.optional

    def reset(self) -> None:
        """Reset to unmatched."""
        self.state = FateState.UNSERVED if self.field is None else FateState.DROPPED
        self.delivered_in, self.at, self.delivered, self.delivery_event = None, -1, "", None

    def arrive(self, field: str, event: int, at: int) -> None:
        """Mark the text as arrived in `field`, where it begins at the character `at`."""
        self.state = FateState.OK if self.field is None or self.field == field else FateState.MISROUTED
        self.delivered_in, self.at = field, at
        self.delivery_event = None if event == self.event else event


def fill(cells: Iterable[Cell], piece: Piece) -> None:
    """Mark cells, whose texts together are that of a piece, as arrived there."""
    at = piece.start
    for cell in cells:
        cell.arrive(piece.field, piece.event, at)
        at += len(cell.text)


class Pool:
    """Cells that are searched for a run of neighbours with a given text."""

    def __init__(self, cells: Iterable[Cell]) -> None:
        self.cells = list(cells)
        self._starts = [0, *accumulate(len(cell.text) for cell in self.cells)]
        self._text = "".join(cell.text for cell in self.cells)

    def run(self, text: str, *, last: bool = False) -> Sequence[Cell]:
        """The first run of free cells with this text, or the `last`; empty when there is none."""
        return self._find(text, last=last, end=len(self._text), free=True)

    def run_within(self, text: str, count: int) -> Sequence[Cell]:
        """The last run with this text among the first `count` cells, free or not."""
        return self._find(text, last=True, end=self._starts[count], free=False)

    def _find(self, text: str, *, last: bool, end: int, free: bool) -> Sequence[Cell]:
        at = self._text.rfind(text, 0, end) if last else self._text.find(text, 0, end)
        tries = 64  # a text that occurs everywhere, but at no border of cells, must not take quadratic time
        while at >= 0 and tries:
            tries -= 1
            first, stop = bisect_left(self._starts, at), bisect_left(self._starts, at + len(text))
            if self._starts[first] == at and self._starts[stop] == at + len(text):
                run = self.cells[first:stop]
                if not free or all(cell.free for cell in run):
                    return run
            at = self._text.rfind(text, 0, at + len(text) - 1) if last else self._text.find(text, at + 1, end)
        return ()


def whole_fate(part: Part, field: str, text: str, at: int, delivered: str | None = None) -> Fate:
    """The fate of a part whose text arrived in `field` as a whole, or `delivered` in another form."""
    in_message = part.message is not None
    state = FateState.OK if in_message or part.field is not None else FateState.MISROUTED
    arrival = Arrival(part.start, part.end, at, text if delivered is None else delivered)
    return Fate(
        part.start,
        part.end,
        state,
        part.field,
        field,
        part.message,
        text,
        "" if in_message else text,
        arrivals=(arrival,),
    )


def spellings(ids: Sequence[int], parts: Sequence[Part]) -> tuple[list[str], list[str]]:
    """The texts in which parts may arrive: a character that one only begins as nothing, or as U+FFFD."""
    spans = [ids[part.start : part.end] for part in parts]
    without = [text_of(span, ended=False)[: part.kept] for span, part in zip(spans, parts, strict=True)]
    return without, [text_of(span)[: part.kept] for span, part in zip(spans, parts, strict=True)]


def with_left_out(ids: Sequence[int], part: Part, fates: Iterable[Fate]) -> list[Fate]:
    """The fates in token order, those of the tokens of a part from the stop string on cut off as left out."""
    ordered = sorted(fates, key=lambda fate: fate.start)
    lengths = accumulate(map(len, texts(ids[part.start : part.end])), initial=0)
    start = next(
        (token for token, length in enumerate(lengths, part.start) if length >= (part.kept or 0)), part.end
    )
    if part.kept is None or start >= part.end:
        return ordered
    ordered = [fate for fate in ordered if fate.start < start or fate.message != part.message]
    for fate in ordered:
        if start < fate.end and fate.message == part.message:
            fate.end = start
            fate.arrivals = tuple(arrival._replace(end=min(arrival.end, start)) for arrival in fate.arrivals)
    rest = text_of(ids[start : part.end])
    ordered.append(Fate(start, part.end, FateState.LEFT_OUT, part.field, None, part.message, rest))
    return sorted(ordered, key=lambda fate: fate.start)


def broken_off(alignment: Alignment) -> Alignment:
    """The alignment of a response that broke off: what is behind all delivered text is not lost."""
    unsent = max((fate.end for fate in alignment.fates if fate.delivered_in is not None), default=0)
    fates = [
        replace(fate, state=FateState.UNSENT) if fate.start >= unsent and fate.delivered_in is None else fate
        for fate in alignment.fates
    ]
    return replace(alignment, fates=fates, unsent=unsent)


def visible(ids: Sequence[int], skip_special: bool) -> Sequence[int]:
    """The IDs, with special tokens replaced by IDs without text if the server leaves them out."""
    if not skip_special:
        return ids
    return [-1 if FIRST_SPECIAL <= token_id < VOCABULARY_SIZE else token_id for token_id in ids]


def cells_of(tokens: Tokens, part: Part, *, skip_special: bool = False) -> Iterator[Cell]:
    """Cells of the tokens of one body or rejected run.

    A character that its end cuts off is optional, unless it is all that a message without a field has.
    """
    state = FateState.UNSERVED if part.field is None else FateState.DROPPED
    first = part.start
    ids = visible(tokens.ids[part.start : part.end], skip_special)
    length = 0
    for token, token_text in enumerate(texts(ids, ended=False), part.start):
        text = token_text if part.kept is None else token_text[: max(part.kept - length, 0)]
        length += len(text)
        if text:
            yield Cell(first, token, text, tokens.events[token], part.field, part.lane, part.message, state)
            first = token + 1
    cut = text_of(ids[first - part.start :])[: None if part.kept is None else max(part.kept - length, 0)]
    if cut:
        last = part.end - 1
        cell = Cell(first, last, cut, tokens.events[last], part.field, part.lane, part.message, state)
        cell.optional = part.field is not None or part.message is None or first > part.start
        yield cell


def fates_of(cells: Sequence[Cell]) -> Iterator[Fate]:
    """The fates of cells; adjacent cells of one message with the same fate have one together."""
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
            tuple(_arrivals(run)),
        )


def _arrivals(run: Sequence[Cell]) -> Iterator[Arrival]:
    """The places of cells with one fate; garbled ones have that of the text in their place."""
    if run[0].delivered_in is None:
        return
    if run[0].state is FateState.GARBLED:
        heads = [number for number, cell in enumerate(run) if cell.delivered]
        for first, last in zip([0, *heads[1:]], [*heads[1:], len(run)], strict=True):
            cells = run[first:last]
            delivered = "".join([cell.delivered for cell in cells])
            yield Arrival(cells[0].first, cells[-1].token + 1, cells[0].at, delivered)
        return
    first = run[0].first
    texts: list[str] = []
    at = end = run[0].at
    for cell in run:
        if cell.at != end:
            yield Arrival(first, cell.first, at, "".join(texts))
            first, at, texts = cell.first, cell.at, []
        texts.append(cell.text)
        end = cell.at + len(cell.text)
    yield Arrival(first, run[-1].token + 1, at, "".join(texts))


_piece: Final = tuple.__new__


def pieces_of(field: str, deltas: Sequence[Delta]) -> list[Piece]:
    """What was delivered in a field, delta by delta."""
    starts = accumulate((len(delta[2]) for delta in deltas), initial=0)
    # Without its Python-level constructor, which is half the cost.
    return [
        _piece(Piece, (delta[0], field, delta[2], start))
        for delta, start in zip(deltas, starts, strict=False)
    ]
