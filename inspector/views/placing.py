"""The cells of findings that rest on texts and events, where no token was sent."""

from bisect import bisect_left
from typing import Any

from inspector.alignment import Alignment, FateState
from inspector.audit import KINDS, Finding, Kind

__all__ = ["piece_span", "reconstructed_span"]


def piece_span(finding: Finding, shape: dict[str, Any]) -> dict[str, int | None]:
    """The cells of a finding that has no tokens."""
    cells, blocks, runs, events = shape["places"]
    block = next((one for one in blocks if one["channel"] == finding.field), None)
    if finding.kind is Kind.DROPPED and block is not None:
        for place in range(block["start"], block["end"]):
            around = finding.event_start is None or abs(events[place] - finding.event_start) <= 1
            if runs[place][3] == "dropped" and cells[place] == finding.generated and around:
                return {"cell_start": place, "cell_end": place + 1}
    if finding.event_start is None:
        return {"cell_start": None, "cell_end": None}
    end = finding.event_end or finding.event_start + 1
    inside = [place for place, event in enumerate(events) if finding.event_start <= event < end]
    if not inside:
        return {"cell_start": None, "cell_end": None}
    return {"cell_start": inside[0], "cell_end": inside[-1] + 1}


def reconstructed_span(
    finding: Finding, shape: dict[str, Any], laid: Alignment | None
) -> dict[str, int | None]:
    """The cells of a finding from texts and events, among reconstructed tokens."""
    if finding.token_start is not None:
        return {}
    lost = [] if laid is None else [fate for fate in laid.fates if fate.state is not FateState.OK]
    for first in range(len(lost)):
        # What the final object has in one field may be of several messages.
        rest = finding.generated or ""
        for fate in lost[first:]:
            if not rest or not rest.startswith(fate.generated):
                break
            rest = rest.removeprefix(fate.generated)
            if not rest:
                return {"cell_start": lost[first].start, "cell_end": fate.end}
    if KINDS[finding.kind].marks:
        return {"cell_start": None, "cell_end": None}
    if finding.event_start is None:
        return {"cell_start": None, "cell_end": None}
    index, starts = shape["events"]["index"], [*shape["events"]["start"], shape["count"]]
    first = bisect_left(index, finding.event_start)
    last = bisect_left(index, finding.event_end or finding.event_start + 1)
    if first == last:
        return {"cell_start": None, "cell_end": None}
    return {"cell_start": starts[first], "cell_end": starts[last]}
