"""`python -m inspector lint`."""

import io
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from inspector.cli import main

WELL_FORMED = "<|start|>user<|message|>Hi<|end|><|start|>assistant<|channel|>final<|message|>x<|return|>"
MALFORMED = WELL_FORMED.replace("<|return|>", "<|end|><|return|>")
MIXED = WELL_FORMED.replace("<|return|>", "<|end|>")


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    paths = {}
    for name, texts in {
        "good": [WELL_FORMED],
        "bad": [WELL_FORMED, MALFORMED, MALFORMED, MALFORMED],
        "mixed": [WELL_FORMED, MIXED],
    }.items():
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(f"{json.dumps({'text': text})}\n" for text in texts), "utf-8")
        paths[name] = str(path)
    return paths


@pytest.mark.parametrize(
    ("name", "options", "code"),
    [
        ("good", [], 0),
        ("bad", [], 1),
        ("bad", ["--fail-on", "never"], 0),
        ("mixed", [], 0),
        ("mixed", ["--fail-on", "warning"], 1),
        ("mixed", ["--training"], 1),
        ("good", ["--text", "text"], 0),
    ],
)
def test_exit_codes_are_those_of_audit(
    files: dict[str, str], name: str, options: list[str], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lint", files[name], *options]) == code
    assert capsys.readouterr().out.startswith(files[name])


def test_the_summary_comes_first_and_the_list_is_limited(
    files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lint", files["bad"], "--max-findings", "2"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:3] == [
        "  ERROR: 3 of 4 rows have findings: 3 errors.",
        "  Read 4 rows as JSON Lines: “text” as rendered text (4 values).",
    ]
    assert lines[3].split() == ["row", "column", "place", "severity", "rule", "text"]
    assert [line.split()[0] for line in lines[4:6]] == ["2", "3"]
    assert lines[6] == "  1 more finding not listed; see --max-findings"
    assert lines[7].startswith("  double_terminator (3): ")


def test_json_has_every_count(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", files["bad"], "--json", "--max-findings", "0"]) == 1
    row = json.loads(capsys.readouterr().out)
    assert (row["level"], row["rules"], row["findings_count"]) == ("error", {"double_terminator": 3}, 3)
    assert (row["findings"], row["columns"]) == (
        [],
        [{"name": "text", "form": "text", "rows": 4, "values": 4, "plain": 0}],
    )
    assert main(["lint", files["bad"], files["good"], "--json"]) == 1
    reports = json.loads(capsys.readouterr().out)
    first = reports[0]["findings"][0]
    assert (first["row"], first["column"], first["unit"], first["rule"]) == (
        2,
        "text",
        "character",
        "double_terminator",
    )
    assert reports[1]["level"] == "ok"


def test_the_other_files_are_checked_when_one_cannot_be_read(
    files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lint", "missing.jsonl", files["bad"]]) == 2
    out, err = capsys.readouterr()
    assert "no such file" in err
    assert files["bad"] in out


def test_a_named_column_that_no_row_has_is_an_error(
    files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lint", files["good"], "--text", "text", "--ids", "input_ids"]) == 2
    assert "no row has a value in input_ids; its columns are text" in capsys.readouterr().err


def test_what_was_not_read_is_never_ok(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"input_ids": []}\n' * 3)
    assert main(["lint", str(path), "--ids", "input_ids"]) == 2
    assert "UNKNOWN: Nothing was checked" in capsys.readouterr().out


def test_sarif_names_the_line(files: dict[str, str], tmp_path: Path) -> None:
    out = tmp_path / "out.sarif"
    assert main(["lint", files["bad"], "--sarif", str(out)]) == 1
    run: dict[str, Any] = json.loads(out.read_text("utf-8"))["runs"][0]
    lines = [result["locations"][0]["physicalLocation"]["region"]["startLine"] for result in run["results"]]
    assert lines == [2, 3, 4]
    assert run["tool"]["driver"]["rules"][0]["id"] == "double_terminator"


def test_junit_has_a_case_for_each_file(files: dict[str, str], tmp_path: Path) -> None:
    out = tmp_path / "out.xml"
    assert main(["lint", files["bad"], files["good"], "missing.jsonl", "--junit", str(out)]) == 2
    [suite] = ElementTree.parse(out).getroot()  # noqa: S314 -- our own file
    fates = {case.get("name"): [(child.tag, child.get("type")) for child in case] for case in suite}
    assert fates == {
        files["bad"]: [("failure", "double_terminator")],
        files["good"]: [],
        "missing.jsonl": [("error", "unreadable")],
    }


def test_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    content = io.BytesIO(f"{json.dumps({'text': MALFORMED})}\n".encode())
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(content)))
    assert main(["lint", "-"]) == 1
    assert capsys.readouterr().out.startswith("standard input\n")


def test_invalid_number_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["lint", "x", "--max-findings", "-1"])
    assert "invalid number" in capsys.readouterr().err
