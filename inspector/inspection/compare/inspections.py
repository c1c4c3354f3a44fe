"""Two inspections compared choice by choice; left is the reference."""

from collections.abc import Iterable, Iterator

from inspector.analysis.alignment import FateState
from inspector.analysis.metrics import figures
from inspector.analysis.reading import ChoiceReading, Reading
from inspector.inspection.compare.comparison import Apart, ChoiceComparison, Comparison, Divergence
from inspector.inspection.compare.joining import JoinedBy, joined
from inspector.inspection.compare.matching import match
from inspector.inspection.compare.passing import passing
from inspector.inspection.compare.sentence import Pair, judge, judge_gateway
from inspector.inspection.compare.sequences import Sides, StretchKind, lay
from inspector.inspection.compare.settings import differing
from inspector.inspection.compare.texts import pair_fields
from inspector.inspection.inspection import Inspection


def compare(left: Inspection, right: Inspection, *, joined_by: JoinedBy | None = None) -> Comparison:
    """Compare `right` with `left`, token by token where both sides have IDs.

    `joined_by` says that both are one response, left behind a gateway and right before it; without it,
    that is known only where the captures show it, in whatever order.
    """
    server_side, client_side = left, right
    if joined_by is None and (joined_by := joined(left.capture, right.capture)) is None:
        joined_by = joined(right.capture, left.capture)
        server_side, client_side = right, left
    left_choices = {choice.index: choice for choice in left.reading.choices}
    right_choices = {choice.index: choice for choice in right.reading.choices}
    choices = tuple(
        _choice(left, right, left_choices.get(index), right_choices.get(index))
        for index in sorted({*left_choices, *right_choices})
    )
    sides = {choice.index: choice.tokens for choice in choices if choice.tokens is not None}
    findings = match(left.findings, right.findings, sides)
    settings = differing(left.reading, right.reading)
    judgement = judge(Pair(left=left, right=right, choices=choices, findings=findings, settings=settings))
    passed = None
    if joined_by is not None:
        passed = passing(server_side.reading, client_side.reading)
        judgement = judge_gateway(
            server_side, client_side, passed, joined_by, server_first=server_side is left
        )
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
        joined_by=joined_by,
        passing=passed,
        server_side=None if passed is None else server_side,
    )


def compare_all(reference: Inspection, inspections: Iterable[Inspection]) -> list[Comparison]:
    """Each of `others` against one reference, in their order."""
    return [compare(reference, inspection) for inspection in inspections]


def _choice(
    left: Inspection, right: Inspection, left_choice: ChoiceReading | None, right_choice: ChoiceReading | None
) -> ChoiceComparison:
    tokens = None
    if left_choice is not None and right_choice is not None and left_choice.has_ids and right_choice.has_ids:
        tokens = lay(left_choice.tokens.ids, right_choice.tokens.ids)
    index = (
        left_choice.index
        if left_choice is not None
        else right_choice.index
        if right_choice is not None
        else 0
    )
    divergence = None
    other_fates: tuple[Apart, ...] = ()
    if tokens is not None and left_choice is not None and right_choice is not None:
        divergence = _divergence(tokens, left_choice, right_choice)
        other_fates = tuple(_other_fates(tokens, (left, left_choice), (right, right_choice)))
    return ChoiceComparison(
        index=index,
        tokens=tokens,
        apart=other_fates,
        generated=pair_fields(_generated(left_choice), _generated(right_choice)),
        delivered=pair_fields(_delivered(left.reading, left_choice), _delivered(right.reading, right_choice)),
        divergence=divergence,
    )


def _generated(choice: ChoiceReading | None) -> dict[str, str] | None:
    if choice is None:
        return None
    generated = choice.generated()
    if generated is not None:
        return generated.by_field()
    return dict(choice.finals) if choice.has_finals else None


def _delivered(reading: Reading, choice: ChoiceReading | None) -> dict[str, str] | None:
    if not reading.spec.delivers:
        return None
    return {} if choice is None else choice.delivered().by_field()


def _divergence(tokens: Sides, left_choice: ChoiceReading, right_choice: ChoiceReading) -> Divergence | None:
    first = tokens.first_difference
    if first is None:
        return None
    place = first.left_start
    left, right = (
        side.tokens.events[place] if place < len(side.tokens) and side.tokens.events[place] >= 0 else None
        for side in (left_choice, right_choice)
    )
    return Divergence(left_choice.index, place, left if place < len(left_choice.tokens) else right, right)


_Run = tuple[int, int, str | None, str]
_FINE = frozenset({"", str(FateState.OK), str(FateState.LEFT_OUT)})
"""States of tokens that a server treated as it promises."""


def _other_fates(
    tokens: Sides, left: tuple[Inspection, ChoiceReading], right: tuple[Inspection, ChoiceReading]
) -> Iterator[Apart]:
    """Equal tokens whose delivery differs, as runs."""
    left_runs, right_runs = _fates(*left), _fates(*right)
    if left_runs is None or right_runs is None:
        return
    # Raw text has one field for everything, framing too: that alone is not a difference.
    unlike = left[0].reading.spec.raw != right[0].reading.spec.raw
    for stretch in tokens.stretches:
        if stretch.lane is not StretchKind.SAME:
            continue
        shift = stretch.right_start - stretch.left_start
        edges = {stretch.left_start, stretch.left_end}
        edges |= {
            edge for run in left_runs for edge in run[:2] if stretch.left_start < edge < stretch.left_end
        }
        edges |= {
            edge - shift
            for run in right_runs
            for edge in run[:2]
            if stretch.right_start < edge < stretch.right_end
        }
        ordered = sorted(edges)
        lanes = (_states(left_runs, ordered), _states(right_runs, [edge + shift for edge in ordered]))
        for start, end, a, b in zip(ordered, ordered[1:], *lanes, strict=False):
            if a != b and not (unlike and a[1] in _FINE and b[1] in _FINE):
                yield Apart(start, end, start + shift, *a, *b)


def _fates(inspection: Inspection, choice: ChoiceReading) -> list[_Run] | None:
    laid = inspection.alignments[choice.index]
    if laid is None:
        return None
    return [(fate.start, fate.end, fate.delivered_in, str(fate.state)) for fate in laid.fates]


def _states(runs: list[_Run], places: list[int]) -> list[tuple[str | None, str]]:
    """Field and state at each place; runs and places are in order."""
    states: list[tuple[str | None, str]] = []
    at = 0
    for place in places:
        while at < len(runs) and runs[at][1] <= place:
            at += 1
        inside = at < len(runs) and runs[at][0] <= place
        states.append((runs[at][2], runs[at][3]) if inside else (None, ""))
    return states
