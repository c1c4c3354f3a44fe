"""Findings of real captures lead to the issues that their servers have."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inspector import load
from inspector.analysis.audit import Finding, Kind, audit
from inspector.analysis.reading import Reading, read
from inspector.capture.capture import Capture, Endpoint, Event, Header
from inspector.files.store import builtin
from inspector.inspection.inspection import inspect
from inspector.issues.catalogue.table import catalogue
from inspector.issues.findings.diagnose import (
    answers_of_findings,
    diagnose_capture,
)
from inspector.issues.ranking import Because
from inspector.protocol.harmony.vocab import encode
from tests.support.streams import chat, chat_chunk, completion

FIXTURES = Path(__file__).parent.parent.parent / "fixtures"

FIRST = {
    "chat-tool-call-dropped-vllm-0.13.0": "chat-stream-multi-channel-chunk",
    "chat-tool-call-leak-vllm-0.14.1": "chat-stream-multi-channel-chunk",
    "chat-unexpected-token-200002-vllm-0.13.0": "return-after-end",
    "chat-unexpected-token-12606-vllm-0.13.0": "free-text-between-messages",
    "chat-unexpected-token-swallowed-vllm-0.32.0": "reasoning-parser-missing",
    "chat-unknown-role-vllm-0.13.0": "unknown-role-glued-text",
    "chat-unknown-role-swallowed-vllm-0.32.0": "unknown-role-glued-text",
    "chat-reasoning-missing-vllm-0.32.0": "reasoning-parser-missing",
    "completions-unexpected-token-200002-vllm-0.13.0": "return-after-end",
    "responses-dropped-tokens-vllm-0.13.0": "responses-stream-missing-tokens",
    "responses-disconnected-vllm-0.13.0": "responses-error-cuts-connection",
    "responses-text-swallowed-vllm-0.32.0": "silent-loss-0-32",
}
"""The likeliest issue of built-in captures, by what was done to get them (fixtures/README.md).

Of two, the one of what the verdict says first: there the lost reasoning, before the rejected token."""


def builtin_reading(name: str) -> Reading:
    path = next(example.path for example in builtin() if example.name == name)
    capture = load(path)
    return read(capture)


@pytest.mark.parametrize(("name", "issue"), FIRST.items())
def test_a_real_capture_leads_to_its_issue_first(name: str, issue: str) -> None:
    reading = builtin_reading(name)
    answers = diagnose_capture(audit(reading), reading).answers
    assert answers[0].issue.id == issue


@pytest.mark.parametrize("example", builtin(), ids=lambda example: example.name)
def test_no_answer_for_a_real_capture_is_for_another_release_or_endpoint(example: Any) -> None:
    reading = builtin_reading(example.name)
    for answers in answers_of_findings(audit(reading), reading):
        for answer in answers:
            assert not answer.issue.endpoints or example.endpoint in answer.issue.endpoints
            kinds = {reason.because for reason in answer.reasons}
            assert Because.OUTSIDE not in kinds or Because.TOKENS in kinds


def test_whole_captures_have_no_answers() -> None:
    reading = builtin_reading("chat-whole-vllm-0.14.1")
    assert diagnose_capture(audit(reading), reading).answers == ()


def test_an_inspection_names_the_known_issues_of_each_finding() -> None:
    capture = load(FIXTURES / "chat-tool-call-leak-vllm-0.14.1.jsonl")
    issues = {finding.kind: finding.known_issues for finding in inspect(capture).findings}
    assert issues[Kind.MISROUTED] == ("chat-stream-multi-channel-chunk",)
    assert issues[Kind.DROPPED] == ("chat-stream-multi-channel-chunk", "stream-interval-tool-arguments")


def test_every_reason_can_be_shown() -> None:
    reading = builtin_reading("chat-tool-call-leak-vllm-0.14.1")
    (first, *_) = diagnose_capture(audit(reading), reading).answers
    assert [reason.words for reason in first.reasons] == [
        "the finding misrouted matches it",
        "vLLM 0.14.1 is inside the affected versions >=0.11.1,<0.15.0",
    ]


def error_capture(message: str, request: Mapping[str, Any]) -> Capture:
    data = [
        chat_chunk([200005], {"content": ""}),
        json.dumps({"error": {"message": message, "type": "InternalServerError", "code": 500}}),
        "[DONE]",
    ]
    header = Header(endpoint=Endpoint.CHAT, request=request, server_version="0.18.0", status=200)
    return Capture(header=header, events=[Event(text) for text in data])


def first_issue(capture: Capture) -> str:
    reading = read(capture)
    return diagnose_capture(audit(reading), reading).answers[0].issue.id


def test_ignore_eos_in_the_request_decides_between_entries_of_one_message() -> None:
    message = "Unexpected token 200002 while expecting start token 200006"
    assert first_issue(error_capture(message, {"ignore_eos": True})) == "ignore-eos"
    assert first_issue(error_capture(message, {"ignore_eos": False, "messages": []})) == "return-after-end"


@pytest.mark.parametrize(
    ("stream", "issue"),
    [
        ("<|channel|>analysis<|message|>A.<|end|>comment", "free-text-between-messages"),
        ("<|channel|>commentary to=functions.f<|message|>{}<|call|>comment", "stale-generation-config"),
        ("<|channel|>analysis<|message|>A.<|end|>assistant<|message|>B", "missing-start-plain-role"),
        ("<|channel|>analysis<|message|>A.<|end|><|return|>", "return-after-end"),
        ("<|channel|>analysis<|message|>A.<|end|><|call|>", "call-after-end"),
    ],
)
def test_the_token_before_the_refused_one_decides(stream: str, issue: str) -> None:
    capture = completion([(stream, stream)], request={"skip_special_tokens": False, "prompt": "Hi"})
    reading = read(capture)
    findings = audit(reading)
    refused = [finding.kind for finding in findings].index(Kind.UNEXPECTED_TOKEN)
    assert answers_of_findings(findings, reading)[refused][0].issue.id == issue


def test_the_same_loss_has_another_cause_in_another_release() -> None:
    steps = [
        ("<|channel|>analysis<|message|>", {"role": "assistant"}),
        ("Two words", {"reasoning": " words"}),
        ("<|end|>", {}),
    ]
    causes = {version: first_issue(chat(steps, version=version)) for version in ("0.10.2", "0.11.0")}
    assert causes == dict.fromkeys(("0.10.2", "0.11.0"), "chat-stream-last-token-only")
    assert "chat-stream-last-token-only" not in _matches(*_audited(chat(steps, version="0.13.0")))[0]


def _audited(capture: Capture) -> tuple[list[Finding], Reading]:
    reading = read(capture)
    return audit(reading), reading


def _matches(findings: Sequence[Finding], reading: Reading) -> list[list[str]]:
    return [[answer.issue.id for answer in answers] for answers in answers_of_findings(findings, reading)]


def test_an_entry_about_lost_text_is_not_named_for_a_rejected_token_beside_it() -> None:
    stream = (
        "<|channel|>commentary<|message|>I look.<|end|><|message|>"
        "<|start|>assistant<|channel|>final<|message|>Hi<|return|>"
    )
    for version in ("0.12.0", "0.33.0"):
        capture = chat([(stream, {"content": "I look.Hi"})], version=version)
        findings, reading = _audited(capture)
        assert findings[0].kind is Kind.UNEXPECTED_TOKEN
        named = {name for names in _matches(findings, reading) for name in names}
        assert named.isdisjoint({"preamble-lost", "commentary-channel-without-tools"})


def test_lost_tokens_are_not_named_where_the_ids_hold_what_was_rejected() -> None:
    head = "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant"
    tail = "<|channel|>final<|message|>Hi<|return|>"
    data = [chat_chunk([*encode(head), 815, *encode(tail)], {"reasoning": "Hm."}, finish="stop"), "[DONE]"]
    complete = chat([(head, {})], version="0.23.0")
    sent = replace(complete, events=[Event(text, 0.1) for text in data])
    findings, reading = _audited(sent)
    assert (findings[0].kind, findings[0].sent) == (Kind.BAD_HEADER, True)
    matches = _matches(findings, reading)[0]
    assert matches[0] == "unknown-role-glued-text"
    assert "unknown-role-assistantary" not in matches


ACCUSING = {issue.id for issue in catalogue() if issue.accuses}


@pytest.mark.parametrize(
    "stream",
    [
        "<|message|>Hello<|return|>",
        "zzz qqq",
        *(stream for issue in catalogue() if issue.accuses for stream in issue.shows),
    ],
)
def test_one_malformed_message_accuses_no_hardware_flag_or_reused_parser(stream: str) -> None:
    inspection = inspect(completion([(stream, stream)]))
    assert inspection.cause is None or inspection.cause.id not in ACCUSING
    assert ACCUSING.isdisjoint(names[0] for finding in inspection.findings if (names := finding.known_issues))


def test_a_call_lost_behind_a_malformed_header_does_not_accuse_the_flags() -> None:
    call = "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>"
    broken = f"<|channel|>final final<|message|>Hm<|end|><|start|>assistant{call}"
    named = [
        inspect(chat([(stream, {"content": ""})], version="0.33.0")).findings[-1].known_issues[:1]
        for stream in (call, broken)
    ]
    assert named[0] == ("tool-parser-flags-missing",)
    assert ACCUSING.isdisjoint(named[1])


def test_the_same_garbage_in_several_choices_may_be_the_accelerators() -> None:
    for choices, accused in ((1, False), (2, True)):
        data = [
            chat_chunk(encode("zzz qqq"), {"content": ""}, finish="stop", index=index)
            for index in range(choices)
        ]
        events = [Event(text, 0.1) for text in (*data, "[DONE]")]
        inspection = inspect(replace(chat([], version="0.32.0"), events=events))
        answers = diagnose_capture(inspection.findings, inspection.reading).answers
        (kernel,) = (answer for answer in answers if answer.issue.id == "wrong-kernel-garbage")
        doubted = Because.ONE_MESSAGE in {reason.because for reason in kernel.reasons}
        assert doubted is not accused
