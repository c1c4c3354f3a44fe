"""What a person reads of a finding: every code and every kind, each found in a stream of its own."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import pytest

from inspector.analysis.audit import Code, Finding, Kind, Severity, explain
from inspector.analysis.audit.verdict import Level
from inspector.analysis.audit.wording import title
from inspector.inspection.inspection import Inspection, inspect
from tests.support.every_code import CAPTURES

WORDS: Mapping[str, Sequence[Mapping[str, str]]] = msgspec.yaml.decode(
    (Path(__file__).parent / "words.yaml").read_text(encoding="utf-8")
)


WARNINGS = {
    Kind.ADDED,
    Kind.UNSERVED,
    Kind.TRUNCATED,
    Kind.COUNT_MISMATCH,
    Kind.SPECIAL_TOKEN_IN_BODY,
    Kind.NO_ANSWER,
    Kind.UNKNOWN_HEADER,
    Kind.UNOFFERED_CALL,
    Kind.ABORTED,
    Kind.PROTOCOL,
    Kind.TEXT_WITHOUT_IDS,
}


BOTH_SEVERITIES = {Kind.INVALID_TOOL_ARGUMENTS, Kind.HARMONY_AS_TEXT}


@pytest.fixture(scope="module")
def inspections() -> Mapping[Code, Sequence[Inspection]]:
    return {code: [inspect(capture) for capture in captures] for code, captures in CAPTURES.items()}


def of(code: Code, findings: Sequence[Finding]) -> Finding:
    (finding,) = (finding for finding in findings if finding.code is code)
    return finding


def all_findings(inspections: Mapping[Code, Sequence[Inspection]]) -> Iterator[Finding]:
    return (
        finding for examples in inspections.values() for example in examples for finding in example.findings
    )


@pytest.mark.parametrize("code", Code)
def test_a_code_is_found_and_said_in_these_words(
    inspections: Mapping[Code, Sequence[Inspection]], code: Code
) -> None:
    words = [
        {"title": title(of(code, example.findings)), "sentence": explain(of(code, example.findings))}
        | {"verdict": example.verdict.sentence}
        for example in inspections[code]
    ]
    assert words == WORDS[code]


def test_every_kind_is_found_and_only_some_are_ever_warnings(
    inspections: Mapping[Code, Sequence[Inspection]],
) -> None:
    by_severity = {
        severity: {finding.kind for finding in all_findings(inspections) if finding.severity is severity}
        for severity in Severity
    }
    assert by_severity[Severity.WARNING] == WARNINGS | BOTH_SEVERITIES
    assert by_severity[Severity.ERROR] == set(Kind) - WARNINGS | BOTH_SEVERITIES


def test_findings_are_never_called_clean(inspections: Mapping[Code, Sequence[Inspection]]) -> None:
    levels = {Severity.ERROR: Level.ERROR, Severity.WARNING: Level.WARNING}
    wrong = [
        code
        for code, examples in inspections.items()
        for example in examples
        if example.worst is None or example.verdict.level is not levels[example.worst]
    ]
    assert wrong == []
