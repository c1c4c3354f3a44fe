"""Where the lab's scorer and the audit say different things of one stream, and why.

The scorer compares what was delivered with what the script's author expects of a correct server. The audit
compares it with what the tokens say, and judges the tokens as well. So they may differ in ways that are
meant, which are the members of `Reason`; any other difference means that one of the two is wrong.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from inspector.analysis.audit import Finding, Kind, Severity
from inspector.lab.score import Outcome, Score
from inspector.lab.scripts import Script

_OF_TOKENS: Final = frozenset({Kind.UNEXPECTED_TOKEN, Kind.BAD_HEADER})
_OF_FAILURE: Final = frozenset({Kind.SERVER_ERROR, Kind.DISCONNECTED})


class Reason(StrEnum):
    """Why scorer and audit differ on a stream."""

    TOKENS = "tokens"
    """The server delivered everything, and the audit's only errors are about tokens that the strict parser
    rejects: a fault of the model, not of the delivery."""
    NO_FIELD = "no field"
    """Text is missing that a person would miss, but no field is defined for the message that it is in: the
    audit warns where the scorer counts a loss."""
    HIDDEN_IDS = "hidden ids"
    """The release sends fewer token ids than it counts (up to 0.12), so the audit cannot know what was lost
    and warns of the count."""
    CUT = "cut"
    """The stream ended early, or without an answer, and nothing says so: the audit warns, the scorer counts
    a loss."""
    FINAL_OBJECT = "final object"
    """The final object of a streamed Responses leaves out what the deltas delivered. The audit compares the
    two only where no tokens are known; the lab knows them, and gives them to it."""
    TURNS = "turns"
    """Of several turns with server-side tools the tokens of the later ones are not known to the audit."""
    UNEXPLAINED = "unexplained"
    """One of the two is wrong."""


_WARNED: Final = {
    frozenset({Kind.COUNT_MISMATCH}): Reason.HIDDEN_IDS,
    frozenset({Kind.UNSERVED, Kind.SPECIAL_TOKEN_IN_BODY, Kind.PROTOCOL}): Reason.NO_FIELD,
    frozenset({Kind.TRUNCATED, Kind.NO_ANSWER}): Reason.CUT,
}


def disagreement(script: Script, score: Score, findings: Sequence[Finding]) -> Reason | None:
    """Why the outcome of the scorer is not the one that the audit's findings amount to; None where it is."""
    errors = {one.kind for one in findings if one.severity is Severity.ERROR}
    audited = Outcome.SILENT if errors else Outcome.WHOLE
    if errors & _OF_FAILURE:
        audited = Outcome.TOLD
    if audited is score.outcome:
        return None
    if score.outcome is Outcome.WHOLE and errors <= _OF_TOKENS:
        return Reason.TOKENS
    if score.outcome is Outcome.SILENT and not errors:
        if len(script.turns) > 1:
            return Reason.TURNS
        if all(" of the final object: " in words for words in score.differences):
            return Reason.FINAL_OBJECT
        warned = {one.kind for one in findings}
        for kinds, reason in _WARNED.items():
            if kinds & warned:
                return reason
    return Reason.UNEXPLAINED
