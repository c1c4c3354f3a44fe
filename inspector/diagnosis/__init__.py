"""Known issues: findings, error text and server logs to causes, sides at fault and steps, best first.

The catalogue is `known_issues.yaml`; docs/diagnose.md explains its keys and how answers are ranked.
"""

from inspector.diagnosis.captures import (
    answers_of_capture,
    answers_of_findings,
    diagnose_capture,
    match_findings,
    named_causes,
)
from inspector.diagnosis.catalogue import catalogue, issues, read_catalogue
from inspector.diagnosis.cause import Alternative, Cause, leading, situation_among
from inspector.diagnosis.decompress import decompress
from inspector.diagnosis.issue import Issue, Side
from inspector.diagnosis.lines import lines_of_file
from inspector.diagnosis.ranking import Answer, Because, Reason
from inspector.diagnosis.result import Diagnosis, DiagnosisOutcome, Failure
from inspector.diagnosis.routes import Route, RouteKind
from inspector.diagnosis.rows import diagnosis_row, failure_row, issue_row
from inspector.diagnosis.steps import Situation, first_step, situation_of, steps_for
from inspector.diagnosis.text import diagnose_text

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
