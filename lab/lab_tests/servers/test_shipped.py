"""The shipped results of servers other than vLLM."""

import json

import pytest

from harmony_lab.matrix import condition_targets, targets_of
from harmony_lab.score import score
from harmony_lab.servers.serving import step_events
from harmony_lab.servers.sglang import SGLANG_RUST, SGLANG_RUST_CLI
from harmony_lab.standin.steps import schedule_of
from inspector.capture.capture import Endpoint
from inspector.files.store import FIXTURES
from inspector.issues.catalogue.steps import MEASURED_FILE
from inspector.matrix.results import OTHER_SERVERS, MatrixRun, ScriptOutcome, captures_of, load_runs
from inspector.matrix.scripts import load
from inspector.protocol.engines import DEFAULT
from inspector.protocol.engines.vllm_rust import VLLM_RUST

RUNS = [run for run in load_runs(FIXTURES / "matrix" / OTHER_SERVERS) if run.package != "llama-server"]
SCRIPTS = {script.name: script for script in load()}


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_every_suitable_script_is_there_with_the_score_of_its_capture(run: MatrixRun) -> None:
    targets = condition_targets(run.package, run.version, run.step, targets_of())
    assert set(run.scores) == {(target.endpoint, target.script.name) for target in targets}
    for endpoint, name, capture in list(captures_of(run))[::9]:
        assert score(SCRIPTS[name], capture) == run.scores[endpoint, name]


@pytest.mark.parametrize("run", [run for run in RUNS if run.streamed], ids=lambda run: run.name)
def test_each_step_of_a_stream_without_tools_is_an_event(run: MatrixRun) -> None:
    compared = 0
    for _, name, capture in captures_of(run):
        sampled = SCRIPTS[name].sampled
        if capture.header.status == 200 and not capture.header.request.get("tools"):
            sizes = schedule_of(run.step).sizes()
            steps, left = 0, len(sampled)
            while left > 0:
                left -= next(sizes)
                steps += 1
            assert step_events(capture) >= steps, name
            compared += 1
    assert compared > 50


def test_with_the_parser_of_the_command_line_every_request_with_tools_is_refused() -> None:
    for run in (run for run in RUNS if run.package == SGLANG_RUST_CLI.name):
        refused = {
            name for (_, name), result in run.scores.items() if result.outcome is ScriptOutcome.REPORTED
        }
        assert refused == {
            script.name for script in load() if script.tools and SGLANG_RUST.runs(Endpoint.CHAT, script)
        }


def test_servers_whose_parsers_are_dynamos_report_no_error() -> None:
    runs = [run for run in RUNS if run.package != SGLANG_RUST_CLI.name]
    assert len({(run.package, run.version) for run in runs}) >= 4
    outcomes = {result.outcome for run in runs for result in run.scores.values()}
    assert outcomes == {ScriptOutcome.COMPLETE, ScriptOutcome.SILENT}


def test_advice_for_vllm_uses_no_cell_of_another_server() -> None:
    measured = json.loads(MEASURED_FILE.read_text(encoding="utf-8"))
    engines = {DEFAULT.name, VLLM_RUST.name}
    assert set(measured["releases"]) == engines
    assert {
        engine for issue in measured["issues"].values() for endpoint in issue.values() for engine in endpoint
    } <= engines
