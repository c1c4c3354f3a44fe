"""Messages as people have it: streams, what the SDK prints, logs of its events, Claude Code's rows."""

import json
from collections.abc import Sequence
from typing import Any

import anthropic
import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.analysis.event_schema import schema_violations
from inspector.capture.capture import Capture, Endpoint
from inspector.files.importers import sniff_and_read
from inspector.inspection.inspection import inspect
from inspector.net.reference_clients import ClientOutcome, python_reading
from inspector.protocol.wire.event_checks import ViolationCode
from tests.support.foreign import known, read, refusal, sse
from tests.support.forms import lines

MESSAGES = known("messages-tool-call-whole-vllm-0.33.0")
STREAM = sse(MESSAGES).decode()
EVENTS: list[dict[str, Any]] = [json.loads(event.data) for event in MESSAGES.events]
TEXTS = inspect(MESSAGES).reading.choice.delivered()


def other(name: str) -> list[dict[str, Any]]:
    """The events of another response with the same texts."""
    first = {**EVENTS[0], "message": {**EVENTS[0]["message"], "id": name}}
    calls = json.loads(json.dumps(EVENTS[1:]).replace("chatcmpl-tool", f"{name}-tool"))
    return [first, *calls]


def client() -> anthropic.Anthropic:
    sent = httpx2.MockTransport(
        lambda _: httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=STREAM.encode())
    )
    http = httpx2.Client(transport=sent)
    return anthropic.Anthropic(base_url="http://x.invalid", api_key="none", http_client=http, max_retries=0)


ASKED: Any = {"model": "m", "max_tokens": 1, "messages": []}
RAW = list(client().messages.create(**ASKED, stream=True))
with client().messages.stream(**ASKED) as stream:
    BUILT = list(stream)
    FINAL = stream.get_final_message()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("the stream", STREAM),
        ("with headers", f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n{STREAM}"),
        ("with the end of chat", STREAM + "data: [DONE]\n\n"),
        ("with pings", 'event: ping\ndata: {"type": "ping"}\n\n' + STREAM),
        ("without blank lines", STREAM.replace("\n\n", "\n")),
        ("grep data:", "".join(f"data: {event.data}\n" for event in MESSAGES.events)),
        ("lines", lines(EVENTS)),
        ("array", json.dumps(EVENTS)),
        ("below a key", lines({"type": "stream_event", "event": event, "uuid": "1"} for event in EVENTS)),
        ("JSON of the SDK", "\n".join(event.to_json() for event in RAW)),
        ("JSON of the SDK's own events", "\n".join(event.to_json(indent=None) for event in BUILT)),
        ("printed", "\n".join(map(repr, RAW))),
        ("printed in a log", "\n".join(f"INFO:agent:{event!r}" for event in RAW)),
        ("the SDK's own events, printed", "\n".join(map(repr, BUILT))),
        ("the message", FINAL.to_json()),
        ("the message, printed in a log", f"DEBUG {FINAL!r}"),
    ],
)
def test_any_form_has_the_texts_and_the_sdk_reads_it(name: str, text: str) -> None:
    capture = read(text)
    inspection = inspect(capture)
    assert capture.header.endpoint is Endpoint.MESSAGES
    assert inspection.reading.choice.delivered() == TEXTS
    assert inspection.findings == []
    assert schema_violations(capture) == ()
    reading = python_reading(capture)
    assert reading is not None
    assert reading.outcome is ClientOutcome.READ, name


@given(st.integers(1, len(EVENTS) - 1))
def test_responses_that_were_appended_to_a_file_are_as_many_captures(events: int) -> None:
    beginning = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in EVENTS[:events])
    whole = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in other("msg_2"))
    assert [len(capture.events) for capture in _captures(beginning + whole + whole)] == [
        events,
        len(EVENTS),
        len(EVENTS),
    ]
    in_lines = _captures(lines([*EVENTS[:events], *other("msg_2"), *other("msg_2")]))
    assert [len(capture.events) for capture in in_lines] == [events, len(EVENTS), len(EVENTS)]


def test_appended_responses_are_as_many_captures_too() -> None:
    assert len(_captures(sse(known("responses-dropped-tokens-vllm-0.13.0")).decode() * 2)) == 2


def test_a_first_event_that_comes_twice_begins_one_response() -> None:
    first = f"event: message_start\ndata: {MESSAGES.events[0].data}\n\n"
    assert len(read(first + STREAM).events) == len(EVENTS) + 1


@given(st.randoms(use_true_random=False))
def test_mixed_responses_are_rejected(random: Any) -> None:
    streams = [list(EVENTS), other("msg_2")]
    mixed = [streams[0].pop(0), streams[1].pop(0)]
    while any(streams):
        mixed.append(random.choice([stream for stream in streams if stream]).pop(0))
    assert "are mixed and cannot be separated" in refusal(lines(mixed))


def test_one_event_alone_is_a_piece_of_a_stream() -> None:
    for event in EVENTS:
        inspection = inspect(read(json.dumps(event)))
        assert inspection.reading.excerpt is not None
        assert inspection.findings == []


def test_an_event_without_its_name_is_skipped_by_the_sdk() -> None:
    capture = read("".join(f"data: {event.data}\n\n" for event in MESSAGES.events))
    assert {row.code for row in schema_violations(capture)} == {ViolationCode.EVENT_UNNAMED}
    reading = python_reading(capture)
    assert reading is not None
    assert reading.outcome is ClientOutcome.UNREADABLE


def test_events_of_a_coding_agent_that_have_the_same_types_are_no_response() -> None:
    said = {"role": "user", "content": [{"type": "text", "text": "Hi"}]}
    events = [{"type": f"message_{kind}", "message": said} for kind in ("start", "update", "end")]
    assert "none of the first is a chunk" in refusal(lines(events))


def rows(reasons: Sequence[str | None]) -> list[dict[str, Any]]:
    """The rows of a coding agent: each block of a message is one, with the ID of the message."""
    message = FINAL.to_dict(mode="json")
    blocks: Any = message["content"]
    return [{"type": "user", "message": {"role": "user", "content": "Weather?"}}] + [
        {"type": "assistant", "message": {**message, "content": [block], "stop_reason": reason}}
        for block, reason in zip(blocks, reasons, strict=True)
    ]


@pytest.mark.parametrize("reasons", [(None, None), (None, "tool_use"), ("tool_use", "tool_use")])
def test_a_message_in_several_rows_is_one_response(reasons: Sequence[str | None]) -> None:
    inspection = inspect(read(lines(rows(reasons))))
    assert inspection.reading.choice.delivered() == TEXTS
    assert inspection.reading.stream.counted is None
    assert inspection.findings == []
    assert "Joined from 2 rows" in inspection.capture.notes[0]


def test_a_message_whose_events_are_there_too_is_not_told_twice() -> None:
    events = [{"type": "stream_event", "event": event} for event in EVENTS]
    captures = _captures(lines([*events[:6], *rows((None, None)), *events[6:]]))
    assert [inspect(capture).reading.choice.delivered() for capture in captures] == [TEXTS]


def test_other_messages_in_rows_are_responses_of_their_own() -> None:
    message = FINAL.to_dict(mode="json")
    captures = _captures(lines({"message": {**message, "id": name}} for name in ("msg_1", "msg_2")))
    assert [capture.notes for capture in captures] == [(), ()]
    assert [inspect(capture).reading.stream.counted for capture in captures] == [32, 32]


def _captures(text: str) -> list[Capture]:
    return sniff_and_read(text.encode(), "f")
