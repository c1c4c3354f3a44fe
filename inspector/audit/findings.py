"""A reading to findings: generated against delivered, on whatever evidence is there.

`generated` is computed from token ids alone, `delivered` from deltas alone; without ids the server's
final texts are held against its deltas. One cause is one finding.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from inspector.alignment import align_choice
from inspector.audit.calls import broken_arguments, nameless_calls
from inspector.audit.final_object import final_findings
from inspector.audit.finding import Finding, Severity
from inspector.audit.losses import lost_findings, refusal_findings
from inspector.audit.stream_checks import end_findings
from inspector.capture import Endpoint, EventKind
from inspector.deltas import tool_index
from inspector.harmony.vocab import Marker
from inspector.reading import ChoiceReading, Evidence, Reading

__all__ = ["audit", "ids_missing"]

_FIRST = {Marker.CHANNEL, Marker.START}
"""Ids that a completion begins with, but for one that names a recipient first."""
_HEADER_AT_MOST = 12
_ALL_IDS_FROM = (0, 13)
"""First vLLM release that sends the ids of all tokens on chat (pull request 29074)."""


def audit(reading: Reading) -> list[Finding]:
    """All findings of a reading, errors before warnings, then in the order of the stream."""
    found = list(_findings(reading))
    found.sort(key=_order)
    return found


def _findings(reading: Reading) -> Iterator[Finding]:
    holes = ids_missing(reading)
    for choice in reading.choices:
        if choice.has_ids:
            if not holes:
                yield from refusal_findings(choice)
            laid = align_choice(reading, choice)
            if laid is not None:
                lost = list(lost_findings(reading, choice, laid, ids_missing=holes))
                yield from lost
                yield from _nameless(reading, choice, lost)
            if holes and reading.header.endpoint is Endpoint.CHAT:
                yield from broken_arguments(choice)
        elif choice.evidence is Evidence.FINAL_OBJECT:
            yield from final_findings(reading, choice)
        else:
            yield from _nameless(reading, choice, ())
            if reading.header.endpoint is Endpoint.CHAT:
                yield from broken_arguments(choice)
    yield from end_findings(reading, holes=holes)


def _nameless(reading: Reading, choice: ChoiceReading, found: Iterable[Finding]) -> Iterator[Finding]:
    if reading.header.endpoint is Endpoint.CHAT:
        told = {tool_index(field or "") for one in found for field in (one.field, one.delivered_in)}
        yield from nameless_calls(choice, told)


def ids_missing(reading: Reading) -> bool:
    """True when the server sent fewer ids than tokens (vLLM issue 27482).

    Then the parse of those that came is a guess: only text that they have and nobody delivered is certain.
    vLLM to 0.12 sends no chat chunk, and so no ids, for tokens without text of their own; a stream of it that
    has no count, because it ended in an error, is taken so too when its ids do not begin a header.
    """
    usage = reading.stream.usage
    counted = None if usage is None else usage.get("completion_tokens", usage.get("output_tokens"))
    seen = sum(len(choice.tokens) for choice in reading.choices)
    if type(counted) is int:
        return counted > seen
    if reading.header.endpoint is not Endpoint.CHAT:
        return False
    if not any(event.kind is EventKind.SSE for event in reading.events):
        return False
    # Logprobs go with a chunk, and a step without text has none.
    if any(choice.evidence is Evidence.LOGPROBS for choice in reading.choices):
        return True
    release = re.match(r"(\d+)\.(\d+)", reading.server_version or "")
    if release is None:
        return any(_headless(choice.tokens.ids[:_HEADER_AT_MOST]) for choice in reading.choices)
    begun = all(choice.tokens.ids[0] in _FIRST for choice in reading.choices if choice.tokens)
    return (int(release[1]), int(release[2])) < _ALL_IDS_FROM and not begun


def _headless(ids: Sequence[int]) -> bool:
    """True when the first body begins without a channel before it."""
    before = ids[: ids.index(Marker.MESSAGE)] if Marker.MESSAGE in ids else ()
    return Marker.MESSAGE in ids and _FIRST.isdisjoint(before)


def _order(finding: Finding) -> tuple[bool, int, int, int]:
    far = 1 << 60
    return (
        finding.severity is not Severity.ERROR,
        finding.choice,
        finding.token_start if finding.token_start is not None else far,
        finding.event_start if finding.event_start is not None else far,
    )
