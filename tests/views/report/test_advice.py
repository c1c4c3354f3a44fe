"""Whatever gives advice for a capture gives the same: verdict, report, SARIF, strip and diagnosis."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from inspector import load
from inspector.inspection.inspection import Inspection, inspect
from inspector.issues import diagnose_capture, issues, situation_of, steps_for
from inspector.issues.json_rows import diagnosis_row
from inspector.lab.results import captures_of, every_run
from inspector.views.report.facts import facts
from inspector.views.report.reports import html_report, markdown_report
from inspector.views.rows import audit_row, issue_row
from inspector.views.sarif import audit_sarif

FIXTURES = sorted((Path(__file__).parents[3] / "fixtures").glob("*.jsonl*"))
RELEASE = re.compile(r"(?i)(?:upgrade to|fixed in|fix(?:ed)? since|from) (?:vllm )?(\d+\.\d+\.\d+)")
MATRIX = every_run()[::13]
EACH = 17


def releases(text: str) -> set[str]:
    """Releases that a text recommends."""
    return set(RELEASE.findall(text.replace("\\", "").replace("<b>", "").replace("</b>", "")))


def check(seen: Inspection) -> None:
    told = diagnose_capture(seen.findings, seen.reading)
    report = facts(seen)
    assert (seen.cause is None) == (not told.answers) == (not report.issues)
    for finding, cause in zip(seen.findings, seen.causes, strict=True):
        assert [cause.id] == list(finding.known_issues[:1]) if cause else not finding.known_issues
    results = json.loads(audit_sarif([seen]))["runs"][0]["results"]
    steps = [one["properties"]["first_step"] for one in results]
    assert steps == [cause and cause.first_step for cause in seen.causes]
    if seen.cause is None:
        return
    step = seen.cause.first_step
    assert step in seen.verdict.known
    assert audit_row("x", seen)["verdict"]["cause"]["first_step"] == step
    situation = situation_of(seen.reading)
    assert issue_row(seen.cause.id, situation)["fix"] == step
    assert told.answers[0].issue.id == report.issues[0].issue.id == seen.cause.id
    assert told.steps_for(told.answers[0].issue)[0] == report.steps[0] == step
    assert diagnosis_row("", told)["answers"][0]["steps"][0] == step

    # Nothing else recommends another release than the steps do.
    known = issues()
    advised = set[str]()
    for name in {answer.issue.id for answer in told.answers}:
        advised |= releases(" ".join((*steps_for(known[name], situation), known[name].title)))
    reasons = " ".join(reason.words for answer in told.answers for reason in answer.reasons)
    for text in (markdown_report(seen), html_report(seen), reasons, seen.verdict.known):
        assert releases(text) <= advised
        assert "fixed in" not in text


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.name)
def test_all_advice_for_a_built_in_capture_is_the_same(path: Path) -> None:
    for capture in load(path):
        check(inspect(capture, name=path.name))


def sampled() -> Iterator[Inspection]:
    for run in MATRIX:
        for number, (endpoint, script, capture) in enumerate(captures_of(run)):
            if number % EACH == 0:
                yield inspect(capture, name=f"{run.name} {endpoint} {script}")


@pytest.mark.sweep
def test_all_advice_for_captures_of_the_matrix_is_the_same() -> None:
    named = 0
    for seen in sampled():
        check(seen)
        named += seen.cause is not None
    assert named > 20
