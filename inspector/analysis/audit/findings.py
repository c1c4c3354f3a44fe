"""A reading to findings: generated against delivered, on whatever evidence is there.

`generated` is computed from token ids alone, `delivered` from deltas alone; without ids the server's
final texts are compared with its deltas. One cause is one finding.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise

from inspector.analysis.alignment import Alignment, alignments
from inspector.analysis.audit.answer_checks import no_answer, special_tokens, unknown_headers
from inspector.analysis.audit.calls import broken_arguments, nameless_calls, unoffered_calls
from inspector.analysis.audit.delivered_text import harmony_in_text
from inspector.analysis.audit.final_object import final_findings
from inspector.analysis.audit.finding import Finding
from inspector.analysis.audit.kinds import TRANSCRIPTS, Code, Kind, Severity
from inspector.analysis.audit.losses import (
    lost_findings,
    parser_rejections,
    text_without_ids,
    unaccounted_texts,
)
from inspector.analysis.audit.missing_ids import IdsGap
from inspector.analysis.audit.rejection import rejection_findings
from inspector.analysis.audit.stream_checks import Transmission, end_findings, transmission_of
from inspector.analysis.reading import ChoiceReading, Reading
from inspector.capture.deltas import tool_index


def audit(
    reading: Reading,
    aligned: Mapping[int, Alignment | None] | None = None,
    transmission: Transmission | None = None,
) -> list[Finding]:
    """All findings of a reading, errors before warnings, then in the order of the stream.

    A response that was read in part has no findings, as missing text may be in the rest; nor has one of
    another model. `aligned` and `transmission` are computed where they are not passed.
    """
    if reading.unread or reading.foreign:
        return []
    aligned = alignments(reading) if aligned is None else aligned
    transmission = transmission_of(reading, aligned) if transmission is None else transmission
    findings = list(_findings(reading, aligned, transmission))
    for choice in reading.choices:
        if not choice.has_ids or (transmission.gap is not None and reading.spec.parsed):
            harmony = list(harmony_in_text(reading, choice, _of_choice(findings, choice)))
            if any(finding.code in TRANSCRIPTS for finding in harmony):
                # The estimate of the count takes a text for one message.
                findings = [finding for finding in findings if finding.code is not Code.COUNT_UNEXPLAINED]
            findings += harmony
        findings += unoffered_calls(reading, choice, _of_choice(findings, choice))
    if not transmission.ids_missing:
        for choice in reading.choices:
            findings += no_answer(reading, choice, _of_choice(findings, choice))
    findings.sort(key=_order)
    return findings


def _of_choice(findings: Iterable[Finding], choice: ChoiceReading) -> list[Finding]:
    return [finding for finding in findings if finding.choice == choice.index]


def _findings(
    reading: Reading, aligned: Mapping[int, Alignment | None], transmission: Transmission
) -> Iterator[Finding]:
    for choice in () if transmission.gap is IdsGap.EXCERPT else reading.choices:
        if choice.has_ids:
            yield from _by_tokens(reading, choice, aligned[choice.index], transmission.gap)
        elif choice.has_finals:
            findings = list(final_findings(reading, choice))
            yield from findings or reconstructed_findings(reading, choice, aligned[choice.index])
        else:
            yield from _nameless(reading, choice, ())
            if reading.spec.deltas_only:
                yield from broken_arguments(choice, reading.spec.no_arguments)
    yield from rejection_findings(reading, transmission.rejection)
    yield from end_findings(reading, transmission.errors, ids_missing=transmission.ids_missing)


def _by_tokens(
    reading: Reading, choice: ChoiceReading, alignment: Alignment | None, gap: IdsGap | None
) -> Iterator[Finding]:
    if gap is not None:
        if gap is IdsGap.UNEXPLAINED and alignment is not None:
            yield from text_without_ids(choice, alignment)
        if reading.spec.deltas_only:
            yield from broken_arguments(choice, reading.spec.no_arguments)
        return
    yield from parser_rejections(choice)
    yield from special_tokens(choice)
    if not reading.spec.delivers:
        yield from unknown_headers(choice)
    if alignment is not None:
        lost = list(lost_findings(reading, choice, alignment))
        yield from lost
        yield from _nameless(reading, choice, lost)
        if reading.spec.parsed:
            yield from unaccounted_texts(choice, alignment, lost, unstreamed=bool(reading.stream.bodies))


def _nameless(reading: Reading, choice: ChoiceReading, findings: Iterable[Finding]) -> Iterator[Finding]:
    if reading.spec.deltas_only:
        explained = {
            tool_index(field or "") for finding in findings for field in (finding.field, finding.delivered_in)
        }
        yield from nameless_calls(choice, explained)


def _order(finding: Finding) -> tuple[bool, int, int, int]:
    last = 1 << 60
    return (
        finding.severity is not Severity.ERROR,
        finding.choice,
        finding.token_start if finding.token_start is not None else last,
        finding.event_start if finding.event_start is not None else last,
    )


def reconstructed_findings(
    reading: Reading, choice: ChoiceReading, alignment: Alignment | None
) -> Iterator[Finding]:
    """What the reconstructed tokens say was lost or put into another field; spans count those tokens."""
    rebuilt, reconstruction = choice.rebuilt, choice.reconstruction
    if rebuilt is None or reconstruction is None or alignment is None:
        return
    run_by_server = {
        before.body for before, span in pairwise(reconstruction.spans) if before.turn < span.turn
    }
    findings = (
        *parser_rejections(rebuilt),
        *special_tokens(rebuilt),
        *lost_findings(reading, rebuilt, alignment),
    )
    for finding in findings:
        if finding.kind is Kind.UNSERVED and finding.token_start in run_by_server:
            continue  # a call of a tool that the server ran itself: its item need not have the text
        yield replace(finding, reconstructed=True)
