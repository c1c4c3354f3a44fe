"""The table of right causes: complete, well formed, and read as its comments say."""

import dataclasses
from pathlib import Path

import pytest

from inspector.analysis.audit.verdict import Level
from inspector.capture.capture import Capture, Endpoint
from inspector.capture.errors import LabError
from inspector.files.store import FIXTURES
from inspector.files.store import load as load_captures
from inspector.inspection.inspection import inspect
from inspector.issues import issues
from inspector.matrix.results import STAND_IN, MatrixRun, ScriptOutcome, capture_of, load_runs
from inspector.matrix.scripts import load as load_scripts
from inspector.protocol.wire.endpoints import spec_of
from tools.cause_rates import Mode, as_mode
from tools.causes import CauseTable, Right, load

TABLE = load()
RUNS = load_runs(FIXTURES / "matrix")
UNSTREAMED = [run for run in load_runs(FIXTURES / "matrix" / STAND_IN) if not run.streamed]
SMALL = """
groups: {cut: [cut_in_answer, cut_in_header]}
scripts:
  - {names: [text_after_call], cause: stale, also: [override], with_request: ignore,
     without_request: [ignore], reason: the script's}
rules:
  - {endpoint: chat, releases: '<0.14.0', step: 3, scripts: [$cut, plain], cause: early,
     without_version: [late], reason: first}
  - {endpoint: chat, scripts: [plain], step: 3, cause: none, reason: second}
  - {endpoint: chat, scripts: [cut_in_answer], cause: length, also: [model], reason: third}
  - {cause: model, reason: last}
unstreamed:
  - {endpoint: chat, front_end: rust, cause: lost, reason: rust only}
  - {endpoint: chat, scripts: [plain], cause: none, reason: not streamed}
fixtures:
  a.jsonl: {cause: lost, reason: a file's}
"""


def small(folder: Path, old: str = "", new: str = "") -> CauseTable:
    path = folder / "causes.yaml"
    path.write_text(SMALL.replace(old, new) if old else SMALL, encoding="utf-8")
    return load(path)


def right(table: CauseTable, script: str, release: str, step: int, *, complete: bool = True) -> Right:
    right_cause = table.right(script, release, Endpoint.CHAT, step, version=complete, request=complete)
    assert right_cause is not None
    return right_cause


def recorded(run: MatrixRun, endpoint: Endpoint, script: str) -> Capture:
    capture = capture_of(run, endpoint, script)
    assert capture is not None
    return capture


def test_matrix_captures_with_findings_have_a_cause() -> None:
    captures = [
        (run.version, run.stream_interval, endpoint, script)
        for run in RUNS
        for (endpoint, script), score in run.scores.items()
        if score.kinds or score.outcome is not ScriptOutcome.COMPLETE
    ]
    assert len(captures) > 1000
    missing = [
        (version, step, endpoint, script)
        for version, step, endpoint, script in captures
        if TABLE.right(script, version, endpoint, step) is None
    ]
    assert not missing


def test_failing_fixtures_have_a_cause() -> None:
    files = {path.name: path for path in FIXTURES.glob("*.jsonl*")}
    assert set(TABLE.fixtures) <= set(files)
    proven = {Level.ERROR, Level.WARNING}
    failing = {name for name, path in files.items() if inspect(load_captures(path)).verdict.level in proven}
    assert len(failing) > 10
    assert failing <= set(TABLE.fixtures)


def test_no_rule_is_unused() -> None:
    decided = {
        next(
            place
            for place, rule in enumerate(TABLE.rules)
            if rule.fits(script, run.version, endpoint, run.stream_interval, run.front_end)
        )
        for run in RUNS
        for endpoint, script in run.scores
    }
    assert decided == set(range(len(TABLE.rules)))


def test_no_unstreamed_rule_is_unused() -> None:
    decided = {
        next(
            place
            for place, rule in enumerate(TABLE.unstreamed)
            if rule.fits(script, run.version, endpoint, None, run.front_end)
        )
        for run in UNSTREAMED
        for endpoint, script in run.scores
        if spec_of(endpoint).evidence_key  # as in cause_rates
    }
    assert decided == set(range(len(TABLE.unstreamed)))


def test_every_id_is_in_the_catalogue() -> None:
    known = set(issues())
    named = set[str]().union(
        *(
            rule.ids()
            for rule in (*TABLE.rules, *TABLE.unstreamed, *TABLE.models.values(), *TABLE.fixtures.values())
        )
    )
    assert named <= known


def test_scripts_of_the_table_exist() -> None:
    scripts = {script.name for script in load_scripts()}
    assert set(TABLE.models) <= scripts
    for rule in (*TABLE.rules, *TABLE.unstreamed):
        assert rule.scripts <= scripts, rule.reason


def test_malformed_scripts_have_a_model_cause() -> None:
    refused = {script.name for script in load_scripts() if not script.well_formed and not script.stops_early}
    assert refused <= set(TABLE.models)


def test_right_uses_the_first_matching_rule(
    tmp_path: Path,
) -> None:
    table = small(tmp_path)
    assert right(table, "plain", "0.13.0", 3) == Right(cause="early", also=frozenset(), reasons=("first",))
    assert right(table, "cut_in_header", "0.13.0", 3, complete=False).also == {"late"}
    assert right(table, "plain", "0.14.0", 3).cause == "none"
    assert table.right("plain", "0.14.0", Endpoint.CHAT, 1) is None


def test_right_of_unstreamed_responses(tmp_path: Path) -> None:
    table = small(tmp_path)
    python, rust = (
        table.right("plain", "0.13.0", Endpoint.CHAT, None, front_end=front_end)
        for front_end in ("python", "rust")
    )
    assert python is not None
    assert rust is not None
    assert (python.cause, rust.cause) == ("none", "lost")
    assert table.right("text_after_call", "0.13.0", Endpoint.CHAT, None) is None


def test_right_replaces_model_by_the_scripts_cause(tmp_path: Path) -> None:
    table = small(tmp_path)
    row = right(table, "text_after_call", "0.32.0", 1)
    assert row == Right(cause="ignore", also=frozenset({"override"}), reasons=("last", "the script's"))
    blind = right(table, "text_after_call", "0.32.0", 1, complete=False)
    assert blind.cause == "stale"
    assert blind.also == {"override", "ignore"}
    assert right(table, "cut_in_answer", "0.32.0", 1).also == frozenset()
    assert table.right_of_fixture("a.jsonl") == Right(cause="lost", also=frozenset(), reasons=("a file's",))
    assert table.right_of_fixture("b.jsonl") is None


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("reason: second", "reason: ' '", r"matching regex .* at `\$\.rules\[1\]\.reason`"),
        ("'<0.14.0'", "'0.14.0'", r"is not an operator .* at `\$\.rules\[0\]\.releases`"),
        ("scripts: [plain]", "scripts: [$plain]", "plain is not in `groups`"),
        ("endpoint: chat, scripts: [cut", "endpoint: talk, scripts: [cut", r"'talk' - at `\$\.rules\[2\]"),
        (
            "\nrules:",
            "\n  - {names: [text_after_call], cause: a, reason: b}\nrules:",
            "text_after_call is listed twice",
        ),
        ("step: 3, cause: none", "steps: 3, cause: none", r"unknown field `steps` - at `\$\.rules\[1\]`"),
        ("reason: rust only", "reason: ''", r"at `\$\.unstreamed\[0\]\.reason`"),
    ],
)
def test_a_table_that_is_wrong_is_refused_with_the_place(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    with pytest.raises(LabError, match=words):
        small(tmp_path, old, new)


def test_as_mode_dump_has_only_events() -> None:
    for endpoint, script in ((Endpoint.CHAT, "plain"), (Endpoint.RESPONSES, "turn_python_unstreamed")):
        capture = recorded(RUNS[0], endpoint, script)
        read = as_mode(capture, Mode.DUMP)
        assert read.header.endpoint is endpoint
        assert (read.header.request, read.header.server_version, read.header.script) == ({}, None, None)
        assert [event.data for event in read.events] == [event.data for event in capture.events]
        assert [event.kind for event in read.events] == [event.kind for event in capture.events]


def test_as_mode_unversioned_removes_only_the_release() -> None:
    capture = recorded(RUNS[0], Endpoint.CHAT, "plain")
    read = as_mode(capture, Mode.UNVERSIONED)
    assert read == dataclasses.replace(
        capture, header=dataclasses.replace(capture.header, server_version=None)
    )
    assert as_mode(capture, Mode.FULL) is capture
