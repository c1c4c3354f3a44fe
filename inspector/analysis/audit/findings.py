"""A reading to findings: generated against delivered, on whatever evidence is there.

`generated` is computed from token ids alone, `delivered` from deltas alone; without ids the server's
final texts are compared with its deltas. One cause is one finding.
"""

from collections.abc import Iterable, Iterator, Mapping

from inspector.analysis.alignment import Alignment, alignments
from inspector.analysis.audit.answer_checks import no_answer, special_tokens, unknown_headers
from inspector.analysis.audit.calls import broken_arguments, nameless_calls
from inspector.analysis.audit.final_object import final_findings
from inspector.analysis.audit.finding import Finding
from inspector.analysis.audit.kinds import Severity
from inspector.analysis.audit.losses import lost_findings, refusal_findings
from inspector.analysis.audit.missing_ids import ids_missing
from inspector.analysis.audit.offered_calls import unoffered_calls
from inspector.analysis.audit.reconstructed import reconstructed_findings
from inspector.analysis.audit.rejection import Rejection, rejection
from inspector.analysis.audit.rejection_findings import rejection_findings
from inspector.analysis.audit.stream_checks import end_findings
from inspector.analysis.reading import ChoiceReading, Reading
from inspector.capture.deltas import tool_index


def audit(
    reading: Reading,
    aligned: Mapping[int, Alignment | None] | None = None,
    stopped: Rejection | None = None,
) -> list[Finding]:
    """All findings of a reading, errors before warnings, then in the order of the stream.

    None of a response that was read in part, as what is missing may be in the rest, and none of another
    model's.

    `aligned` and `stopped` are what `alignments` and `rejection` say of it, where they are known already.
    """
    if reading.unread or reading.foreign:
        return []
    if aligned is None:
        aligned, stopped = alignments(reading), rejection(reading)
    found = list(_findings(reading, aligned, stopped))
    for choice in reading.choices:
        found += unoffered_calls(reading, choice, [one for one in found if one.choice == choice.index])
    if not ids_missing(reading):
        for choice in reading.choices:
            others = [one for one in found if one.choice == choice.index]
            found += no_answer(reading, choice, others)
    found.sort(key=_order)
    return found


def _findings(
    reading: Reading, aligned: Mapping[int, Alignment | None], stopped: Rejection | None
) -> Iterator[Finding]:
    holes = ids_missing(reading)
    for choice in reading.choices:
        if choice.has_ids:
            if not holes:
                yield from refusal_findings(choice)
                yield from special_tokens(choice)
                if not reading.spec.delivers:
                    yield from unknown_headers(choice)
            laid = aligned[choice.index]
            if laid is not None:
                lost = list(lost_findings(reading, choice, laid, ids_missing=holes))
                yield from lost
                yield from _nameless(reading, choice, lost)
            if holes and reading.spec.deltas_only:
                yield from broken_arguments(choice)
        elif choice.has_finals:
            found = list(final_findings(reading, choice))
            yield from found or reconstructed_findings(reading, choice, aligned[choice.index])
        else:
            yield from _nameless(reading, choice, ())
            if reading.spec.deltas_only:
                yield from broken_arguments(choice)
    yield from rejection_findings(reading, stopped)
    yield from end_findings(reading, holes=holes)


def _nameless(reading: Reading, choice: ChoiceReading, found: Iterable[Finding]) -> Iterator[Finding]:
    if reading.spec.deltas_only:
        told = {tool_index(field or "") for one in found for field in (one.field, one.delivered_in)}
        yield from nameless_calls(choice, told)


def _order(finding: Finding) -> tuple[bool, int, int, int]:
    far = 1 << 60
    return (
        finding.severity is not Severity.ERROR,
        finding.choice,
        finding.token_start if finding.token_start is not None else far,
        finding.event_start if finding.event_start is not None else far,
    )
