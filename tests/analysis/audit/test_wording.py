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
    Kind.INVALID_TOOL_ARGUMENTS,
    Kind.SPECIAL_TOKEN_IN_BODY,
    Kind.NO_ANSWER,
    Kind.UNKNOWN_HEADER,
    Kind.UNOFFERED_CALL,
    Kind.PROTOCOL,
}


@pytest.fixture(scope="module")
def seen() -> Mapping[Code, Sequence[Inspection]]:
    return {code: [inspect(one) for one in captures] for code, captures in CAPTURES.items()}


def of(code: Code, findings: Sequence[Finding]) -> Finding:
    (finding,) = (one for one in findings if one.code is code)
    return finding


def everything(seen: Mapping[Code, Sequence[Inspection]]) -> Iterator[Finding]:
    return (finding for some in seen.values() for one in some for finding in one.findings)


@pytest.mark.parametrize("code", Code)
def test_a_code_is_found_and_said_in_these_words(
    seen: Mapping[Code, Sequence[Inspection]], code: Code
) -> None:
    said = [
        {"title": title(of(code, one.findings)), "sentence": explain(of(code, one.findings))}
        | {"verdict": one.verdict.sentence}
        for one in seen[code]
    ]
    assert said == WORDS[code]


def test_every_kind_is_found_and_only_some_are_ever_warnings(
    seen: Mapping[Code, Sequence[Inspection]],
) -> None:
    by_severity = {
        severity: {one.kind for one in everything(seen) if one.severity is severity} for severity in Severity
    }
    assert by_severity[Severity.WARNING] == WARNINGS
    assert by_severity[Severity.ERROR] == set(Kind) - WARNINGS | {Kind.INVALID_TOOL_ARGUMENTS}


def test_findings_are_never_called_clean(seen: Mapping[Code, Sequence[Inspection]]) -> None:
    levels = {Severity.ERROR: Level.ERROR, Severity.WARNING: Level.WARNING}
    wrong = [
        code
        for code, some in seen.items()
        for one in some
        if one.worst is None or one.verdict.level is not levels[one.worst]
    ]
    assert wrong == []
