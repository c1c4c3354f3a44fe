"""`redact`, and `--redact-text` of the commands that store captures: no text reaches the disk."""

import json
from pathlib import Path

import pytest

from inspector.cli import main
from inspector.files.store import FIXTURES, load
from inspector.inspection.inspection import inspect
from inspector.inspection.masking.capture import findings_of
from tests.support.answers import DONE_EVENT, STREAM_EVENTS, answering
from tests.support.builtin import CAPTURES, RESPONSES, TOOL
from tests.support.command import ROOT
from tests.support.raw_server import raw_server

LONG = "My grandmother keeps 4711081547 bees in Oberammergau"


def contents(folder: Path) -> str:
    return "".join(path.read_text("utf-8") for path in folder.rglob("*") if path.is_file())


def test_a_copy_has_the_findings_and_not_the_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "shared.jsonl"
    words = ["redact", str(FIXTURES / f"{TOOL}.jsonl"), "--out", str(out)]
    assert main(words) == 0
    assert capsys.readouterr().out == f"{out}: 15 events, 3 findings, as before\n"
    assert out.stat().st_mode & 0o777 == 0o600
    assert findings_of(inspect(load(out))) == findings_of(inspect(CAPTURES[TOOL]))
    assert not {"weather", "Paris", "celsius", "get_weather"} & {*contents(tmp_path).split('"')}
    assert "weather" not in contents(tmp_path)
    assert main(words) == 2
    assert "already exists" in capsys.readouterr().err


def test_several_files_go_to_a_folder_and_share_their_stand_ins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "shared"
    files = [str(FIXTURES / f"{name}.jsonl") for name in (TOOL, RESPONSES)]
    assert main(["redact", *files, "--out", str(out)]) == 0
    assert sorted(path.name for path in out.iterdir()) == sorted(
        f"{name}-redacted.jsonl" for name in (TOOL, RESPONSES)
    )
    assert main(["redact", files[0], files[0], "--out", str(tmp_path / "twice")]) == 2
    assert "two captures would have this name" in capsys.readouterr().err


def test_record_and_probe_store_no_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lost = [STREAM_EVENTS[0], STREAM_EVENTS[1].replace(b'"Think"', b'"Thi"'), *STREAM_EVENTS[2:], DONE_EVENT]
    with raw_server(answering(lost)) as server:
        options = ["--base-url", server.v1, "--model", "m", "--prompt", LONG, "--redact-text"]
        assert main(["record", *options, "--out", str(tmp_path / "one.jsonl")]) == 0
        probed = [*options, "--requests", "2", "--out", str(tmp_path / "probe"), "--quiet"]
        assert main(["probe", *probed]) == 1
    capsys.readouterr()
    capture = load(tmp_path / "one.jsonl")
    paths = sorted((tmp_path / "probe" / "captures").iterdir())
    assert len(paths) == 2
    for kept_capture in (capture, load(paths[0])):
        assert inspect(kept_capture).verdict.level == "error"
        assert len(kept_capture.header.request["messages"][0]["content"].encode()) == len(LONG)
    rows = [json.loads(line) for line in (tmp_path / "probe" / "rows.jsonl").read_text().splitlines()]
    assert {row["prompt"] for row in rows} == {"prompt 1"}
    text = contents(tmp_path)
    assert not any(word in text for word in ("grandmother", "Oberammergau", "4711081547", "Think"))


def test_the_examples_are_those_of_the_docs() -> None:
    docs = (ROOT / "docs" / "sharing.md").read_text("utf-8")
    assert "python -m inspector redact capture.jsonl --out shared.jsonl" in docs
