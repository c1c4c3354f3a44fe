"""What became of a response: delivered, damaged, or ended by an error, a rejection or its client."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from inspector.analysis.audit.finding import Finding
from inspector.analysis.audit.kinds import KINDS, Code, FindingSide, Kind, Severity
from inspector.analysis.reading import Reading

_SILENT: Final = frozenset({Code.REJECTED_SILENTLY, Code.CALL_LOST})
"""Codes of warnings by which text is missing without an error."""
_DOUBT: Final = frozenset({Code.COUNT_ABOVE_SENT, Code.COUNT_ABOVE_LOGPROBS, Code.COUNT_UNEXPLAINED})
"""Codes of missing tokens that cannot be identified."""
_REJECTED: Final = range(400, 500)


class ResponseOutcome(StrEnum):
    """The closed set of outcomes, public in `audit --json` and as a label of metrics: none is renamed."""

    COMPLETE = "complete"
    """Checked, and all that was generated was delivered."""
    DAMAGED = "damaged"
    """No error, and text was lost, changed or put into another field."""
    FAILED = "failed"
    """With an error of the server that the client sees: HTTP 5xx, an error in the stream, an early end."""
    REJECTED = "rejected"
    """The server rejected the request (HTTP 4xx), and not for what its model generated."""
    ABORTED = "aborted"
    """The client, the user or a proxy closed the connection; what was delivered before is not damaged."""
    UNKNOWN = "unknown"
    """No error, and not enough evidence."""


def response_outcome(reading: Reading, findings: Sequence[Finding], *, proven: bool) -> ResponseOutcome:
    """The outcome of a response; `proven` is false where its evidence allows no verdict."""
    status = reading.header.status or 200
    sides = {KINDS[finding.kind].side for finding in findings}
    # Before damage: the client saw these failures, and metrics that alert on damage must not count them.
    if status in _REJECTED and FindingSide.MODEL not in sides:
        return ResponseOutcome.REJECTED
    if status >= _REJECTED.start or reading.stream.errors or FindingSide.ABORT in sides:
        return ResponseOutcome.FAILED
    if any(_is_damage(finding) for finding in findings):
        return ResponseOutcome.DAMAGED
    # After damage: what arrived before a client left can be damaged all the same.
    if reading.stopped or any(finding.kind is Kind.ABORTED for finding in findings):
        return ResponseOutcome.ABORTED
    if not proven or any(finding.code in _DOUBT for finding in findings):
        return ResponseOutcome.UNKNOWN
    return ResponseOutcome.COMPLETE


def _is_damage(finding: Finding) -> bool:
    if finding.severity is Severity.ERROR:
        return KINDS[finding.kind].side is FindingSide.TEXT or finding.kind is Kind.INVALID_TOOL_ARGUMENTS
    return finding.code in _SILENT
