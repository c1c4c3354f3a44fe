"""`python -m inspector scan` and `library`."""

import csv
import json
import sys
from pathlib import Path

import pytest

from inspector.cli import main
from inspector.files.store import FIXTURES
from tests.support.archives import id_lists

BUILT_IN = len(list(FIXTURES.glob("*.jsonl")))


@pytest.mark.parametrize(
    ("file", "options", "code"),
    [
        ("good", [], 0),
        ("leak", [], 1),
        ("leak", ["--fail-on", "never"], 0),
        ("cut", [], 0),
        ("cut", ["--fail-on", "warning"], 1),
        ("good", ["--fail-on", "warning"], 0),
        ("picture", [], 2),
    ],
)
def test_the_exit_code_is_that_of_audit(
    files: dict[str, Path], file: str, options: list[str], code: int, tmp_path: Path
) -> None:
    words = ["scan", str(files[file]), "--out", str(tmp_path), "--quiet", *options]
    assert main(words) == code
    assert main([*words[:1], *words[2:]]) == code  # nothing has changed, and the rows are the same
    assert main(["audit", str(files[file]), *options]) == code


def test_the_first_line_says_what_was_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    id_lists(tmp_path / "in", 2)
    (tmp_path / "in" / "notes.md").write_text("x")
    assert main(["scan", str(tmp_path / "in"), "--out", str(tmp_path / "out")]) == 0
    first, *_, read, ignored, page = capsys.readouterr().out.splitlines()
    assert first == "None of 2 captures has errors."
    assert read == f"2 files read, 0 unchanged; tables in {tmp_path / 'out'}"
    assert ignored == "1 file of other types was ignored: .md (1); name a file or glob to read it"
    assert page.endswith(f"Scan: {tmp_path / 'out'}")
    (tmp_path / "empty").mkdir()
    assert main(["scan", str(tmp_path / "empty"), "--out", str(tmp_path / "other")]) == 0
    assert capsys.readouterr().out.startswith("The scan found no captures.\n")
    (tmp_path / "in" / "bad.json").write_text("{")
    assert main(["scan", "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().out.startswith("None of 2 captures has errors. 1 file could not be read.\n")


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scan")
    main(["scan", str(FIXTURES / "*.jsonl"), "--out", str(folder), "--quiet"])
    return folder


def test_json_has_the_summary_the_groups_and_the_rows(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(
        [
            "library",
            str(out),
            "--json",
            "--group-by",
            "kind",
            "--rows",
            "3",
            "--sort",
            "tokens",
            "--descending",
        ]
    )
    printed = json.loads(capsys.readouterr().out)
    assert printed["captures"] == sum(printed["verdicts"].values()) == sum(printed["deliveries"].values())
    assert printed["captures"] == BUILT_IN
    assert printed["sentence"].startswith(f"12 of {BUILT_IN} captures have errors (")
    assert printed["grouped_by"] == "kind"
    kinds = {row["value"]: row["captures"] for row in printed["kinds"]}
    assert kinds == {row["value"]: row["captures"] for row in printed["groups"] if row["value"]}
    tokens = [row["tokens"] for row in printed["rows"]]
    assert tokens == sorted(tokens, reverse=True)
    for row in printed["rows"]:
        assert len(row["finding_rows"]) == row["findings"]
    main(["scan", "--out", str(out), "--json"])
    second_scan = json.loads(capsys.readouterr().out)
    unchanged = {"files": 0, "unchanged": BUILT_IN, "removed": 0, "seconds": 0.0, "ignored": {}}
    assert second_scan["scan"] == unchanged
    assert second_scan["sentence"] == printed["sentence"]


def test_csv_is_safe_for_spreadsheets(out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["library", str(out), "--rows", "100", "--csv", str(tmp_path / "rows.csv")])
    assert capsys.readouterr().out
    with (tmp_path / "rows.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == BUILT_IN
    assert not [value for row in rows for value in row.values() if value.startswith(("=", "+", "@"))]
    main(["library", str(out), "--csv", "-"])  # all of them, and nothing else is printed
    assert list(csv.DictReader(capsys.readouterr().out.splitlines())) == rows
    main(["library", str(out), "--csv", "-", "--rows", "2"])
    assert len(list(csv.DictReader(capsys.readouterr().out.splitlines()))) == 2


def test_what_is_wrong_is_one_sentence(
    out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for words, sentence in (
        (["library", str(out), "--json", "--csv", "-"], "only one of --json and --csv - can go to standard"),
        (
            ["library", str(out), "--filter", "token = 5 AND knd = 1"],
            "the filter does not work: no column knd; did you mean kind?",
        ),
        (["library", str(tmp_path)], "no scan here; run `python -m inspector scan PLACE --out"),
        (["scan", str(tmp_path / "none"), "--out", str(tmp_path / "x")], "no such file or folder"),
    ):
        assert main(words) == 2
        error = capsys.readouterr().err
        assert sentence in error
        assert error.count("\n") == 1
    for missing in ("duckdb", "pyarrow.parquet"):
        with monkeypatch.context() as context:
            context.setitem(sys.modules, missing, None)
            for words in (["scan", str(tmp_path), "--out", str(tmp_path / "y")], ["library", str(out)]):
                assert main(words) == 2
                assert 'pip install "harmony-inspector[scan]"' in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["scan", "x", "--jobs", "0"])
    assert "invalid number of processes: '0' (expected 1 to 1024)" in capsys.readouterr().err
