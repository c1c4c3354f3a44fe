"""Known issues: findings, error text and server logs to causes, sides at fault and steps, best first.

The catalogue is `known_issues.yaml`; `issue` documents its keys, docs/diagnose.md the ranking.
"""

from inspector.files.compression import decompress
from inspector.issues.captures import (
    answers_of_capture,
    answers_of_findings,
    diagnose_capture,
    match_findings,
    named_causes,
)
from inspector.issues.catalogue import catalogue, issues, read_catalogue
from inspector.issues.cause import Alternative, Cause, leading, situation_among
from inspector.issues.diagnosis import Diagnosis, DiagnosisOutcome, Failure
from inspector.issues.issue import Issue, Side
from inspector.issues.json_rows import diagnosis_row, failure_row, issue_row
from inspector.issues.lines import lines_of_file
from inspector.issues.ranking import Answer, Because, Reason
from inspector.issues.routes import Route, RouteKind
from inspector.issues.steps import Situation, first_step, situation_of, steps_for
from inspector.issues.text import diagnose_text

__all__ = [
    "Alternative",
    "Answer",
    "Because",
    "Cause",
    "Diagnosis",
    "DiagnosisOutcome",
    "Failure",
    "Issue",
    "Reason",
    "Route",
    "RouteKind",
    "Side",
    "Situation",
    "answers_of_capture",
    "answers_of_findings",
    "catalogue",
    "decompress",
    "diagnose_capture",
    "diagnose_text",
    "diagnosis_row",
    "failure_row",
    "first_step",
    "issue_row",
    "issues",
    "leading",
    "lines_of_file",
    "match_findings",
    "named_causes",
    "read_catalogue",
    "situation_among",
    "situation_of",
    "steps_for",
]
