"""Two inspections compared choice by choice; left is the reference."""

from collections.abc import Iterable, Iterator

from inspector.analysis.alignment import FateState
from inspector.analysis.metrics import figures
from inspector.analysis.reading import ChoiceReading, Reading
from inspector.inspection.compare.comparison import Apart, ChoiceComparison, Comparison, Divergence
from inspector.inspection.compare.matching import match
from inspector.inspection.compare.sentence import Pair, judge
from inspector.inspection.compare.sequences import Lane, Sides, lay
from inspector.inspection.compare.settings import differing
from inspector.inspection.compare.texts import pair_fields
from inspector.inspection.inspection import Inspection


def compare(left: Inspection, right: Inspection) -> Comparison:
    """Hold `right` against `left`, by token where both sides have ids."""
    mine = {choice.index: choice for choice in left.reading.choices}
    other = {choice.index: choice for choice in right.reading.choices}
    choices = tuple(
        _choice(left, right, mine.get(index), other.get(index)) for index in sorted({*mine, *other})
    )
    sides = {choice.index: choice.tokens for choice in choices if choice.tokens is not None}
    findings = match(left.findings, right.findings, sides)
    settings = differing(left.reading, right.reading)
    judgement = judge(Pair(left=left, right=right, choices=choices, findings=findings, settings=settings))
    return Comparison(
        left=left,
        right=right,
        choices=choices,
        findings=findings,
        settings=settings,
        timing=(figures(left.reading), figures(right.reading)),
        outcome=judgement.outcome,
        sentence=judgement.sentence,
        why=judgement.why,
    )


def compare_all(reference: Inspection, others: Iterable[Inspection]) -> list[Comparison]:
    """Each of `others` against one reference, in their order."""
    return [compare(reference, other) for other in others]


def _choice(
    left: Inspection, right: Inspection, mine: ChoiceReading | None, other: ChoiceReading | None
) -> ChoiceComparison:
    tokens = None
    if mine is not None and other is not None and mine.has_ids and other.has_ids:
        tokens = lay(mine.tokens.ids, other.tokens.ids)
    index = mine.index if mine is not None else other.index if other is not None else 0
    divergence = None
    apart: tuple[Apart, ...] = ()
    if tokens is not None and mine is not None and other is not None:
        divergence = _divergence(tokens, mine, other)
        apart = tuple(_apart(tokens, (left, mine), (right, other)))
    return ChoiceComparison(
        index=index,
        tokens=tokens,
        apart=apart,
        generated=pair_fields(_generated(mine), _generated(other)),
        delivered=pair_fields(_delivered(left.reading, mine), _delivered(right.reading, other)),
        divergence=divergence,
    )


def _generated(choice: ChoiceReading | None) -> dict[str, str] | None:
    if choice is None:
        return None
    known = choice.generated()
    if known is not None:
        return known.by_field()
    return dict(choice.finals) if choice.has_finals else None


def _delivered(reading: Reading, choice: ChoiceReading | None) -> dict[str, str] | None:
    if not reading.spec.delivers:
        return None
    return {} if choice is None else choice.delivered().by_field()


def _divergence(tokens: Sides, mine: ChoiceReading, other: ChoiceReading) -> Divergence | None:
    first = tokens.first_difference
    if first is None:
        return None
    place = first.left_start
    left, right = (
        side.tokens.events[place] if place < len(side.tokens) and side.tokens.events[place] >= 0 else None
        for side in (mine, other)
    )
    return Divergence(mine.index, place, left if place < len(mine.tokens) else right, right)


_Run = tuple[int, int, str | None, str]
_FINE = frozenset({"", str(FateState.OK)})
"""States of tokens that a server treated as it promises."""


def _apart(
    tokens: Sides, left: tuple[Inspection, ChoiceReading], right: tuple[Inspection, ChoiceReading]
) -> Iterator[Apart]:
    """Equal tokens whose delivery differs, as runs."""
    mine, other = _fates(*left), _fates(*right)
    if mine is None or other is None:
        return
    # Raw text has one field for everything, framing too: that it is another one is no difference in itself.
    unlike = left[0].reading.spec.raw != right[0].reading.spec.raw
    for one in tokens.stretches:
        if one.lane is not Lane.SAME:
            continue
        shift = one.right_start - one.left_start
        edges = {one.left_start, one.left_end}
        edges |= {edge for run in mine for edge in run[:2] if one.left_start < edge < one.left_end}
        edges |= {edge - shift for run in other for edge in run[:2] if one.right_start < edge < one.right_end}
        ordered = sorted(edges)
        lanes = (_states(mine, ordered), _states(other, [edge + shift for edge in ordered]))
        for start, end, a, b in zip(ordered, ordered[1:], *lanes, strict=False):
            if a != b and not (unlike and a[1] in _FINE and b[1] in _FINE):
                yield Apart(start, end, start + shift, *a, *b)


def _fates(seen: Inspection, choice: ChoiceReading) -> list[_Run] | None:
    laid = seen.alignments[choice.index]
    if laid is None:
        return None
    return [(fate.start, fate.end, fate.delivered_in, str(fate.state)) for fate in laid.fates]


def _states(runs: list[_Run], places: list[int]) -> list[tuple[str | None, str]]:
    """Field and state at each place; runs and places are in order."""
    found: list[tuple[str | None, str]] = []
    at = 0
    for place in places:
        while at < len(runs) and runs[at][1] <= place:
            at += 1
        here = at < len(runs) and runs[at][0] <= place
        found.append((runs[at][2], runs[at][3]) if here else (None, ""))
    return found
