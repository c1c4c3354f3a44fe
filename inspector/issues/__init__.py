"""Known issues: findings, error text and server logs to causes, sides at fault and steps, best first.

`catalogue` has the entries and what they may say, `findings` matches them with responses, `texts` with
messages and logs; docs/diagnose.md explains the ranking. What reads texts is not loaded for a capture.
"""

from inspector.files.compression import decompress
from inspector.issues.advice import Advice
from inspector.issues.catalogue.issue import Issue, Side
from inspector.issues.catalogue.routes import Route, RouteKind
from inspector.issues.catalogue.steps import Situation, first_step, links_for, situation_of, steps_for
from inspector.issues.catalogue.table import catalogue, issues, read_catalogue
from inspector.issues.diagnosis import Diagnosis, DiagnosisOutcome, Failure
from inspector.issues.findings.cause import Alternative, Cause
from inspector.issues.findings.diagnose import (
    IssueMatches,
    answers_of_findings,
    diagnose_capture,
    diagnosis_of,
    matches_of,
    with_known_issues,
)
from inspector.issues.json_rows import advice_row, diagnosis_row, failure_row, issue_row
from inspector.issues.ranking import Answer, Because, Reason

__all__ = [
    "Advice",
    "Alternative",
    "Answer",
    "Because",
    "Cause",
    "Diagnosis",
    "DiagnosisOutcome",
    "Failure",
    "Issue",
    "IssueMatches",
    "Reason",
    "Route",
    "RouteKind",
    "Side",
    "Situation",
    "advice_row",
    "answers_of_findings",
    "catalogue",
    "decompress",
    "diagnose_capture",
    "diagnosis_of",
    "diagnosis_row",
    "failure_row",
    "first_step",
    "issue_row",
    "issues",
    "links_for",
    "matches_of",
    "read_catalogue",
    "situation_of",
    "steps_for",
    "with_known_issues",
]
