"""Why the lab's scorer and the audit may disagree about a stream.

The scorer compares what was delivered with what the script's author expects of a correct server. The audit
compares it with the transcript of the tokens, and checks the tokens as well. `Discrepancy` lists the
differences that follow from this; any other one is a defect of the scorer or the audit.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from inspector.analysis.audit import Finding, Kind, Severity
from inspector.matrix.results import Score, ScriptOutcome
from inspector.matrix.scripts import Script

_OF_TOKENS: Final = frozenset({Kind.UNEXPECTED_TOKEN, Kind.BAD_HEADER})
_OF_FAILURE: Final = frozenset({Kind.SERVER_ERROR, Kind.DISCONNECTED})


class Discrepancy(StrEnum):
    """Why scorer and audit differ on a stream."""

    TOKENS = "tokens"
    """The server delivered everything, and the audit's only errors are about tokens that the strict parser
    rejects: a fault of the model, not of the delivery."""
    NO_FIELD = "no field"
    """Text of a message without a defined field is missing: the audit warns, the scorer counts a loss."""
    HIDDEN_IDS = "hidden ids"
    """The release sends fewer token IDs than it counts (up to 0.12): the audit warns about the count."""
    CUT = "cut"
    """The stream ended early, or without a final answer, and no error reports it: the audit warns, the scorer
    counts a loss."""
    FINAL_OBJECT = "final object"
    """The final object of a streamed Responses leaves out what the deltas delivered. The audit
    compares the two only without token evidence, and the lab supplies the tokens."""
    TURNS = "turns"
    """The audit does not know the tokens of later turns after server-side tool calls."""
    UNEXPLAINED = "unexplained"
    """One of the two is wrong."""


_BY_WARNING: Final = {
    frozenset({Kind.COUNT_MISMATCH}): Discrepancy.HIDDEN_IDS,
    frozenset({Kind.UNSERVED, Kind.SPECIAL_TOKEN_IN_BODY, Kind.PROTOCOL}): Discrepancy.NO_FIELD,
    frozenset({Kind.TRUNCATED, Kind.NO_ANSWER}): Discrepancy.CUT,
}


def discrepancy(script: Script, score: Score, findings: Sequence[Finding]) -> Discrepancy | None:
    """Why the scorer's outcome differs from that of the audit's findings; None if it does not."""
    errors = {finding.kind for finding in findings if finding.severity is Severity.ERROR}
    audited = ScriptOutcome.SILENT if errors else ScriptOutcome.COMPLETE
    if errors & _OF_FAILURE:
        audited = ScriptOutcome.REPORTED
    if audited is score.outcome:
        return None
    if score.outcome is ScriptOutcome.COMPLETE and errors <= _OF_TOKENS:
        return Discrepancy.TOKENS
    if score.outcome is ScriptOutcome.SILENT and not errors:
        if len(script.turns) > 1:
            return Discrepancy.TURNS
        if all(" of the final object: " in words for words in score.differences):
            return Discrepancy.FINAL_OBJECT
        finding_kinds = {finding.kind for finding in findings}
        for kinds, reason in _BY_WARNING.items():
            if kinds & finding_kinds:
                return reason
    return Discrepancy.UNEXPLAINED
