"""Findings as the strip shows them, and the cells of those that are about texts or events, not tokens."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from inspector.analysis.alignment import Alignment, Fate, FateState
from inspector.analysis.audit import KINDS, Finding, Kind
from inspector.issues import Situation
from inspector.views.payload import Cells, CellSpan, FindingRow, Pipeline
from inspector.views.rows import finding_words, issue_row

_NOT_LOST: Final = frozenset({FateState.OK, FateState.LEFT_OUT, FateState.UNSENT})
_NOWHERE: Final[CellSpan] = {"cell_start": None, "cell_end": None}


def strip_finding(finding: Finding, situation: Situation, span: CellSpan) -> FindingRow:
    """One finding in words, with the first step for each of its known issues in a situation.

    `span` is empty where the cells are tokens.
    """
    words = finding_words(finding)
    return {
        "kind": str(finding.kind),
        "severity": str(finding.severity),
        "title": words["title"],
        "line": words["line"],
        "explanation": words["line"],
        "field": finding.field,
        "token_start": finding.token_start,
        "token_end": finding.token_end,
        "event_start": finding.event_start,
        "event_end": finding.event_end,
        "generated": finding.generated,
        # A count is in the sentence; shown as delivered text it would read as a number that arrived.
        "delivered": None if finding.kind is Kind.COUNT_MISMATCH else finding.delivered,
        "delivered_in": finding.delivered_in,
        "choice": finding.choice,
        "sent": finding.sent,
        "known_issues": [issue_row(issue, situation) for issue in finding.known_issues],
        **span,
    }


def event_of_cells(cells: Cells) -> list[int]:
    """The event that brought each cell."""
    index, starts = cells["events"]["index"], cells["events"]["start"]
    ends = [*starts[1:], cells["count"]]
    spans = zip(index, starts, ends, strict=False)  # without events the count alone is left over
    return [event for event, start, end in spans for _ in range(start, end)]


def piece_span(finding: Finding, cells: Cells, pipeline: Pipeline, events: Sequence[int]) -> CellSpan:
    """The cells of a finding without tokens; `events` has the event of each cell."""
    if finding.kind is Kind.DROPPED:
        fields = [lane["field"] for lane in pipeline["lanes"]]
        for start, end, fate, lane, *_ in pipeline["fates"]:
            if fate != "lost" or lane is None or fields[lane] != finding.field:
                continue
            for place in range(start, end):
                around = finding.event_start is None or abs(events[place] - finding.event_start) <= 1
                if cells["texts"][str(place)] == finding.generated and around:
                    return {"cell_start": place, "cell_end": place + 1}
    if finding.event_start is None:
        return _NOWHERE
    end = finding.event_end or finding.event_start + 1
    inside = [place for place, event in enumerate(events) if finding.event_start <= event < end]
    return {"cell_start": inside[0], "cell_end": inside[-1] + 1} if inside else _NOWHERE


def reconstructed_spans(
    findings: Sequence[Finding], cells: Cells, laid: Alignment | None
) -> Iterator[CellSpan]:
    """The cells of findings from texts and events, among reconstructed tokens.

    A text may be lost more than once: each finding of a field is behind the one before.
    """
    lost = [] if laid is None else [fate for fate in laid.fates if fate.state not in _NOT_LOST]
    of_field: defaultdict[str | None, list[Fate]] = defaultdict(list)
    for fate in lost:
        of_field[fate.field].append(fate)
    behind: defaultdict[str | None, int] = defaultdict(int)
    for finding in findings:
        own = of_field[finding.field]
        if finding.token_start is not None:
            yield {}
        elif (place := _place(finding, own, behind[finding.field]) or _place(finding, own, 0)) is not None:
            behind[finding.field] = place[1]
            yield {"cell_start": own[place[0]].start, "cell_end": own[place[1] - 1].end}
        elif (place := _place(finding, lost, 0)) is not None:
            yield {"cell_start": lost[place[0]].start, "cell_end": lost[place[1] - 1].end}
        else:
            yield _of_events(finding, cells)


def _place(finding: Finding, fates: Sequence[Fate], after: int) -> tuple[int, int] | None:
    """The first fates that are the text of a finding; one text of a field may be of several messages."""
    for first in range(after, len(fates)):
        rest = finding.generated or ""
        for place in range(first, len(fates)):
            if not rest or not rest.startswith(fates[place].generated):
                break
            rest = rest.removeprefix(fates[place].generated)
            if not rest:
                return first, place + 1
    return None


def _of_events(finding: Finding, cells: Cells) -> CellSpan:
    if KINDS[finding.kind].marks or finding.event_start is None:
        return _NOWHERE
    index, starts = cells["events"]["index"], [*cells["events"]["start"], cells["count"]]
    first = bisect_left(index, finding.event_start)
    last = bisect_left(index, finding.event_end or finding.event_start + 1)
    return {"cell_start": starts[first], "cell_end": starts[last]} if first < last else _NOWHERE
