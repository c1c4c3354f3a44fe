"""The plugin in a pytest of its own: the examples of docs/pytest.md, the report, and what fails in words."""

import json
import re
from pathlib import Path

import pytest

from inspector.capture.errors import InspectorError
from inspector.testing import assert_no_findings, serving
from tests.support.builtin import CAPTURES, TOOL, WHOLE
from tests.support.command import ROOT

pytest_plugins = ["pytester"]

PLUGIN = ("-p", "inspector.pytest_plugin", "-p", "no:cacheprovider")
CUT, RECORDED = re.findall(
    r"```python\n(.*?)```", (ROOT / "docs" / "pytest.md").read_text("utf-8"), re.DOTALL
)


@pytest.fixture
def elsewhere(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return pytester


def test_the_example_finds_the_client_that_breaks(elsewhere: pytest.Pytester) -> None:
    elsewhere.makepyfile(test_cut=CUT, test_recorded=RECORDED)
    options = ("--harmony-report", "report.json", "--harmony-captures", "kept/captures")
    result = elsewhere.runpytest_subprocess(*PLUGIN, "-n", "2", *options)
    failed = {line.split("::")[1].split(" ")[0] for line in result.outlines if line.startswith("FAILED")}
    name = "test_a_tool_call_is_read_however_it_is_cut"
    assert failed == {f"{name}[first_piece-{faults}]" for faults in ("", "merge=3", "ragged=1", "ragged=2")}
    result.assert_outcomes(passed=5, failed=4)
    [row] = json.loads((elsewhere.path / "report.json").read_text())["tests"]
    assert row["test"].endswith("test_nothing_is_lost_between_server_and_client")
    assert row["outcome"] == "passed"
    assert [one["verdict"]["level"] for one in row["captures"]] == ["clean"]
    [kept] = elsewhere.path.glob("kept/captures/**/*.jsonl")
    assert kept.parent.name.startswith("test_nothing_is_lost_between_server_and_client-")
    assert_no_findings(kept)


def test_what_was_found_is_said_unless_it_is_allowed() -> None:
    assert_no_findings(CAPTURES[WHOLE])
    with pytest.raises(AssertionError, match="leaked 2 reasoning tokens") as said:
        assert_no_findings(TOOL)
    assert "error misrouted: " in str(said.value)
    assert_no_findings(TOOL, allow={"misrouted", "dropped", "invalid_tool_arguments"})
    with pytest.raises(AssertionError, match="error misrouted"):
        assert_no_findings(TOOL, allow={"dropped", "invalid_tool_arguments"}, warnings=False)


def test_a_capture_or_fault_that_does_not_exist_is_said(tmp_path: Path) -> None:
    with serving() as server:
        with pytest.raises(InspectorError, match="no such file"):
            server.play(tmp_path / "missing.jsonl")
        with pytest.raises(InspectorError, match="brake"):
            server.play(WHOLE, faults="brake=3")
