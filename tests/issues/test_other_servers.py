"""Advice for another server than vLLM: its own steps and links, also where only its token IDs name it."""

import re
from collections.abc import Iterator

import pytest

from inspector.capture.capture import Capture
from inspector.files.store import FIXTURES
from inspector.inspection.inspection import Inspection, diagnose, inspect
from inspector.issues import Situation, catalogue, links_for, steps_for
from inspector.issues.ranking import possible_on
from inspector.matrix.results import OTHER_SERVERS, MatrixRun, captures_of, load_runs
from inspector.protocol.engines import DEFAULT, ENGINES, UNKNOWN, Engine
from inspector.views.summary import fixes
from tests.support.tiers import part
from tools.cause_rates import Mode, as_mode

OF_VLLM = re.compile(r"vLLM|\b0\.[123]\d\b|--(?:tool|reasoning|enable|enforce|override|generation|stream)")
LINK = re.compile(r"https://[^/]+/[^/]+/vllm/")
OTHER_ENGINES = [engine for engine in ENGINES if not engine.is_among({DEFAULT.program})]
RUNS = load_runs(FIXTURES / "matrix" / OTHER_SERVERS)
DYNAMO = [run for run in RUNS if run.front_end == "dynamo"]


def advice(inspection: Inspection) -> Iterator[str]:
    """All that is advised for a capture, with its links."""
    diagnosis = diagnose(inspection)
    yield inspection.verdict.known
    for answer in diagnosis.answers:
        yield from (
            answer.issue.title,
            *diagnosis.steps_for(answer.issue),
            *diagnosis.links_for(answer.issue),
        )
    for fix in fixes(inspection):
        yield f"{fix.text} {fix.url or ''}"


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_a_named_server_gets_no_advice_for_vllm(run: MatrixRun) -> None:
    wrong = {
        words
        for _, _, capture in part(captures_of(run), RUNS.index(run))
        for words in advice(inspect(capture))
        if OF_VLLM.search(words) or LINK.search(words)
    }
    assert wrong == set()


@pytest.mark.parametrize("engine", OTHER_ENGINES, ids=lambda engine: engine.name)
def test_no_entry_that_a_capture_of_another_server_shows_advises_flags_of_vllm(engine: Engine) -> None:
    wrong = []
    for issue in catalogue():
        if not (issue.tokens or issue.findings) or not possible_on(issue, engine):
            continue
        words = [issue.title, *steps_for(issue, Situation(engine=engine, captured=True))]
        wrong += [text for text in words if OF_VLLM.search(text)]
        wrong += [link for link in links_for(issue, engine) if LINK.search(link)]
    assert wrong == []


LOSSES_OF_DYNAMO = {
    "doubled_channel": "dynamo-channel-twice",
    "recipient_in_role": "dynamo-recipient-before-channel",
    "recipient_in_role_first": "dynamo-recipient-before-channel",
    "channel_after_recipient": "dynamo-recipient-before-channel",
    "call_then_final": "dynamo-call-ended-by-end",
    "cut_in_arguments": "dynamo-cut-call-lost",
    "prompt_tail": "dynamo-prompt-repeated",
    "two_calls_by_end": "dynamo-calls-merged",
    "assistantassistant": "dynamo-parser-error-swallowed",
}


@pytest.mark.parametrize("run", DYNAMO, ids=lambda run: run.name)
def test_what_dynamo_loses_has_a_cause(run: MatrixRun) -> None:
    named = {
        name: inspection.cause.id if inspection.cause is not None else ""
        for _, name, capture in captures_of(run)
        if name in LOSSES_OF_DYNAMO and (inspection := inspect(capture)).reading.choice.has_ids
    }
    assert len(named) >= 3  # 1.4 has no token IDs of responses to requests with tools
    assert named == {name: LOSSES_OF_DYNAMO[name] for name in named}


def _with_own_ids(run: MatrixRun) -> Iterator[Capture]:
    for _, _, capture in captures_of(run):
        if any('"nvext":{' in event.data.replace(" ", "") for event in capture.events):
            yield capture


@pytest.mark.parametrize("run", DYNAMO, ids=lambda run: run.name)
def test_a_dump_with_the_token_ids_of_a_server_is_read_as_that_servers(run: MatrixRun) -> None:
    captures = list(_with_own_ids(run))
    assert captures
    for capture in part(captures, DYNAMO.index(run)):
        named, dumped = inspect(capture), inspect(as_mode(capture, Mode.DUMP))
        assert dumped.reading.engine is named.reading.engine
        assert dumped.reading.engine is not UNKNOWN
        assert [finding.code for finding in dumped.findings] == [finding.code for finding in named.findings]
