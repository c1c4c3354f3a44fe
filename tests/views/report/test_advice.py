"""Whatever gives advice for a capture gives the same: verdict, report, SARIF, strip and diagnosis."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from inspector import load_all
from inspector.inspection.inspection import Inspection, inspect
from inspector.issues import diagnose_capture, issues, steps_for
from inspector.issues.json_rows import diagnosis_row
from inspector.matrix.results import captures_of, every_run
from inspector.views.report.facts import facts
from inspector.views.report.reports import html_report, markdown_report
from inspector.views.rows import audit_dict, issue_row
from inspector.views.sarif import audit_sarif

FIXTURES = sorted((Path(__file__).parents[3] / "fixtures").glob("*.jsonl*"))
RELEASE = re.compile(r"(?i)(?:upgrade to|fixed in|fix(?:ed)? since|from) (?:vllm )?(\d+\.\d+\.\d+)")
MATRIX = every_run()[::13]
EVERY_NTH = 17


def releases(text: str) -> set[str]:
    """Releases that a text recommends."""
    return set(RELEASE.findall(text.replace("\\", "").replace("<b>", "").replace("</b>", "")))


def check(inspection: Inspection) -> None:
    diagnosis = diagnose_capture(inspection.findings, inspection.reading)
    report = facts(inspection)
    assert (inspection.cause is None) == (not diagnosis.answers) == (not report.advice)
    for finding, cause in zip(inspection.findings, inspection.causes, strict=True):
        assert [cause.id] == list(finding.known_issues[:1]) if cause else not finding.known_issues
    results = json.loads(audit_sarif([inspection]))["runs"][0]["results"]
    steps = {result["properties"]["first_step"] for result in results}
    assert steps == {cause and cause.first_step for cause in inspection.causes}
    if inspection.cause is None:
        return
    step = inspection.cause.first_step
    assert step in inspection.verdict.known
    assert audit_dict(inspection)["verdict"]["cause"]["first_step"] == step
    situation = inspection.situation
    assert issue_row(inspection.cause.id, situation)["fix"] == step
    assert diagnosis.answers[0].issue.id == report.advice[0].issue.id == inspection.cause.id
    assert diagnosis.steps_for(diagnosis.answers[0].issue)[0] == report.advice[0].steps[0].text == step
    assert diagnosis_row("", diagnosis)["answers"][0]["steps"][0] == step

    # Nothing else recommends another release than the steps do.
    catalogue = issues()
    advised = set[str]()
    for name in {answer.issue.id for answer in diagnosis.answers}:
        advised |= releases(" ".join((*steps_for(catalogue[name], situation), catalogue[name].title)))
    reasons = " ".join(reason.words for answer in diagnosis.answers for reason in answer.reasons)
    for text in (markdown_report(inspection), html_report(inspection), reasons, inspection.verdict.known):
        assert releases(text) <= advised
        assert "fixed in" not in text


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.name)
def test_all_advice_for_a_built_in_capture_is_the_same(path: Path) -> None:
    for capture in load_all(path):
        check(inspect(capture, name=path.name))


def sampled() -> Iterator[Inspection]:
    for run in MATRIX:
        for number, (endpoint, script, capture) in enumerate(captures_of(run)):
            if number % EVERY_NTH == 0:
                yield inspect(capture, name=f"{run.name} {endpoint} {script}")


@pytest.mark.sweep
def test_all_advice_for_captures_of_the_matrix_is_the_same() -> None:
    named = 0
    for inspection in sampled():
        check(inspection)
        named += inspection.cause is not None
    assert named > 20
