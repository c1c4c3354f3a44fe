"""What is derived from a capture is derived once, however many views ask for it."""

import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from types import CodeType, FrameType

import pytest

from inspector.analysis.alignment import align_choice, alignments
from inspector.analysis.audit import audit, transmission_of
from inspector.analysis.audit.missing_ids import ids_missing
from inspector.analysis.audit.rejection import rejection
from inspector.analysis.audit.stream_checks import server_errors
from inspector.analysis.audit.verdict import _clauses, verdict
from inspector.files.store import FIXTURES
from inspector.inspection.inspection import diagnose, inspect
from inspector.issues.findings.cause import leading, situation_among
from inspector.issues.findings.diagnose import answers_of_findings
from inspector.views.report import markdown_report
from inspector.views.rows import audit_dict
from inspector.views.strip import strip
from tests.support.builtin import CAPTURES
from tests.support.command import ROOT

DERIVED = (
    transmission_of,
    server_errors,
    ids_missing,
    rejection,
    alignments,
    audit,
    answers_of_findings,
    verdict,
    _clauses,
    leading,
    situation_among,
)


def calls_of(functions: tuple[Callable[..., object], ...], action: Callable[[], object]) -> Mapping[str, int]:
    """How often an action calls each of the functions."""
    names: dict[CodeType, str] = {function.__code__: function.__name__ for function in functions}
    calls = Counter(dict.fromkeys(names.values(), 0))

    def count(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code in names:
            calls[names[frame.f_code]] += 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        action()
    finally:
        sys.setprofile(before)
    return calls


@pytest.mark.parametrize(
    "name",
    [
        "chat-unexpected-token-12606-vllm-0.13.0",
        "chat-tool-call-leak-vllm-0.14.1",
        "responses-dropped-tokens-vllm-0.13.0",
    ],
)
def test_each_thing_is_derived_once(name: str) -> None:
    capture = CAPTURES[name]

    def inspect_and_show() -> None:
        inspection = inspect(capture)
        assert inspection.findings
        strip(inspection, key=name)
        audit_dict(inspection)
        markdown_report(inspection)
        diagnose(inspection)

    calls = calls_of((*DERIVED, align_choice), inspect_and_show)
    assert calls == {**dict.fromkeys((function.__name__ for function in DERIVED), 1), "align_choice": 1}


_IN_A_PROCESS = """
import sys
import inspector
from inspector.issues import catalogue

capture = inspector.load(sys.argv[1])
inspection = inspector.inspect(capture)
print(len(inspection.findings), catalogue.cache_info().currsize)
expressions = [
    expression
    for issue in catalogue()
    for expression in (*issue.patterns, *issue.may_match, *issue.hints, *issue.needs, *issue.unless)
]
print(sum("expression" in vars(expression) for expression in expressions), len(expressions))
"""


def counts_for(name: str) -> tuple[int, int, int, int]:
    """Findings of a fixture, catalogues read, expressions compiled, and expressions of the catalogue."""
    command = [sys.executable, "-c", _IN_A_PROCESS, str(FIXTURES / f"{name}.jsonl")]
    printed = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout
    findings, catalogues, compiled, expressions = map(int, printed.split())
    return findings, catalogues, compiled, expressions


def test_a_capture_without_findings_reads_no_catalogue() -> None:
    findings, catalogues, compiled, _ = counts_for("chat-whole-vllm-0.14.1")
    assert (findings, catalogues, compiled) == (0, 0, 0)


def test_few_expressions_are_compiled_for_one_stream() -> None:
    findings, catalogues, compiled, expressions = counts_for("chat-unexpected-token-12606-vllm-0.13.0")
    assert findings
    assert catalogues == 1
    assert compiled * 20 < expressions
