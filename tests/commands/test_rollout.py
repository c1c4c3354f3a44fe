"""`python -m inspector rollout`."""

import io
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from inspector.cli import main
from tests.support.command import ROOT

LOOPS = str(ROOT / "fixtures" / "rollout" / "tool-loops.jsonl")
QUESTIONS = str(ROOT / "fixtures" / "rollout" / "two-questions.jsonl")


@pytest.mark.parametrize(
    ("file", "options", "code"),
    [
        (LOOPS, [], 1),
        (LOOPS, ["--fail-on", "never"], 0),
        (QUESTIONS, [], 0),
        (QUESTIONS, ["--fail-on", "warning"], 1),
    ],
)
def test_exit_codes_are_those_of_audit(
    file: str, options: list[str], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["rollout", file, *options]) == code
    assert capsys.readouterr().out.startswith(file)


def test_nothing_compared_is_an_error_of_the_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    row = b'{"prompt_ids": [200006, 1428, 200008, 5], "response_ids": [200008, 5]}\n'
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(row))))
    assert main(["rollout", "-"]) == 2
    assert "UNKNOWN: No conversation has a second turn" in capsys.readouterr().out


def test_standard_input_without_turns_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(b'{"text": "no IDs"}\n'))))
    assert main(["rollout", "-"]) == 2
    assert "standard input: has no turn with token IDs" in capsys.readouterr().err


def test_the_summary_comes_first_and_the_list_is_limited(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rollout", LOOPS, "--max-findings", "1"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith(
        "  ERROR: 3 of 4 later prompts do not extend the tokens before them: 3 unexpected"
    )
    assert lines[3].split()[:5] == ["conversation", "turn", "token", "of", "cause"]
    assert lines[4].split()[:5] == ["reasoning-lost", "1", "47", "75", "analysis_lost"]
    assert lines[5] == "  2 more turns not listed; see --max-findings"


def test_rows_split_tokens_where_the_texts_are_equal(capsys: pytest.CaptureFixture[str]) -> None:
    main(["rollout", LOOPS])
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  encoded-again ")]
    assert "Nee|d| the| wea|ther|." in line


def test_json_is_an_object_or_an_array(capsys: pytest.CaptureFixture[str]) -> None:
    main(["rollout", LOOPS, "--json"])
    assert json.loads(capsys.readouterr().out)["broken"] == 3
    main(["rollout", LOOPS, QUESTIONS, "--json"])
    assert [row["level"] for row in json.loads(capsys.readouterr().out)] == ["error", "warning"]


def test_junit_fails_as_the_exit_code_does(tmp_path: Path) -> None:
    out = tmp_path / "out.xml"
    assert main(["rollout", LOOPS, QUESTIONS, "--junit", str(out)]) == 1
    [suite] = ElementTree.parse(out).getroot()  # noqa: S314 -- our own file
    assert [[child.tag for child in case] for case in suite] == [["failure"], []]


def test_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    content = io.BytesIO((ROOT / "fixtures" / "rollout" / "tool-loops.jsonl").read_bytes())
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(content)))
    assert main(["rollout", "-"]) == 1
    assert capsys.readouterr().out.startswith("standard input\n  ERROR: 3 of 4")


def test_a_file_without_token_ids(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rollout", str(ROOT / "fixtures" / "lint" / "evaluation-of-raw-harmony.jsonl")]) == 2
    assert "has no turn with token IDs" in capsys.readouterr().err
