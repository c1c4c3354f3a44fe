"""Whatever a row holds, the check ends with findings and places inside the value."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.data.lint import Column, Form, LintRow, LintTable, lint, lint_table
from inspector.data.lint.rendered import check_ids, check_text

PIECES = st.sampled_from(
    [
        *("<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|call|>", "<|return|>", "<|constrain|>"),
        *(
            "assistant",
            "user",
            "system",
            "final",
            "analysis",
            "commentary",
            " to=functions.f",
            "json",
            "é👋🏽",
        ),
        *("<|endoftext|>", " ", "\n", "analysisWe", "assistantfinal", "\ud800"),
    ]
)
TEXTS = st.lists(PIECES, max_size=14).map("".join)
IDS = st.lists(
    st.one_of(st.integers(199990, 200020), st.integers(-2, 201100), st.sampled_from([173781, 35644, 17196])),
    max_size=20,
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.sampled_from(
                [
                    *("role", "from", "content", "value", "thinking", "tool_calls", "function", "arguments"),
                    *("name", "id", "tool_call_id", "channel", "recipient", "type", "text"),
                ]
            ),
            inner,
            max_size=5,
        ),
    ),
    max_leaves=12,
)


@given(st.lists(VALUES, max_size=3), TEXTS, IDS)
def test_no_row_stops_the_check(values: list[Any], text: str, ids: list[int]) -> None:
    columns = [Column(str(form), form) for form in Form]
    rows = [
        *({str(form): value for form in Form} for value in values),
        {"text": text, "ids": ids, "answer": text, "messages": [{"role": "user", "content": text}]},
    ]
    table = LintTable("rows", "rows", (LintRow(number, row) for number, row in enumerate(rows, 1)))
    report = lint_table(table, columns=columns)
    assert json.loads(json.dumps(report.as_row))["findings_count"] == report.found


@pytest.mark.parametrize(
    "row",
    [
        {"messages": [{"role": "user", "content": [{"type": [], "image": "x"}]}]},
        {"text": "<|start|>", "ids": [5] * 70 + [None, "x", {}, 10**30, -1]},
        {"text": "<|start|>", "ids": [5] * 5000 + [{}]},
    ],
)
def test_a_column_is_recognized_or_not_whatever_is_in_it(row: dict[str, Any]) -> None:
    report = lint_table(LintTable("rows", "rows", iter([LintRow(1, row)])))
    assert report.rows == 1


@given(TEXTS, IDS)
def test_places_are_inside_the_value(text: str, ids: list[int]) -> None:
    for size, checked in ((len(text), check_text(text)), (len(ids), check_ids(ids))):
        places = [
            flaw.at for flaw in [*checked.flaws, checked.last] if flaw is not None and flaw.at is not None
        ]
        assert all(0 <= at < size for at in places), (size, places)


def test_a_row_may_nest_as_deeply_as_it_can_be_read(tmp_path: Path) -> None:
    """Named columns are walked, and without them all values of the first rows."""
    deep = f"{'[' * 5000}{']' * 5000}"
    sizes = (100, 400, 5000, *range(885, 1000, 4))  # fewer than the rows by which columns are recognized
    text = "<|start|>assistant<|channel|>final<|message|>Hi<|return|>"
    rows = [f'{{"text": "{text}", "more": {deep[:size]}1{deep[-size:]}}}' for size in sizes]
    (tmp_path / "rows.jsonl").write_text("\n".join(rows))
    assert lint(tmp_path / "rows.jsonl").rows == len(rows)
    for form in Form:
        assert lint(tmp_path / "rows.jsonl", columns=[Column("more", form)]).rows == len(rows)
