"""Two sequences aligned: same, only left, only right, replaced.

Exact (fewest edits) up to a size; beyond it, anchors that occur once on each side split the problem,
and what they leave is cut into tiles. So 131,072 unrelated tokens on each side still take seconds and
little memory; `exact` says which it was.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from inspector.analysis.alignment.edits import common_prefix, levenshtein

_CELLS_AT_MOST: Final = 600_000_000
"""Product of lengths that is aligned exactly; about a third of a second (bench/compare.py)."""

_TILE: Final = 8_192
_LANDMARK: Final = 8
"""Neighbours that together make a landmark; short enough to stand between two losses."""


class StretchKind(StrEnum):
    """What a stretch is."""

    SAME = "same"
    ONLY_LEFT = "only left"
    ONLY_RIGHT = "only right"
    REPLACED = "replaced"


class Stretch(NamedTuple):
    """Neighbours of one lane, as half-open spans; a replaced stretch is as long on both sides."""

    lane: StretchKind
    left_start: int
    left_end: int
    right_start: int
    right_end: int

    @property
    def size(self) -> int:
        """Items, on the side that has them."""
        return max(self.left_end - self.left_start, self.right_end - self.right_start)


class Fold(NamedTuple):
    """Equal items that a view leaves out."""

    left_start: int
    left_end: int
    right_start: int


class Counts(NamedTuple):
    """Items per lane."""

    equal: int
    only_left: int
    only_right: int
    replaced: int

    @property
    def differing(self) -> int:
        """Items that are not the same."""
        return self.only_left + self.only_right + self.replaced


@dataclass(frozen=True, slots=True)
class Sides:
    """All stretches of two sequences, in order, covering both."""

    stretches: tuple[Stretch, ...]
    exact: bool = True
    """False when the alignment is one of many, not the one with the fewest edits."""

    @property
    def counts(self) -> Counts:
        """Items per lane; a replaced pair counts once."""
        sums = dict.fromkeys(StretchKind, 0)
        for stretch in self.stretches:
            sums[stretch.lane] += stretch.size
        return Counts(
            sums[StretchKind.SAME],
            sums[StretchKind.ONLY_LEFT],
            sums[StretchKind.ONLY_RIGHT],
            sums[StretchKind.REPLACED],
        )

    @property
    def first_difference(self) -> Stretch | None:
        """The first stretch that is not the same; its starts are equal on both sides."""
        return next((stretch for stretch in self.stretches if stretch.lane is not StretchKind.SAME), None)

    def to_right(self, left: int) -> int | None:
        """The right place of a left item; None when it has none."""
        at = bisect_right(self.stretches, left, key=lambda stretch: stretch.left_start) - 1
        # Stretches of the right side only are empty on the left: step back to the one that holds it.
        while at >= 0:
            stretch = self.stretches[at]
            if stretch.left_start <= left < stretch.left_end:
                paired = stretch.lane in {StretchKind.SAME, StretchKind.REPLACED}
                return stretch.right_start + left - stretch.left_start if paired else None
            at -= 1
        return None

    def span_to_right(self, start: int, end: int) -> tuple[int, int] | None:
        """The right span of a left span, by its first and last item."""
        if start >= end:
            return None
        first, last = self.to_right(start), self.to_right(end - 1)
        return None if first is None or last is None else (first, last + 1)


def lay(left: Sequence[Hashable], right: Sequence[Hashable]) -> Sides:
    """Align two sequences by their items."""
    codes: dict[Hashable, int] = {}
    a = [codes.setdefault(item, len(codes)) for item in left]
    b = [codes.setdefault(item, len(codes)) for item in right]
    head = common_prefix(a, b)
    tail = _common_suffix(a, b, head)
    inner = _Piece(head, len(a) - tail, head, len(b) - tail)
    stretches: list[Stretch] = []
    if head:
        stretches.append(Stretch(StretchKind.SAME, 0, head, 0, head))
    exact = inner.cells <= _CELLS_AT_MOST
    for piece in (inner,) if exact else _tiles(_landmarks(a, b, inner)):
        stretches.extend(_exactly(a, b, piece))
    if tail:
        stretches.append(Stretch(StretchKind.SAME, len(a) - tail, len(a), len(b) - tail, len(b)))
    return Sides(tuple(_joined(stretches)), exact)


def folds(
    sides: Sides, *, context: int = 12, keep: Sequence[tuple[int, int]] = ()
) -> Iterator[Stretch | Fold]:
    """Stretches with the middle of long equal ones folded.

    `keep` are left spans that stay in view with `context` items around them, in order.
    """
    last = len(sides.stretches) - 1
    for number, stretch in enumerate(sides.stretches):
        if stretch.lane is not StretchKind.SAME:
            yield stretch
            continue
        shift = stretch.right_start - stretch.left_start
        at = stretch.left_start
        spans = [(a, b) for a, b in keep if a < stretch.left_end and b > stretch.left_start]
        spans.insert(0, (at, at if number else at - context))
        spans.append((stretch.left_end, stretch.left_end if number < last else stretch.left_end + context))
        for start, end in _windows(spans, context, stretch):
            if start > at:
                yield Fold(at, start, at + shift)
            if end > start:
                yield Stretch(StretchKind.SAME, start, end, start + shift, end + shift)
            at = max(at, end)
        if at < stretch.left_end:
            yield Fold(at, stretch.left_end, at + shift)


def _windows(spans: Sequence[tuple[int, int]], context: int, stretch: Stretch) -> list[tuple[int, int]]:
    """Spans widened by `context` and joined where a fold between them would hide less than it costs."""
    windows: list[tuple[int, int]] = []
    for low, high in spans:
        start, end = max(low - context, stretch.left_start), min(high + context, stretch.left_end)
        if end <= start:
            continue
        if windows and start - windows[-1][1] <= context:
            windows[-1] = (windows[-1][0], max(end, windows[-1][1]))
        else:
            windows.append((start, end))
    return windows


class _Piece(NamedTuple):
    """A pair of spans that is still to be aligned."""

    left: int
    left_end: int
    right: int
    right_end: int

    @property
    def cells(self) -> int:
        return (self.left_end - self.left) * (self.right_end - self.right)


def _exactly(a: Sequence[int], b: Sequence[int], piece: _Piece) -> Iterator[Stretch]:
    inner_a, inner_b = a[piece.left : piece.left_end], b[piece.right : piece.right_end]
    for code in levenshtein(inner_a, inner_b):
        yield Stretch(
            _LANES[code.tag],
            piece.left + code.src_start,
            piece.left + code.src_end,
            piece.right + code.dest_start,
            piece.right + code.dest_end,
        )


_LANES: Final = {
    "equal": StretchKind.SAME,
    "delete": StretchKind.ONLY_LEFT,
    "insert": StretchKind.ONLY_RIGHT,
    "replace": StretchKind.REPLACED,
}


def _landmarks(a: Sequence[int], b: Sequence[int], piece: _Piece) -> Iterator[_Piece]:
    """The piece, cut at the longest chain of landmarks that both sides hold once, in one order."""
    left_places, right_places = (
        _unique_runs(a, piece.left, piece.left_end),
        _unique_runs(b, piece.right, piece.right_end),
    )
    pairs = sorted((place, right_places[mark]) for mark, place in left_places.items() if mark in right_places)
    left, right = piece.left, piece.right
    for place, partner in _chain(pairs):
        if place < left or partner < right:
            continue  # overlaps the landmark before it
        yield _Piece(left, place, right, partner)
        yield _Piece(place, place + _LANDMARK, partner, partner + _LANDMARK)
        left, right = place + _LANDMARK, partner + _LANDMARK
    yield _Piece(left, piece.left_end, right, piece.right_end)


def _unique_runs(items: Sequence[int], start: int, end: int) -> dict[tuple[int, ...], int]:
    places: dict[tuple[int, ...], int] = {}
    for place in range(start, end - _LANDMARK + 1):
        mark = tuple(items[place : place + _LANDMARK])
        places[mark] = -1 if mark in places else place
    return {mark: place for mark, place in places.items() if place >= 0}


def _chain(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest run of pairs that rises on both sides (patience sorting)."""
    tops: list[int] = []
    at: list[int] = []
    before: list[int] = []
    for number, (_, partner) in enumerate(pairs):
        pile = bisect_left(tops, partner)
        before.append(at[pile - 1] if pile else -1)
        if pile == len(tops):
            tops.append(partner)
            at.append(number)
        else:
            tops[pile], at[pile] = partner, number
    chain: list[tuple[int, int]] = []
    number = at[-1] if at else -1
    while number >= 0:
        chain.append(pairs[number])
        number = before[number]
    return chain[::-1]


def _tiles(pieces: Iterator[_Piece]) -> Iterator[_Piece]:
    """Pieces cut so that each is small; both sides are cut in proportion."""
    for piece in pieces:
        longer = max(piece.left_end - piece.left, piece.right_end - piece.right)
        count = -(-longer // _TILE)
        for number in range(count):
            yield _Piece(
                piece.left + (piece.left_end - piece.left) * number // count,
                piece.left + (piece.left_end - piece.left) * (number + 1) // count,
                piece.right + (piece.right_end - piece.right) * number // count,
                piece.right + (piece.right_end - piece.right) * (number + 1) // count,
            )


def _joined(stretches: Sequence[Stretch]) -> Iterator[Stretch]:
    open_: Stretch | None = None
    for stretch in stretches:
        if open_ is not None and open_.lane is stretch.lane:
            open_ = open_._replace(left_end=stretch.left_end, right_end=stretch.right_end)
            continue
        if open_ is not None:
            yield open_
        open_ = stretch
    if open_ is not None:
        yield open_


def _common_suffix(a: Sequence[int], b: Sequence[int], head: int) -> int:
    at, most = 0, min(len(a), len(b)) - head
    while at < most and a[len(a) - 1 - at] == b[len(b) - 1 - at]:
        at += 1
    return at
