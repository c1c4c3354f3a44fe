"""What a client got of a response, as one of a few words, by which thousands are counted.

The outcome is the verdict's; what is wrong with a damaged response is read from findings and texts, never
from sentences.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from inspector.analysis.audit import FieldTexts, Finding
from inspector.analysis.audit.facts import HarmonyText
from inspector.analysis.audit.kinds import Code, Kind, Severity
from inspector.analysis.audit.outcome import ResponseOutcome
from inspector.capture.deltas import CONTENT, REASONING, TEXT, tool_index
from inspector.inspection.inspection import Examined

_LOST_CALLS: Final = frozenset({Code.CALL_LOST, Code.CALL_WITHOUT_EVENTS, Code.CALL_AS_TEXT})
_MISREAD_CALLS: Final = frozenset({Code.FINAL_CALL_OF_SPECIAL_TOKEN, Code.FINAL_FUNCTION_AS_MCP})
_LOSSES: Final = frozenset({Code.REJECTED_SILENTLY, Code.CALL_LOST})


class Delivery(StrEnum):
    """What a client got, worst first; public as a column of a scan."""

    NO_ANSWER = "no answer"
    """Neither an answer nor a tool call, no error, and the model wrote one."""
    BROKEN_CALL = "broken tool call"
    """A tool call that is lost or cannot be made as it arrived."""
    RAW_HARMONY = "raw Harmony"
    WRONG_FIELD = "text in the wrong field"
    """Reasoning in the answer, usually."""
    TEXT_MISSING = "text missing"
    TEXT_ALTERED = "text altered"
    ERROR_REPORTED = "error reported"
    """By the server: an HTTP status, an error in the stream, an early end."""
    UNDETERMINED = "cannot be determined"
    COMPLETE = "complete"


DAMAGED: Final = tuple(Delivery)[: tuple(Delivery).index(Delivery.ERROR_REPORTED)]
"""What is damaged: text was lost, changed or put into another field, and no error said so."""

_OUTCOMES: Final = {
    ResponseOutcome.COMPLETE: Delivery.COMPLETE,
    ResponseOutcome.FAILED: Delivery.ERROR_REPORTED,
    ResponseOutcome.REJECTED: Delivery.ERROR_REPORTED,
    ResponseOutcome.ABORTED: Delivery.UNDETERMINED,
    ResponseOutcome.UNKNOWN: Delivery.UNDETERMINED,
}


def delivery_of(examined: Examined) -> Delivery:
    """What the client got of a response; the worst of its choices."""
    outcome = examined.verdict.outcome
    if outcome is not ResponseOutcome.DAMAGED:
        return _OUTCOMES[outcome]
    damage = []
    for choice in examined.reading.choices:
        findings = [finding for finding in examined.findings if finding.choice == choice.index]
        if findings:
            damage.append(_damage(examined.fields(choice), findings))
    return min(damage, key=DAMAGED.index, default=Delivery.TEXT_ALTERED)


def _damage(fields: Sequence[FieldTexts], findings: Sequence[Finding]) -> Delivery:
    codes = {finding.code for finding in findings}
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    others = [row for row in fields if row.field != REASONING]
    misread = codes & _MISREAD_CALLS
    arrived = (
        misread
        or any(row.delivered for row in others)
        or any(finding.delivered_in not in {None, REASONING} for finding in findings)
    )
    if not arrived and (codes & _LOSSES or any(row.generated for row in others)):
        return Delivery.NO_ANSWER
    if (
        misread
        or codes & _LOST_CALLS
        or any(
            finding.kind is Kind.INVALID_TOOL_ARGUMENTS or _is_of_call(finding.field) for finding in errors
        )
    ):
        return Delivery.BROKEN_CALL
    if any(isinstance(finding.facts, HarmonyText) for finding in findings):
        return Delivery.RAW_HARMONY
    if any(finding.kind is Kind.MISROUTED for finding in errors):
        return Delivery.WRONG_FIELD
    if codes & _LOSSES or any(finding.kind is Kind.DROPPED for finding in errors):
        return Delivery.TEXT_MISSING
    return Delivery.TEXT_ALTERED


def _is_of_call(field: str | None) -> bool:
    return field is not None and field not in {CONTENT, TEXT} and tool_index(field) is not None
