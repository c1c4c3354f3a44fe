"""Texts of two sides, field by field, with what differs in them.

Words first, then characters inside small replaced stretches: a lost token is seen as its own letters,
and a long text costs no more than its words.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from inspector.inspection.compare.sequences import Sides, StretchKind, lay

_WORDS: Final = re.compile(r"\w+|\s+|[^\w\s]", re.UNICODE)
_FINE_AT_MOST: Final = 1_000_000
"""Product of lengths up to which a replaced stretch is compared by characters."""


class DiffPart(NamedTuple):
    """Neighbouring characters of one lane; a side that lacks them has empty text."""

    lane: StretchKind
    left: str
    right: str


@dataclass(frozen=True, slots=True)
class FieldPair:
    """One field on both sides; None where a side cannot know its text."""

    field: str
    left: str | None
    right: str | None

    @property
    def equal(self) -> bool | None:
        """None when a side is unknown."""
        return None if self.left is None or self.right is None else self.left == self.right

    def parts(self) -> list[DiffPart]:
        """What the two texts share and what not; empty when a side is unknown."""
        return [] if self.left is None or self.right is None else diff(self.left, self.right)


def pair_fields(left: Mapping[str, str] | None, right: Mapping[str, str] | None) -> tuple[FieldPair, ...]:
    """Fields that have text on a side, in the order of their first appearance; None is a side unknown."""
    left_texts, right_texts = left or {}, right or {}
    fields = [
        field for field in {**left_texts, **right_texts} if left_texts.get(field) or right_texts.get(field)
    ]
    return tuple(
        FieldPair(
            field,
            None if left is None else left_texts.get(field, ""),
            None if right is None else right_texts.get(field, ""),
        )
        for field in fields
    )


def diff(left: str, right: str) -> list[DiffPart]:
    """What two texts share and what not; the left texts joined are `left`, the right ones `right`."""
    if left == right:
        return [DiffPart(StretchKind.SAME, left, right)] if left else []
    return list(_joined(_coarse(_WORDS.findall(left), _WORDS.findall(right))))


def _coarse(left: list[str], right: list[str]) -> Iterator[DiffPart]:
    changed: list[list[str]] = [[], []]
    for lane, a, b in _by_stretch(lay(left, right), left, right):
        if lane is StretchKind.SAME:
            yield from _fine("".join(changed[0]), "".join(changed[1]))
            changed = [[], []]
            yield DiffPart(lane, a, b)
        else:  # words lost and words replaced side by side are one change
            changed[0].append(a)
            changed[1].append(b)
    yield from _fine("".join(changed[0]), "".join(changed[1]))


def _by_stretch(sides: Sides, left: list[str], right: list[str]) -> Iterator[DiffPart]:
    for stretch in sides.stretches:
        yield DiffPart(
            stretch.lane,
            "".join(left[stretch.left_start : stretch.left_end]),
            "".join(right[stretch.right_start : stretch.right_end]),
        )


def _fine(left: str, right: str) -> Iterator[DiffPart]:
    if not left and not right:
        return
    if not left or not right:
        yield DiffPart(StretchKind.ONLY_LEFT if left else StretchKind.ONLY_RIGHT, left, right)
        return
    sides = lay(left, right) if len(left) * len(right) <= _FINE_AT_MOST else None
    # Letters that two different words happen to share are not worth showing.
    if sides is None or sides.counts.equal * 2 < min(len(left), len(right)):
        yield DiffPart(StretchKind.REPLACED, left, right)
        return
    yield from _by_stretch(sides, list(left), list(right))


def _joined(parts: Iterator[DiffPart]) -> Iterator[DiffPart]:
    open_: DiffPart | None = None
    for part in parts:
        if open_ is not None and open_.lane is part.lane:
            open_ = DiffPart(part.lane, open_.left + part.left, open_.right + part.right)
            continue
        if open_ is not None:
            yield open_
        open_ = part
    if open_ is not None:
        yield open_
