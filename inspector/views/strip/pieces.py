"""Delivered pieces of text: the cells of a choice whose tokens are not known."""

from collections.abc import Sequence
from typing import NamedTuple

from inspector.analysis.alignment import embed_or_align
from inspector.analysis.reading import ChoiceReading
from inspector.capture.deltas import Delta


class Pieces(NamedTuple):
    """Pieces in the order of their arrival, each of them a cell."""

    deltas: Sequence[Delta]
    lost: frozenset[int]
    """The numbers of those that did not arrive: only the server's final text has them."""


def pieces(choice: ChoiceReading) -> Pieces:
    """The deltas of a choice that has ended, with what its final texts have more, in its place.

    Lost text comes before the next delta of its field, or after the last one. Text whose field has no delta
    has the event -1.
    """
    by_field = choice.deltas_by_field()
    lost = {
        field: _lost_before(final, [delta.text for delta in by_field.get(field, ())])
        for field, final in choice.finals.items()
        if is_piece(field)
    }
    if not any(lost.values()):
        return Pieces([delta for delta in choice.deltas if is_piece(delta.field)], frozenset())
    passed = dict.fromkeys(by_field, 0)
    placed: list[tuple[Delta, bool]] = []
    for delta in choice.deltas:
        if not is_piece(delta.field):
            continue
        gaps, place = lost.get(delta.field, {}), passed[delta.field]
        placed += [(delta._replace(text=text), True) for text in gaps.get(place, ())]
        placed.append((delta, False))
        passed[delta.field] = place + 1
        if place + 1 == len(by_field[delta.field]):
            placed += [(delta._replace(text=text), True) for text in gaps.get(place + 1, ())]
    for field, gaps in lost.items():
        if field not in by_field:
            placed += [(Delta(-1, field, text), True) for texts in gaps.values() for text in texts]
    return Pieces(
        [delta for delta, _ in placed],
        frozenset(place for place, (_, is_lost) in enumerate(placed) if is_lost),
    )


def is_piece(field: str) -> bool:
    """Whether text of a field is a cell; the name of a call is the label of its lane."""
    return not field.endswith(".name")


def _lost_before(final: str, texts: Sequence[str]) -> dict[int, list[str]]:
    """What a final text has more, by the number of the delta that follows."""
    if final == "".join(texts):
        return {}
    gaps, _ = embed_or_align(final, list(texts))
    lost: dict[int, list[str]] = {}
    for start, end, _, after in gaps:
        lost.setdefault(len(texts) if after is None else after, []).append(final[start:end])
    return lost
