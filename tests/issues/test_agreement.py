"""What is said of one capture on several screens agrees: cause, confidence, releases and evidence."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inspector import loads
from inspector.capture.capture import Capture, End, Event, Header
from inspector.cli import main
from inspector.files.store import FIXTURES, load, save
from inspector.inspection.inspection import inspect
from inspector.inspection.triage import of_content
from inspector.issues import Situation, diagnose_capture, first_step, issues
from inspector.issues.catalogue.issue import Confidence
from inspector.issues.catalogue.versions import as_version
from inspector.issues.texts.diagnose import diagnose_text
from inspector.matrix.results import captures_of, load_runs
from inspector.views.report.facts import facts
from inspector.views.rows import issue_row
from inspector.views.summary import fix_words, fixes

CAPTURES = sorted([*FIXTURES.glob("*.jsonl"), *FIXTURES.glob("*.jsonl.gz")])
UPGRADE = re.compile(r"^(?:Or )?[Uu]pgrade to (?:vLLM )?(\d+\.\d+\.\d+)")


def fixture(name: str) -> Capture:
    return load(FIXTURES / f"{name}.jsonl")


def from_matrix(version: str, step: str, script: str, endpoint: str) -> Capture:
    run = next(
        run
        for run in load_runs(FIXTURES / "matrix" / "stand-in")
        if (run.version, run.step) == (version, step)
    )
    named = {(str(endpoint), name): capture for endpoint, name, capture in captures_of(run)}
    return named[endpoint, script]


def rewritten(capture: Capture, change: Callable[[dict[str, Any]], None]) -> Capture:
    def event_of(event: Event) -> Event:
        try:
            payload = json.loads(event.data)
        except ValueError:
            return event
        change(payload)
        return event._replace(data=json.dumps(payload))

    return replace(capture, events=[event_of(event) for event in capture.events])


def without(*keys: str) -> Callable[[dict[str, Any]], None]:
    def walk(value: object) -> None:
        if isinstance(value, dict):
            for key in keys:
                value.pop(key, None)
        for member in (
            value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
        ):
            walk(member)

    return walk


def releases(steps: tuple[str, ...]) -> list[tuple[int, ...]]:
    upgrades = [match[1] for step in steps if (match := UPGRADE.match(step))]
    return [number for text in upgrades if (number := as_version(text)) is not None]


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
def test_no_issue_asks_for_an_older_release_than_the_first(path: Path) -> None:
    inspection = inspect(load(path), name=path.name)
    diagnosis = diagnose_capture(inspection.findings, inspection.reading)
    if not diagnosis.answers:
        return
    first_releases = releases(diagnosis.steps_for(diagnosis.answers[0].issue)[:1])
    step_lists = [diagnosis.steps_for(answer.issue) for answer in diagnosis.answers]
    step_lists += [tuple(step.text for step in advice.steps) for advice in facts(inspection).advice]
    step_lists += [
        (issue_row(issue, inspection.situation)["fix"],)
        for finding in inspection.findings
        for issue in finding.known_issues
    ]
    step_lists += [(cause.first_step,) for cause in inspection.causes if cause is not None]
    assert all(
        number >= first_releases[0] for steps in step_lists for number in releases(steps) if first_releases
    )


def test_a_lesser_issue_is_advised_the_release_that_the_first_needs() -> None:
    inspection = inspect(fixture("chat-tool-call-leak-vllm-0.14.1"))
    diagnosis = diagnose_capture(inspection.findings, inspection.reading)
    assert [diagnosis.steps_for(answer.issue)[0] for answer in diagnosis.answers] == [
        "Upgrade to vLLM 0.24.0 or newer, the first release measured that delivers such streams completely "
        "(0.15.0 fixes only some of them)."
    ] * 2
    lesser = Situation(version="0.12.0", needed="0.32.0")
    assert (
        first_step(issues()["unknown-role-duplicated-channel"], lesser)
        == "Upgrade to vLLM 0.32.0 or newer, which another issue here needs."
    )


def listed(printed: str) -> list[tuple[str, list[str]]]:
    """The causes that a command printed, each with its steps."""
    causes: list[tuple[str, list[str]]] = []
    for line in printed.splitlines():
        if cause := re.match(r"  \d+\. ([a-z0-9-]+): ", line):
            causes.append((cause[1], []))
        elif line.startswith("     - "):
            causes[-1][1].append(line.removeprefix("     - "))
    return causes


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
def test_audit_diagnose_and_replay_give_the_same_causes_and_steps_in_one_order(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = {}
    for command in ("audit", "diagnose"):
        main([command, "--all", str(path)])
        printed[command] = listed(capsys.readouterr().out)
        main([command, str(path)])
        assert listed(capsys.readouterr().out)[:1] == printed[command][:1]
        main([command, "--json", str(path)])
        row = json.loads(capsys.readouterr().out)
        rows = row["causes"] if command == "audit" else row["answers"]
        assert [(cause["id"], cause["steps"]) for cause in rows] == printed[command]
    assert printed["audit"] == printed["diagnose"]

    inspection = inspect(load(path), name=path.name)
    steps = [step for _, steps in printed["audit"][:1] for step in steps]
    assert fix_words(fixes(inspection)).startswith(" · ".join(steps).removesuffix("."))
    assert [advice.issue.title for advice in inspection.advice[1:]] == [
        issues()[name].title for name, _ in printed["audit"][1:]
    ]


def test_an_error_has_one_diagnosis_in_every_form() -> None:
    """As a line, as the body of a response, as an event: the same causes and steps in the same order."""
    differing = []
    for text in dict.fromkeys(example for issue in issues().values() for example in issue.examples):
        body = json.dumps({"error": {"message": text, "type": "BadRequestError", "param": None, "code": 400}})
        told = [(advice.issue.id, advice.steps) for advice in of_content(body.encode(), "")[0].advice]
        pasted = [(advice.issue.id, advice.steps) for advice in diagnose_text(body).advice]
        for form in (body, f"data: {body}\n\n"):
            shown = [(advice.issue.id, advice.steps) for advice in inspect(loads(form)).advice]
            if (
                not pasted
                or shown != pasted[: len(shown)]
                or len(shown) < min(3, len(pasted))
                or told != shown
            ):
                differing.append(text)
    assert differing == []


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
def test_diagnose_and_audit_are_equally_sure_of_the_first_issue(path: Path) -> None:
    inspection = inspect(load(path), name=path.name)
    diagnosis = diagnose_capture(inspection.findings, inspection.reading)
    if not diagnosis.answers:
        assert inspection.verdict.known == ""
        return
    first = diagnosis.answers[0]
    named = {(cause.id, cause.confidence) for cause in inspection.causes if cause is not None}
    assert (first.issue.id, first.match) in named
    assert diagnosis.sentence.startswith("At fault") == (first.match is not Confidence.LOW)


def test_two_causes_of_the_same_tokens_are_not_both_certain() -> None:
    inspection = inspect(fixture("completions-unexpected-token-200002-vllm-0.13.0"))
    answers = diagnose_capture(inspection.findings, inspection.reading).answers
    assert [(answer.issue.id, str(answer.match)) for answer in answers] == [
        ("return-after-end", "medium"),
        ("llamafactory-end-return", "low"),
    ]


def test_on_an_endpoint_that_no_server_parses_its_parser_is_not_at_fault() -> None:
    inspection = inspect(fixture("completions-unexpected-token-200002-vllm-0.13.0"))
    assert diagnose_capture(inspection.findings, inspection.reading).sentence.startswith(
        "At fault: the model output. "
    )


def test_arguments_of_unknown_origin_blame_nobody_for_certain() -> None:
    lost = rewritten(fixture("chat-tool-call-dropped-vllm-0.13.0"), without("token_ids"))
    cause = inspect(lost).verdict.known
    assert cause.startswith("Looks like: Tool arguments are empty or lack their beginning")
    broken = rewritten(from_matrix("0.22.1", "1", "call_broken_json", "chat"), without("token_ids"))
    inspection = inspect(broken)
    assert inspection.verdict.known.startswith(
        "Looks like: The model wrote tool arguments that are not valid JSON."
    )
    sentence = diagnose_capture(inspection.findings, inspection.reading).sentence
    assert sentence.startswith("Possibly at fault: the model output.")


def test_an_end_without_a_reason_is_not_the_token_limit() -> None:
    capture = fixture("chat-unexpected-token-200002-vllm-0.13.0")
    events = [event for event in capture.events if '"error"' not in event.data]
    inspection = inspect(replace(capture, events=events))
    assert [str(finding.code) for finding in inspection.findings] == ["no_finish_reason"]
    assert inspection.verdict.known == ""


def test_a_header_in_which_the_model_stopped_is_not_the_token_limit() -> None:
    inspection = inspect(from_matrix("0.31.0", "ragged", "refusal_alone", "chat"))
    assert all("truncated-by-max-tokens" not in finding.known_issues for finding in inspection.findings)


def test_a_broken_connection_is_no_parser_error_where_those_are_sent() -> None:
    capture = from_matrix("0.33.0", "1", "cut_in_header", "completions")
    inspection = inspect(replace(capture, events=capture.events[:8], end=End(at_s=1.0, cut=True)))
    assert [str(finding.kind) for finding in inspection.findings] == ["disconnected"]
    assert inspection.verdict.known == ""


def test_tokens_that_are_in_the_stream_were_not_lost() -> None:
    inspection = inspect(fixture("chat-unknown-role-vllm-0.13.0"))
    assert all("unknown-role-assistantary" not in finding.known_issues for finding in inspection.findings)


def test_a_final_object_without_a_count_does_not_show_that_nothing_was_lost() -> None:
    inspection = inspect(rewritten(fixture("responses-text-swallowed-vllm-0.32.0"), without("usage")))
    assert [str(finding.kind) for finding in inspection.findings] == ["no_answer"]
    assert "Nothing was lost" not in inspection.verdict.why
    assert inspection.verdict.known.startswith("Looks like: ")


def _without_version(capture: Capture) -> Capture:
    return replace(capture, header=Header(endpoint=capture.header.endpoint))


def test_tokens_that_show_the_servers_loss_leave_only_the_cause_open() -> None:
    inspection = inspect(_without_version(fixture("chat-tool-call-leak-vllm-0.14.1")))
    assert inspection.verdict.blame == "The server's fault."
    assert inspection.verdict.known.startswith("Looks like: ")
    assert diagnose_capture(inspection.findings, inspection.reading).sentence.startswith(
        "At fault: the server parser. Looks like: Text of an engine step"
    )


def test_an_unknown_verdict_is_not_called_free_of_failures() -> None:
    inspection = inspect(rewritten(fixture("chat-whole-vllm-0.14.1"), without("token_ids")))
    diagnosis = diagnose_capture(inspection.findings, inspection.reading)
    assert diagnosis.sentence == "This capture has no token evidence, so lost text cannot be detected."
    assert diagnosis.next_step == (
        "The request already has `return_token_ids: true`: send it to the server itself, not through a proxy "
        "that may remove the IDs, or ask for logprobs."
    )
    assert not diagnosis.proven


def test_a_capture_of_an_error_is_diagnosed_as_a_capture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capture = from_matrix("0.16.0", "unstreamed", "text_after_call", "chat")
    file = tmp_path / "error.jsonl"
    save(capture, file)
    assert main(["diagnose", "--all", str(file)]) == 1
    printed = capsys.readouterr().out
    named = inspect(capture).findings[0].known_issues[0]
    assert f"1. {named}: " in printed
    assert "harmony_capture" not in printed
    assert "the request has ignore_eos set" in printed
