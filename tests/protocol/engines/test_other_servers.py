"""Verdicts on recorded streams of SGLang, Dynamo and llama-server, where the lab knows what was sampled."""

from pathlib import Path

import pytest

from inspector.analysis.audit import Severity
from inspector.analysis.reading import Evidence
from inspector.inspection.compare import Outcome, compare
from inspector.inspection.inspection import inspect
from inspector.matrix.results import MatrixRun, ScriptOutcome, captures_of, load_runs, named_capture
from inspector.matrix.scripts import load

ROOT = Path(__file__).parents[3]
SCRIPTS = {script.name: script for script in load()}
RELEASES = ("dynamo-1.6.1", "dynamo-1.4.2", "sglang-rust-0.5.23", "llama-server-0.7.0")
RUNS = [run for run in load_runs(ROOT / "fixtures/matrix/servers") if run.name.startswith(RELEASES)]


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_what_was_delivered_whole_has_no_error_and_no_loss_with_all_ids_is_clean(run: MatrixRun) -> None:
    wrong = []
    for endpoint, name, capture in captures_of(run):
        inspection = inspect(capture)
        outcome = run.scores[endpoint, name].outcome
        severities = {finding.severity for finding in inspection.findings}
        has_ids = inspection.reading.choice.evidence is Evidence.TOKEN_IDS
        if outcome is ScriptOutcome.COMPLETE and SCRIPTS[name].well_formed and Severity.ERROR in severities:
            wrong.append(f"{name}: delivered whole, but {inspection.verdict.sentence}")
        if outcome is ScriptOutcome.SILENT and has_ids and not severities:
            wrong.append(f"{name}: a loss, but {inspection.verdict.sentence}")
        if outcome is ScriptOutcome.REPORTED and Severity.ERROR not in severities:
            wrong.append(f"{name}: an error, but {inspection.verdict.sentence}")
    assert not wrong


def test_logprobs_of_delivered_text_are_no_evidence_of_a_loss() -> None:
    for run in RUNS:
        for _, name, capture in captures_of(run):
            choice = inspect(capture).reading.choice
            if choice.evidence is Evidence.LOGPROBS:
                assert len(choice.tokens) == len(SCRIPTS[name].sampled), name


def test_a_server_that_sends_fewer_ids_is_not_said_to_have_other_tokens() -> None:
    dynamo = named_capture("dynamo-1.6.1-si3/chat-tool_call")
    for run in ("sglang-rust-0.5.23-si3", "vllm-frontend-0.12.0-si3"):
        capture = named_capture(f"{run}/chat-tool_call")
        assert dynamo is not None
        assert capture is not None
        for left, right in ((dynamo, capture), (capture, dynamo)):
            comparison = compare(inspect(left), inspect(right))
            assert comparison.outcome is Outcome.UNKNOWN, comparison.sentence
    vllm = named_capture("vllm-frontend-0.12.0-si3/chat-plain")
    assert dynamo is not None
    assert vllm is not None
    assert compare(inspect(dynamo), inspect(vllm)).outcome is Outcome.TOKENS


def test_the_servers_are_named() -> None:
    captures = [next(capture for _, _, capture in captures_of(run)) for run in RUNS]
    labels = {inspect(capture).reading.engine.label for capture in captures}
    assert labels == {"Dynamo", "SGLang", "llama-server"}
