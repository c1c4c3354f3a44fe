"""A change compared with a base: regressions, as lines and as Markdown, and the verdict."""

from dataclasses import replace

import pytest

from harmony_lab.gate import gate, gate_lines, gate_markdown, gate_row, gate_sentence
from inspector.capture.errors import LabError
from inspector.matrix.results import UNSTREAMED, ScriptOutcome
from tests.support.results import front_end_run

SILENT, TOLD, WHOLE = ScriptOutcome.SILENT, ScriptOutcome.REPORTED, ScriptOutcome.COMPLETE


BASE = [front_end_run("0.31.0", step, plain=WHOLE, emoji=TOLD, cjk=SILENT) for step in (1, 3)]
CHANGE = [front_end_run("0.32.0", step, plain=WHOLE, emoji=SILENT, cjk=WHOLE) for step in (1, 3)]


def test_gate_counts_cells_and_losing_scripts() -> None:
    comparison = gate(BASE, CHANGE)
    assert not comparison.passed
    assert [(regression.script, regression.step) for regression in comparison.worse] == [
        ("emoji", "1"),
        ("emoji", "3"),
    ]
    assert (comparison.losing, comparison.base_losing, comparison.scripts, comparison.better) == (1, 1, 3, 2)
    assert gate_sentence(comparison) == (
        "0.32.0 loses text of 1 of 3 scripts without an error, 0.31.0 of 1. 2 results became worse, 2 better."
    )
    assert gate_lines(comparison)[1:] == [
        "  chat emoji, 1, 3 per step: error reported, now silent loss (vllm-frontend-0.32.0-si1/chat-emoji)"
    ]


def test_gate_lines_of_unstreamed_cells() -> None:
    base, change = (
        replace(front_end_run(version, 0, emoji=outcome), steps=UNSTREAMED)
        for version, outcome in (("0.31.0", TOLD), ("0.32.0", SILENT))
    )
    both = gate([*BASE, base], [*CHANGE, change])
    assert gate_lines(both)[1].startswith("  chat emoji, 1, 3 per step and not streamed: error reported, now")
    assert gate_lines(gate([base], [change]))[1].startswith("  chat emoji, not streamed: ")
    assert "| 1, 3, not streamed |" in gate_markdown(both)


def test_gate_markdown_groups_by_script_and_escapes() -> None:
    text = gate_markdown(gate(BASE, CHANGE))
    rows = [line for line in text.splitlines() if line.startswith("| chat")]
    assert rows == [
        "| chat | `emoji` | 1, 3 | error reported | silent loss | a \\| b c | "
        "`vllm-frontend-0.32.0-si1/chat-emoji` |"
    ]


def test_gate_passes_without_regression() -> None:
    comparison = gate(CHANGE, BASE[:1])
    assert [regression.script for regression in comparison.worse] == ["cjk"]
    unchanged = gate(BASE, BASE)
    assert unchanged.passed
    assert gate_row(unchanged)["worse"] == []
    assert "|" not in gate_markdown(unchanged)


def test_gate_without_common_cells() -> None:
    with pytest.raises(LabError, match="base and change have no cell in common"):
        gate(BASE[:1], CHANGE[1:])
