"""SARIF and JUnit of captures: the published schema, what code scanning requires, and stable results."""

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

import jsonschema
import pytest

from inspector.analysis.audit import Severity
from inspector.capture.installed import project_url
from inspector.capture.version import __version__
from inspector.cli import main
from inspector.files.store import FIXTURES, load
from inspector.fleet.probe import Result, sarif_text
from inspector.inspection.inspection import Inspection, inspect
from inspector.views.sarif import WORKSPACE, audit_sarif
from tests.support.builtin import COMPLETE_CHAT, TOOL
from tests.support.command import inspector
from tests.support.distributions import add_metadata
from tests.support.probes import row

SCHEMA = jsonschema.Draft202012Validator(
    json.loads((Path(__file__).parents[1] / "support" / "sarif" / "sarif-2.1.0.json").read_text("utf-8"))
)
RULES_AT_MOST, RESULTS_AT_MOST, PLACES_AT_MOST = 25_000, 25_000, 1_000


def checked(text: str) -> list[dict[str, Any]]:
    """The results of a valid document that code scanning shows."""
    document = json.loads(text)
    assert [error.message for error in SCHEMA.iter_errors(document)] == []
    [run] = document["runs"]
    driver: dict[str, Any] = run["tool"]["driver"]
    results: list[dict[str, Any]] = run["results"]
    assert driver["version"] == __version__
    assert len(driver["rules"]) <= RULES_AT_MOST
    assert len(results) <= RESULTS_AT_MOST
    for rule in driver["rules"]:
        for key in ("shortDescription", "fullDescription", "help"):  # GH2012
            assert rule[key]["text"].endswith(".")
    for result in results:
        assert result["message"]["text"]  # GH1007, GH1015
        places = [*result["locations"], *result.get("relatedLocations", ())]
        assert 1 <= len(places) <= PLACES_AT_MOST  # GH1001, GH1004
        for place in places:
            physical = place["physicalLocation"]
            assert physical["region"]["startLine"] >= 1  # GH1003, GH1017
            parts = urlsplit(physical["artifactLocation"]["uri"])
            assert parts.scheme in {"", "file"}  # GH1005
            assert parts.scheme == "" or run["invocations"][0]["workingDirectory"]["uri"]  # GH1006
            assert Path(unquote(parts.path)).exists()
    return results


def fingerprints(results: Sequence[dict[str, Any]]) -> set[str]:
    return {result["partialFingerprints"]["primaryLocationLineHash"] for result in results}


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(WORKSPACE, str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def inspected(*files: Path) -> list[Inspection]:
    return [inspect(load(file), name=os.path.relpath(file)) for file in files]


def test_the_findings_of_every_built_in_capture_are_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FIXTURES.parent)
    monkeypatch.delenv(WORKSPACE, raising=False)
    inspections = inspected(*sorted(FIXTURES.glob("*.jsonl")))
    results = checked(audit_sarif(inspections))
    causes = {cause.id for inspection in inspections for cause in inspection.causes if cause}
    assert {result["properties"]["cause"] for result in results} - {None} == causes
    total = sum(len(inspection.findings) for inspection in inspections)
    assert sum(result["properties"]["findings"] for result in results) == total
    for result in results:
        assert (result["level"] == "error") == any(
            finding.severity is Severity.ERROR
            for inspection in inspections
            for finding in inspection.findings
            if finding.kind == result["ruleId"] and finding.code == result["properties"]["code"]
        )


def test_one_cause_and_prompt_is_one_result_whatever_its_files_are_called(workspace: Path) -> None:
    names = ["a#1.jsonl", "b: ü%41 b.jsonl", "sub/c.jsonl"]
    (workspace / "sub").mkdir()
    for name in names:
        shutil.copy(FIXTURES / f"{TOOL}.jsonl", workspace / name)
    [several] = checked(audit_sarif(inspected(*(workspace / name for name in names))))
    assert several["occurrenceCount"] == 3
    assert several["ruleId"] == "misrouted"
    assert several["properties"]["kinds"] == ["misrouted", "dropped", "invalid_tool_arguments"]
    assert len(several["relatedLocations"]) == 2
    second_results = checked(audit_sarif(inspected(workspace / names[1])))
    assert fingerprints(second_results) == fingerprints([several])
    content = (workspace / names[0]).read_text("utf-8")
    (workspace / "other.jsonl").write_text(content.replace('"role": "user"', '"role": "system"'), "utf-8")
    other_results = checked(audit_sarif(inspected(workspace / "other.jsonl", workspace / names[0])))
    assert len(fingerprints(other_results)) == 2


def test_a_file_outside_the_workspace_is_an_address_and_the_workspace_is_named(workspace: Path) -> None:
    file = FIXTURES / f"{TOOL}.jsonl"
    [result] = checked(audit_sarif([inspect(load(file), name=str(file))]))
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == file.as_uri()


def test_a_probe_has_a_result_for_each_cause_and_prompt_at_a_line_that_exists(workspace: Path) -> None:
    out = workspace / "out"
    (out / "captures").mkdir(parents=True)
    (out / "rows.jsonl").touch()
    for name in ("x", "y"):
        (out / "captures" / f"{name}.jsonl").touch()
    rows = [
        row(0),
        *(row(number, Result.DAMAGED, cause="c", capture="captures/x.jsonl") for number in range(1, 200)),
        row(200, Result.DAMAGED, cause="d", kinds=("later_kind", "misrouted"), capture="captures/y.jsonl"),
        row(201, Result.FAILED),
        row(202, Result.UNKNOWN),
    ]
    results = checked(sarif_text(rows, out))
    shown = [
        (result["ruleId"], result["properties"]["cause"], result["occurrenceCount"]) for result in results
    ]
    assert shown == [("dropped", "c", 199), ("misrouted", "d", 1), ("http_500", "", 1)]
    regions = [result["locations"][0]["physicalLocation"]["region"]["startLine"] for result in results]
    assert regions == [2, 201, 202]
    assert fingerprints(checked(sarif_text(rows[100:], out))) == fingerprints(results)


def test_a_report_on_standard_output_is_alone_there() -> None:
    files = [FIXTURES / f"{name}.jsonl" for name in (TOOL, COMPLETE_CHAT)]
    completed = inspector("audit", *files, "--sarif", "-")
    assert completed.returncode == 1
    assert len(checked(completed.stdout.decode())) == 1
    completed = inspector("audit", *files, "--json", "--sarif", "-")
    assert (completed.returncode, completed.stdout) == (2, b"")
    assert b"only one of --json, --junit -, --sarif -" in completed.stderr
    lint = inspector("lint", FIXTURES / "lint" / "template-teaches-two-terminators.jsonl", "--sarif", "-")
    assert lint.returncode == 1
    assert checked(lint.stdout.decode())


def test_junit_fails_where_the_exit_code_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stray = tmp_path / "stray.jsonl"
    shutil.copy(FIXTURES / f"{TOOL}.jsonl", tool := tmp_path / "tool.jsonl")
    shown: dict[str, list[tuple[str, str | None]]] = {}
    for level in ("error", "never"):
        files = [str(tool), str(FIXTURES / f"{COMPLETE_CHAT}.jsonl"), str(stray)]
        assert main(["audit", *files, "--junit", "-", "--fail-on", level]) == 2
        report = ElementTree.fromstring(capsys.readouterr().out)  # noqa: S314 -- our own text
        shown[level] = [
            (Path(case.attrib["name"]).name, case[0].tag if len(case) else None)
            for case in report.iter("testcase")
        ]
    clean_case = (f"{COMPLETE_CHAT}.jsonl", None)
    assert shown["error"] == [("tool.jsonl", "failure"), clean_case, ("stray.jsonl", "error")]
    assert shown["never"] == [("tool.jsonl", None), clean_case, ("stray.jsonl", "error")]


@pytest.mark.parametrize(
    ("metadata", "address"),
    [
        ("Project-URL: Homepage, https://example.org/a\nProject-URL: Issues, https://example.org/b\n", True),
        ("", False),
    ],
)
def test_the_address_of_the_project_is_that_of_its_metadata(
    metadata: str, address: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_metadata(tmp_path, "harmony-inspector", metadata)
    monkeypatch.syspath_prepend(tmp_path)
    project_url.cache_clear()
    try:
        text = audit_sarif([inspect(load(FIXTURES / f"{TOOL}.jsonl"), name=str(FIXTURES / f"{TOOL}.jsonl"))])
    finally:
        project_url.cache_clear()
    checked(text)
    driver = json.loads(text)["runs"][0]["tool"]["driver"]
    assert driver.get("informationUri") == ("https://example.org/a" if address else None)
