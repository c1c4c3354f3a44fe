"""Nothing is reported on what the reference library renders."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from openai_harmony import Conversation
from pyarrow import parquet

from inspector.data.lint import Column, Form, LintReport, lint
from inspector.protocol.harmony.text import text_of
from tests.support.conversations import chat_messages, conversations, harmony_messages, rendered, training
from tests.support.tiers import choose

ROWS = choose(200, 1000)


@pytest.fixture(scope="module")
def clean() -> list[Conversation]:
    return list(conversations(ROWS))


def written(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def explanations(report: LintReport) -> list[str]:
    return [
        f"row {finding.row} {finding.column} {finding.place}: {finding.explanation}"
        for finding in report.findings[:5]
    ]


@pytest.mark.parametrize(
    ("render", "form", "half"),
    [(rendered, Form.TEXT, 0), (rendered, Form.IDS, 1), (training, Form.TEXT, 1), (training, Form.IDS, 0)],
    ids=["history-text", "history-ids", "training-text", "training-ids"],
)
def test_rendered_rows_have_no_finding(
    clean: list[Conversation], tmp_path: Path, render: Any, form: Form, half: int
) -> None:
    rows = [render(conversation) for conversation in clean[half::2]]
    assert {ids[-1] for ids in rows} == {200007 if render is rendered else 200002}
    values = rows if form is Form.IDS else [text_of(ids) for ids in rows]
    report = lint(written(tmp_path / "rows.jsonl", ({"row": value} for value in values)))
    assert report.columns == (Column("row", form),)
    assert (report.level, explanations(report)) == ("ok", [])
    assert (report.rows, report.values) == (ROWS // 2, ROWS // 2)


def test_messages_have_no_finding(clean: list[Conversation], tmp_path: Path) -> None:
    rows = (
        {"messages": chat_messages(conversation), "harmony": harmony_messages(conversation)}
        for conversation in clean
    )
    report = lint(written(tmp_path / "rows.jsonl", rows))
    assert report.columns == (Column("messages", Form.MESSAGES), Column("harmony", Form.MESSAGES))
    assert (report.level, explanations(report), report.values) == ("ok", [], 2 * ROWS)


def test_every_prefix_that_a_server_would_be_asked_to_continue_has_no_finding(
    clean: list[Conversation], tmp_path: Path
) -> None:
    rows = []
    for conversation in clean[:60]:
        for size in range(2, len(conversation.messages)):
            if conversation.messages[size - 1].author.role in {"user", "tool"}:
                history = Conversation.from_messages(conversation.messages[:size])
                ids = [*rendered(history), 200006, 173781]
                rows.append({"prompt_ids": ids, "messages": chat_messages(history)})
    report = lint(written(tmp_path / "rows.jsonl", rows))
    assert (report.level, explanations(report), report.values) == ("ok", [], 2 * len(rows))


def test_answers_have_no_finding(clean: list[Conversation], tmp_path: Path) -> None:
    answers = ["".join(part.text for part in conversation.messages[-1].content) for conversation in clean]
    path = written(tmp_path / "log.jsonl", ({"doc_id": 1, "filtered_resps": [answer]} for answer in answers))
    assert lint(path).counts == {}


def test_padding_packing_and_completions_have_no_finding(clean: list[Conversation], tmp_path: Path) -> None:
    rows = []
    for conversation, following in zip(clean[:40], clean[40:80], strict=True):
        rendered_ids = training(following)
        start = len(rendered_ids) - rendered_ids[::-1].index(200006)
        packed = [199998, *training(conversation), *rendered_ids, *[199999] * 7]
        rows.append({"input_ids": packed, "completion_ids": rendered_ids[start + 1 :]})
    report = lint(written(tmp_path / "rows.jsonl", rows))
    assert (report.level, explanations(report), report.values) == ("ok", [], 80)


def test_parquet_gives_the_same(clean: list[Conversation], tmp_path: Path) -> None:
    rows = [
        {"messages": chat_messages(conversation), "input_ids": training(conversation)}
        for conversation in clean[:100]
    ]
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "rows.parquet")
    report = lint(tmp_path / "rows.parquet")
    assert (report.format, report.rows, explanations(report)) == ("Parquet", 100, [])
