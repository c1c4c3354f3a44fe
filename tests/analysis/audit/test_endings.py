"""How streams end: rejected tokens, cuts, errors, counts that differ."""

import json
from dataclasses import replace

import pytest

from inspector.analysis.audit import Kind, Severity, explain
from inspector.capture.capture import Capture, End, Endpoint, Event, EventKind, Header
from inspector.protocol.harmony.vocab import encode
from tests.support.audits import (
    CLEAN,
    STOP,
    asked,
    findings_of,
    response,
)
from tests.support.streams import CLOSED, chat, chat_chunk


def test_a_swallowed_refusal_is_the_refusal_and_one_loss() -> None:
    steps = [*CLEAN[:3], ("<|end|>comment here", {}), STOP]
    findings = findings_of(chat(steps))
    assert [(finding.kind, finding.token_start, finding.token_end) for finding in findings] == [
        (Kind.UNEXPECTED_TOKEN, 7, 8),
        (Kind.UNSERVED, 7, 9),
    ]
    assert findings[0].delivered == "Unexpected token 12606 while expecting start token 200006"


def test_a_refusal_that_the_server_told_is_not_told_twice() -> None:
    capture = chat([*CLEAN[:3], ("<|end|>comment", {})], finish=None)
    error = Event(json.dumps({"error": {"message": "Unexpected token 12606", "code": 400}}))
    events = [*capture.events[:-1], error, capture.events[-1]]
    kinds = [finding.kind for finding in findings_of(replace(capture, events=events))]
    assert kinds == [Kind.UNEXPECTED_TOKEN, Kind.SERVER_ERROR]


def test_framing_sent_as_text_is_misrouted() -> None:
    steps = [
        *CLEAN[:3],
        ("<|end|><|start|>assistant<|channel|>fin", {"content": "<|start|>assistant<|channel|>fin"}),
    ]
    findings = findings_of(chat(steps, finish="length"))
    assert [(finding.kind, finding.field, finding.delivered_in) for finding in findings] == [
        (Kind.MISROUTED, None, "content"),
        (Kind.TRUNCATED, None, None),
    ]


@pytest.mark.parametrize(
    ("cut", "place"), [(2, "message on the analysis channel"), (4, "message on the final channel")]
)
def test_a_stream_cut_in_a_body_is_truncated(cut: int, place: str) -> None:
    (finding,) = findings_of(chat(CLEAN[: cut + 1], finish="length"))
    assert finding.kind is Kind.TRUNCATED
    assert place in explain(finding)


def test_where_no_message_begins_none_is_left_open() -> None:
    capture = chat([("comment", {})], finish="length")
    prompt = {"prompt_token_ids": encode("<|start|>user<|message|>x<|end|>"), "choices": []}
    findings = findings_of(replace(capture, events=[Event(json.dumps(prompt)), *capture.events]))
    assert [finding.kind for finding in findings] == [Kind.UNEXPECTED_TOKEN, Kind.UNSERVED]


def test_a_stop_string_may_end_a_body() -> None:
    assert findings_of(chat(CLEAN[:5], finish="stop")) == []


def test_tokens_after_return_are_refused_and_not_truncated() -> None:
    findings = findings_of(chat([*CLEAN[:-1], ("<|return|>more and more", {})], finish="length"))
    assert [finding.kind for finding in findings] == [Kind.UNEXPECTED_TOKEN, Kind.UNSERVED]


def test_ids_with_holes_accuse_nobody() -> None:
    data = [
        chat_chunk(encode("<|message|>"), {}),
        *(chat_chunk(encode(text), {"reasoning": text}) for text in ("Think", " hard")),
        chat_chunk(None, {"reasoning": " now"}),
        chat_chunk(encode("<|end|>assistant"), {}),
        chat_chunk(encode("<|message|>"), {"content": ""}),
        chat_chunk(encode("Yes"), {"content": "Yes"}, finish="stop"),
        json.dumps({"choices": [], "usage": {"completion_tokens": 16}}),
        "[DONE]",
    ]
    capture = Capture(
        header=Header(endpoint=Endpoint.CHAT), events=[Event(payload) for payload in data], end=CLOSED
    )
    assert [finding.kind for finding in findings_of(capture)] == [Kind.COUNT_MISMATCH]


def test_counts_that_differ_are_a_warning() -> None:
    assert [finding.kind for finding in findings_of(chat(CLEAN, usage=14))] == [Kind.COUNT_MISMATCH]


def test_a_stream_without_done_and_a_stream_cut_off() -> None:
    assert [finding.kind for finding in findings_of(chat(CLEAN, done=False))] == [Kind.PROTOCOL]
    broken = chat(CLEAN[:3], finish=None, done=False, end=End(at_s=None, cut=True, detail="reset"))
    (finding,) = findings_of(broken)
    assert finding.kind is Kind.DISCONNECTED
    assert "reset" in explain(finding)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('{"error":{"message":"boom","type":"InternalServerError","code":500}}', "boom"),
        ('{"object":"error","message":"old boom","code":500}', "old boom"),
        ('{"detail":"Not Found"}', "Not Found"),
        ("<html>Bad gateway</html>", "Bad gateway"),
        ("", "HTTP 500"),
    ],
)
def test_an_http_error_is_one_server_error(body: str, words: str) -> None:
    header = Header(endpoint=Endpoint.CHAT, status=500)
    events = [Event(body, 0.1, "", EventKind.BODY)] if body else []
    findings = findings_of(Capture(header=header, events=events, end=CLOSED))
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    assert [error.kind for error in errors] == [Kind.SERVER_ERROR]
    assert words in explain(errors[0])


@pytest.mark.parametrize("reason", ["abort", "content_filter", "error"])
def test_an_answer_that_ends_open_for_another_reason_than_a_stop_is_truncated(reason: str) -> None:
    assert [finding.kind for finding in findings_of(chat(CLEAN[:5], finish=reason))] == [Kind.TRUNCATED]


def test_one_choice_of_two_that_never_finished_is_a_broken_connection() -> None:
    data = [
        chat_chunk(
            encode(text), delta, finish="stop" if text == "<|return|>" and index == 0 else None, index=index
        )
        for text, delta in CLEAN
        for index in (0, 1)
    ]
    events = [Event(payload) for payload in data[:-1]]
    capture = Capture(header=Header(endpoint=Endpoint.CHAT), events=events, end=CLOSED)
    assert Kind.DISCONNECTED in {finding.kind for finding in findings_of(capture)}


@pytest.mark.parametrize(
    ("prompt", "kind"),
    [
        ("<|start|>user<|message|>x<|end|>oops", Kind.UNEXPECTED_TOKEN),
        ("<|start|>nobody<|message|>", Kind.BAD_HEADER),
    ],
)
def test_a_prompt_that_breaks_the_format_is_told_without_a_place_in_the_answer(
    prompt: str, kind: Kind
) -> None:
    first = json.dumps({"prompt_token_ids": encode(prompt), "choices": []})
    capture = chat([("<|start|>assistant<|channel|>final<|message|>Hi", {"content": "Hi"}), STOP])
    findings = findings_of(replace(capture, events=[Event(first, 0.0), *capture.events]))
    (finding,) = [finding for finding in findings if finding.kind in {Kind.UNEXPECTED_TOKEN, Kind.BAD_HEADER}]
    assert (finding.kind, finding.severity, finding.token_start) == (kind, Severity.ERROR, None)
    assert finding.delivered


def test_counts_are_not_held_against_what_was_hidden_or_cannot_be_told() -> None:
    short = chat([("", {"content": "Hi"})], usage=500, with_ids=False)
    assert Kind.COUNT_MISMATCH in {finding.kind for finding in findings_of(short)}
    assert findings_of(asked(short, include_reasoning=False)) == []
    tool = {"type": "web_search_call", "action": {}}
    counted = findings_of(response([tool], request={}, usage={"output_tokens": 500}))
    assert [finding.kind for finding in counted] == [Kind.NO_ANSWER]
