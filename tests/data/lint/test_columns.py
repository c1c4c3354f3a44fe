"""Columns are found by what their values are, at any depth, and a report says what of them was read."""

import json
from pathlib import Path
from typing import Any

import pytest

from inspector.capture.errors import InspectorError
from inspector.data.lint import Column, Form, LintReport, Rule, lint
from inspector.protocol.harmony.vocab import encode

STRIPPED = "analysisWe need 4.assistantfinal4"
RAW = "<|channel|>analysis<|message|>Sum.<|end|><|start|>assistant<|channel|>final<|message|>4<|return|>"
ROW = f"<|start|>user<|message|>2 + 2?<|end|><|start|>assistant{RAW}"
CHAT = [{"role": "user", "content": "2 + 2?"}, {"role": "assistant", "content": "4"}]
IDS = encode(ROW)


def report_of(tmp_path: Path, *rows: Any, **options: Any) -> LintReport:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return lint(path, **options)


@pytest.mark.parametrize(
    ("row", "columns"),
    [
        ({"q": "2 + 2?", "model_text": STRIPPED}, {"model_text": Form.TEXT}),
        ({"q": "2 + 2?", "model_text": STRIPPED, "score": 0.0}, {"model_text": Form.ANSWER}),
        ({"gold": "4", "raw": {"reply": RAW}}, {"raw.reply": Form.ANSWER}),
        ({"gold": "4", "raw_output": "4", "answer": "4"}, {"raw_output": Form.ANSWER}),
        (
            {"gold": "4", "raw_output": RAW, "final_answer": "4"},
            {"raw_output": Form.TEXT, "final_answer": Form.ANSWER},
        ),
        ({"results": [{"outputs": [{"text": ROW}]}]}, {"results.outputs.text": Form.TEXT}),
        ({"walkthroughs": [ROW, ROW]}, {"walkthroughs": Form.TEXT}),
        ({"task-1": {"reply": RAW}, "task-2": {"reply": RAW}}, {"*.reply": Form.TEXT}),
        ({"response": {"content": "4"}}, {"response.content": Form.TEXT}),
        ({"response": {"choices": [{"message": CHAT[1]}]}}, {"response.choices.message": Form.MESSAGES}),
        ({"custom_id": "1", "body": {"messages": CHAT}}, {"body.messages": Form.MESSAGES}),
        ({"request": json.dumps({"messages": CHAT})}, {"request.messages": Form.MESSAGES}),
        (
            {"samples": [{"prompt_ids": IDS[:9], "ids": IDS}]},
            {"samples.ids": Form.IDS, "samples.prompt_ids": Form.IDS},
        ),
        ({"logprobs": [{"token": "<|channel|>"}, {"token": "final"}], "text": RAW}, {"text": Form.TEXT}),
        ({"top_ids": [200008, 5, 6, 7, 200005], "text": RAW}, {"text": Form.TEXT}),
        ({"edges": [{"from": "a", "to": "b"}], "text": RAW}, {"text": Form.TEXT}),
        (
            {"doc_id": 0, "resps": [[STRIPPED]], "filtered_resps": ["4"]},
            {"resps": Form.TEXT, "filtered_resps": Form.ANSWER},
        ),
    ],
    ids=lambda value: str(value)[:50],
)
def test_columns_are_found_by_their_values(tmp_path: Path, row: Any, columns: dict[str, Form]) -> None:
    report = report_of(tmp_path, row)
    form_of = {column.name: column.form for column in report.columns}
    assert {name: form for name, form in form_of.items() if name in columns} == columns
    assert not {"q", "gold", "logprobs.token", "top_ids", "edges"} & set(form_of)
    assert all(read.values for read in report.read if read.column.name in columns)


def test_a_wholly_stripped_evaluation_is_an_error(tmp_path: Path) -> None:
    rows = [{"id": at, "prompt": "2 + 2?", "reply": STRIPPED, "correct": False} for at in range(998)]
    report = report_of(tmp_path, *rows, {"reply": "4"}, {"reply": "4"})
    assert (report.level, dict(report.counts)) == ("error", {Rule.STRIPPED_TRANSCRIPT: 998})


def test_the_place_of_a_finding_leads_through_lists(tmp_path: Path) -> None:
    row = {"results": [{"text": ROW}, {"text": f"{ROW}\n"}]}
    (finding,) = report_of(tmp_path, row).findings
    assert (finding.column, finding.path) == ("results.text", "results[1].text")


def test_a_key_with_dots_is_found_where_it_is(tmp_path: Path) -> None:
    report = report_of(tmp_path, {"run": {"gpt-oss.20b": {"text": f"{ROW}\n"}}})
    (finding,) = report.findings
    assert finding.path == "run.gpt-oss.20b.text"


@pytest.mark.parametrize(("form", "empty"), [(Form.IDS, []), (Form.MESSAGES, []), (Form.TEXT, "")])
def test_empty_values_are_not_read(tmp_path: Path, form: Form, empty: Any) -> None:
    report = report_of(tmp_path, {"x": empty}, {"x": empty}, columns=[Column("x", form)])
    assert (report.level, report.values) == ("unknown", 0)
    assert "Nothing was checked" in report.sentence


def test_a_report_says_how_much_was_read(tmp_path: Path) -> None:
    report = report_of(tmp_path, {"text": ROW}, {"text": "plain"}, {"other": 1})
    assert (
        report.taken
        == "Read 3 rows as JSON Lines: “text” as rendered text (2 values, 1 with special tokens)."
    )
    assert [(read.rows, read.values, read.plain) for read in report.read] == [(2, 2, 1)]


def test_json_that_was_written_by_hand_is_read(tmp_path: Path) -> None:
    path = tmp_path / "finding.json"
    path.write_text('{\n "walkthroughs": ["<|start|>user<|message|>a\nb<|end|>"]\n}\n')
    assert lint(path).values == 1


def test_where_nothing_is_recognized_the_paths_are_named(tmp_path: Path) -> None:
    with pytest.raises(InspectorError, match=r"its columns are a\.b, c\. Name one"):
        report_of(tmp_path, {"a": [{"b": "x"}], "c": "y"})
