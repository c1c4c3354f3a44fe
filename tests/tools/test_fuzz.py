"""Damaged inputs fail nothing; the gate runs 2,000 of them, `python -m tools.fuzz` as many as one wants."""

import re
import subprocess
import sys

import pytest

from tools import fuzz
from tools.fuzz import BATCH, FuzzOutcome, case, run_batch


def failed(outcome: FuzzOutcome) -> str:
    return "\n".join(f"case {number}: {trace}" for number, trace in outcome.failures.items())


@pytest.mark.sweep
def test_two_thousand_damaged_inputs_are_read_or_refused() -> None:
    command = [sys.executable, "-m", "tools.fuzz", "--seed", "20261125", "--count", str(BATCH)]
    completed = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert completed.returncode == 0, completed.stdout + completed.stderr
    counts = {
        word: int(number.replace(",", "")) for word, number in re.findall(r"(\w+) ([\d,]+)", completed.stdout)
    }
    assert counts["read"] + counts["refused"] == BATCH == 2000
    assert counts["read"] > BATCH // 4


def test_some_damaged_inputs_are_read_or_refused() -> None:
    outcome = run_batch(20261126, 0, 100)
    assert failed(outcome) == ""
    assert set(outcome.counts) == {"read", "refused"}


def test_a_case_is_always_the_same_and_inputs_have_all_forms() -> None:
    cases = [case(7, number) for number in range(200)]
    assert cases == [case(7, number) for number in range(200)]
    assert len(set(cases)) > 190
    for begin in (
        b'{"harmony_capture',
        b"data: ",
        b"HTTP/1.1",
        b"[{",
        b"tensor(",
        b"RequestOutput(",
        b"INFO ",
    ):
        assert any(content.startswith(begin) for content in cases), begin


def test_what_a_view_lets_through_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz, "html_report", lambda *_, **__: "<img src=x onerror=alert(1)>")
    outcome = run_batch(20261126, 0, 60)
    assert outcome.failures
    assert all("HTML has markup" in trace for trace in outcome.failures.values())
