"""Scripts as fixtures of CanIToolCall, and fixtures read back; keys as in its schema, version 0.1."""

import json
import re
from pathlib import Path

import pytest

from harmony_lab.exchange import disagreement, fixture_of, fixtures_of
from inspector.capture.errors import LabError
from inspector.cli import main
from inspector.files.store import loads
from inspector.inspection.inspection import inspect
from inspector.matrix.scripts import load
from inspector.protocol.harmony.vocab import encode

SOURCE = "https://example.org/scripts.yaml"
TAG = re.compile(
    r"single-call|parallel-calls|no-call|unicode|empty-arguments|reasoning|truncated|malformed|x-[a-z0-9-]+"
)


def written(path: Path, *rows: dict[str, object]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return path


def script_with(output: str, **more: object) -> dict[str, object]:
    """A fixture of our own, with the required keys."""
    return {
        "id": "gpt-oss/made-here",
        "family": "gpt-oss",
        "spec_version": "0.1",
        "tools": [],
        "raw_output": output,
        "tags": ["no-call"],
        **more,
    }


def test_exported_scripts_follow_the_schema_and_read_back_without_difference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "fixtures.jsonl"
    words = ["lab", "fixtures", "--out", str(out), "--source-url", SOURCE, "--revision", "0.1.0"]
    assert main(words) == 0
    rows = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert f"{len(rows)} of {len(load())} scripts" in capsys.readouterr().out
    assert len(rows) > 50
    for row in rows:
        assert re.fullmatch(r"gpt-oss/[a-z0-9][a-z0-9._-]*", row["id"])
        assert ("expected" in row) != ("expected_error" in row)
        assert all(TAG.fullmatch(tag) for tag in row["tags"])
        assert not row["raw_output"].endswith(("<|return|>", "<|call|>"))
        offered = {tool["function"]["name"] for tool in row["tools"]}
        assert {call["name"] for call in row.get("expected", {}).get("tool_calls", [])} <= offered
    fixtures, of_other_families = fixtures_of(out)
    assert of_other_families == 0
    assert [fixture.id for fixture in fixtures if disagreement(fixture)] == []
    scripts = {f"gpt-oss/harmony-inspector-{script.name.replace('_', '-')}": script for script in load()}
    for fixture in fixtures:
        assert fixture.ids == scripts[fixture.id].sampled[: len(fixture.ids)]
    assert main(["lab", "fixtures", str(out)]) == 0
    assert f"{len(fixtures)} of {len(fixtures)} agree" in capsys.readouterr().out


def test_unknown_channel_is_not_content(tmp_path: Path) -> None:
    output = "<|channel|>comment<|message|>Hello.<|end|>"
    error = {"reason": "a channel that is none", "accept": ["no_tool_calls", "content_passthrough"]}
    [fixture], _ = fixtures_of(written(tmp_path / "f.jsonl", script_with(output, expected_error=error)))
    assert disagreement(fixture) == ""
    capture = loads(json.dumps(encode(output)).encode(), "ids.json")
    [finding] = inspect(capture).findings
    assert finding.kind == "unknown_header"
    assert finding.fact_row() == {"channel": "comment"}


def test_fixtures_command_prints_disagreements(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected: dict[str, object] = {"content": "Bye.", "reasoning_content": None, "tool_calls": []}
    path = written(
        tmp_path / "f.jsonl",
        script_with("<|channel|>final<|message|>Hello.", expected=expected),
        {**script_with("x"), "family": "kimi"},
    )
    assert main(["lab", "fixtures", str(path)]) == 1
    output = capsys.readouterr().out
    assert "0 of 1 agree with our reading, 1 of other families left out" in output
    assert "gpt-oss/made-here: content: 'Hello.' against 'Bye.'" in output


def test_disagreement_compares_two_calls_and_cut_output(tmp_path: Path) -> None:
    expected: dict[str, object] = {"content": "Hel", "reasoning_content": None, "tool_calls": []}
    cut = script_with("<|channel|>final<|message|>Hel", expected=expected, tags=["truncated"])
    calls = [{"name": "a", "arguments": {"x": 1}}, {"name": "b", "arguments": {}}]
    two = script_with(
        '<|channel|>commentary to=functions.a<|message|>{"x": 1}<|call|>'
        "<|start|>assistant<|channel|>commentary to=functions.b<|message|>{}",
        expected={"content": None, "reasoning_content": None, "tool_calls": calls},
    )
    (short, two_calls), _ = fixtures_of(written(tmp_path / "f.jsonl", cut, two))
    assert disagreement(short) == ""
    assert disagreement(two_calls) == ""


@pytest.mark.parametrize("line", ["{}", "[1]", '{"spec_version": "9.0"}', "no JSON"])
def test_fixtures_of_other_json_names_the_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "f.jsonl"
    path.write_text(f"\n{line}\n", "utf-8")
    with pytest.raises(LabError, match=r"f\.jsonl:2: not a CanIToolCall fixture"):
        fixtures_of(path)


def test_fixture_of_records_its_provenance(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "fixtures", "--out", str(tmp_path / "f.jsonl")]) == 2
    assert "--source-url and --revision" in capsys.readouterr().err
    assert main(["lab", "fixtures"]) == 2
    plain = next(script for script in load() if script.name == "plain")
    row = fixture_of(plain, source_url=SOURCE, revision="1")
    assert row is not None
    assert row["provenance"]["source_url"] == SOURCE


@pytest.mark.parametrize(
    "expected",
    [
        {},
        [],
        {"content": 1, "reasoning_content": None, "tool_calls": []},
        {"content": None, "reasoning_content": None, "tool_calls": [1]},
    ],
)
def test_fixtures_of_a_damaged_fixture_names_the_line(tmp_path: Path, expected: object) -> None:
    with pytest.raises(LabError, match=r"f\.jsonl:1: damaged fixture"):
        fixtures_of(written(tmp_path / "f.jsonl", script_with("Hi", expected=expected)))
