"""The plugin in a pytest of its own: the examples of docs/pytest.md, the report, and what fails in words."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from inspector import __version__
from inspector.capture.errors import InspectorError
from inspector.testing import assert_no_findings, serving
from tests.support.builtin import CAPTURES, COMPLETE_CHAT, TOOL
from tests.support.command import ROOT

pytest_plugins = ["pytester"]

OPTIONS = ("-p", "no:cacheprovider")
CUT, RECORDED = re.findall(
    r"```python\n(.*?)```", (ROOT / "docs" / "pytest.md").read_text("utf-8"), re.DOTALL
)


@pytest.fixture
def elsewhere(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return pytester


@pytest.mark.slow
def test_the_example_finds_the_client_that_breaks(elsewhere: pytest.Pytester) -> None:
    elsewhere.makepyfile(test_cut=CUT, test_recorded=RECORDED)
    options = ("--harmony-report", "report.json", "--harmony-captures", "kept/captures")
    result = elsewhere.runpytest_subprocess(*OPTIONS, "-n", "2", *options)
    failed = {line.split("::")[1].split(" ")[0] for line in result.outlines if line.startswith("FAILED")}
    name = "test_a_tool_call_is_read_however_it_is_cut"
    assert failed == {f"{name}[first_piece-{faults}]" for faults in ("", "merge=3", "ragged=1", "ragged=2")}
    result.assert_outcomes(passed=5, failed=4)
    [row] = json.loads((elsewhere.path / "report.json").read_text())["tests"]
    assert row["test"].endswith("test_nothing_is_lost_between_server_and_client")
    assert row["outcome"] == "passed"
    assert [capture_row["verdict"]["level"] for capture_row in row["captures"]] == ["clean"]
    [stored_path] = elsewhere.path.glob("kept/captures/**/*.jsonl")
    assert stored_path.parent.name == "test_nothing_is_lost_between_server_and_client"
    assert_no_findings(stored_path)


CLIENT_TESTS = """
import inspector


def test_their_own_module_is_imported():
    assert inspector.THEIRS


def test_a_fixture_says_why_it_cannot_be_used(harmony_server):
    raise AssertionError
"""


@pytest.mark.parametrize("command", ["python -m pytest", "pytest"])
@pytest.mark.parametrize("own", ["inspector.py", "inspector/__init__.py"])
def test_a_project_with_an_inspector_of_its_own_is_tested_as_without_the_plugin(
    own: str, command: str, elsewhere: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plugin is loaded by its entry point, as where the wheel is installed."""
    monkeypatch.delenv("PYTHONPATH")
    installed = Path(elsewhere.mkdir("site-packages"))
    for name in ("harmony_inspector_pytest.py", "inspector"):
        (installed / name).symlink_to(ROOT / name)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    metadata = installed / f"harmony_inspector-{__version__}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Name: {project['name']}\nVersion: {__version__}\n")
    [(name, module)] = project["entry-points"]["pytest11"].items()
    (metadata / "entry_points.txt").write_text(f"[pytest11]\n{name} = {module}\n")
    work = Path(elsewhere.mkdir("project"))
    (work / own).parent.mkdir(exist_ok=True)
    (work / own).write_text("THEIRS = True\n")
    (work / "test_theirs.py").write_text(CLIENT_TESTS)
    starts = f"import sys; sys.path.append({str(installed)!r}); import pytest; sys.exit(pytest.main())"
    if command == "pytest":  # the script has no working directory on its path
        starts = f"import sys; sys.path.remove(''); {starts}"
    completed = subprocess.run(
        [sys.executable, "-c", starts, "-p", "no:cacheprovider", "-W", "error"],
        cwd=work,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert "1 passed, 1 error" in completed.stdout, completed.stdout + completed.stderr
    assert f"stays off, because `inspector` is {work / own} here" in completed.stdout


def test_what_was_found_is_said_unless_it_is_allowed() -> None:
    assert_no_findings(CAPTURES[COMPLETE_CHAT])
    with pytest.raises(AssertionError, match="leaked 2 reasoning tokens") as failure:
        assert_no_findings(TOOL)
    assert "error misrouted: " in str(failure.value)
    assert_no_findings(TOOL, allow={"misrouted", "dropped", "invalid_tool_arguments"})
    with pytest.raises(AssertionError, match="error misrouted"):
        assert_no_findings(TOOL, allow={"dropped", "invalid_tool_arguments"}, warnings=False)


def test_a_capture_or_fault_that_does_not_exist_is_said(tmp_path: Path) -> None:
    with serving() as server:
        with pytest.raises(InspectorError, match="no such file"):
            server.play(tmp_path / "missing.jsonl")
        with pytest.raises(InspectorError, match="brake"):
            server.play(COMPLETE_CHAT, faults="brake=3")
