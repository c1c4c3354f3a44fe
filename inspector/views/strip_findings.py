"""A finding as the token strip shows it."""

from inspector.analysis.audit import Finding, Kind
from inspector.issues import Situation
from inspector.views.payload import CellSpan, FindingRow
from inspector.views.rows import finding_words, issue_row


def strip_finding(finding: Finding, situation: Situation, span: CellSpan) -> FindingRow:
    """One finding with its words and what to do about its issues in a situation.

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
