"""Tokens as values."""

import json
from pathlib import Path
from typing import Any

import pytest

import inspector
from inspector.capture.errors import InspectorError
from inspector.cli import main
from inspector.files.store import FIXTURES, load, loads
from inspector.inspection.inspection import inspect
from inspector.views.rows import audit_dict, token_rows
from inspector.views.tokens import tokens
from tests.support.builtin import CAPTURES


@pytest.mark.parametrize("name", CAPTURES)
def test_every_token_has_a_fate_and_the_delivered_ones_are_the_text_of_their_field(name: str) -> None:
    inspection = inspect(CAPTURES[name])
    for choice in inspection.reading.choices:
        values = list(tokens(inspection, choice=choice.index))
        rows = list(token_rows(inspection.reading, choice))
        keys = ("index", "id", "text", "channel", "event", "arrival_s")
        assert [[getattr(value, key) for key in keys] for value in values] == [
            [row[key] for key in keys] for row in rows
        ]
        assert all(
            (value.field is None) == (value.fate not in {"delivered", "misrouted"}) for value in values
        )
        if not inspection.findings and not choice.reconstructed and choice.has_ids:
            generated = choice.generated()
            content = "".join(value.text for value in values if value.field == "content")
            assert generated is not None
            assert content == generated.content


def test_a_choice_that_is_not_there_and_a_list_of_ids() -> None:
    inspection = inspect(loads("[200005, 35644, 200008, 976]"))
    assert [value.fate for value in tokens(inspection)] == ["framing", "framing", "framing", "unknown"]
    with pytest.raises(InspectorError, match="no choice 3; it has 1"):
        tokens(inspection, choice=3)


def test_the_object_of_the_library_is_the_one_that_the_command_prints(
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = str(FIXTURES / "chat-tool-call-leak-vllm-0.14.1.jsonl")
    main(["audit", path, "--json", "--fail-on", "never"])
    assert json.loads(capsys.readouterr().out) == audit_dict(inspect(load(path), name=path))


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([load(FIXTURES / "chat-whole-vllm-0.14.1.jsonl")], "inspect each of them"),
        ({}, "build a Capture"),
        ("capture.jsonl", "load the file first"),
        (Path("capture.jsonl"), "load the file first"),
        (None, "build a Capture"),
    ],
)
def test_what_is_no_capture_is_named_in_one_sentence(value: object, words: str) -> None:
    with pytest.raises(InspectorError, match=words) as refused:
        inspect(value)  # type: ignore[arg-type]
    assert "\n" not in str(refused.value)
    with pytest.raises(InspectorError, match="unrecognized JSON object"):
        loads("{}")


@pytest.mark.parametrize("truth", ["abc", ["a"], [1.5], [-1], 5])
def test_a_truth_that_is_no_token_ids_is_one_sentence(truth: Any) -> None:
    with pytest.raises(InspectorError, match="truth takes the token IDs"):
        inspect(load(FIXTURES / "chat-whole-vllm-0.14.1.jsonl"), truth=truth)


def test_the_version_is_the_same_everywhere(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exited:
        main(["--version"])
    assert exited.value.code == 0
    assert capsys.readouterr().out == f"harmony-inspector {inspector.__version__}\n"
