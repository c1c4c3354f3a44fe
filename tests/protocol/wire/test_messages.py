"""Messages: events and bodies to deltas, finish, counts, errors; disorder is noted and the text is kept."""

import json
from typing import Any

import pytest

from inspector.capture.capture import Capture, Endpoint, Event, EventKind, Header
from inspector.inspection.inspection import inspect
from inspector.protocol.engines import UNKNOWN
from inspector.protocol.wire.messages import MessagesReader
from inspector.protocol.wire.stream import Stream

USAGE = {"input_tokens": 120, "output_tokens": 0}
START = {
    "type": "message_start",
    "message": {"id": "msg_1", "model": "gpt-oss", "content": [], "stop_reason": None, "usage": USAGE},
}
FINISH = {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 32}}
STOP = {"type": "message_stop"}


def block(index: object, **content: object) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": content}


def delta(index: object, **content: object) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": content}


def stop(index: object) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


CALL = block(1, type="tool_use", id="call_1", name="get_weather", input={})
ANSWER: list[dict[str, Any]] = [
    START,
    {"type": "ping"},
    block(0, type="thinking", thinking=""),
    delta(0, type="thinking_delta", thinking="Need weather."),
    delta(0, type="signature_delta", signature="9fe5"),
    stop(0),
    CALL,
    delta(1, type="input_json_delta", partial_json='{"city":'),
    delta(1, type="input_json_delta", partial_json='"Paris"}'),
    stop(1),
    block(2, type="text", text="It "),
    delta(2, type="text_delta", text="rains."),
    stop(2),
    FINISH,
    STOP,
]
FIELDS = {
    "reasoning": "Need weather.",
    "tool_calls[0].name": "get_weather",
    "tool_calls[0].arguments": '{"city":"Paris"}',
    "content": "It rains.",
}


def read(payloads: list[dict[str, Any]], kind: EventKind = EventKind.SSE) -> Stream:
    stream = Stream()
    MessagesReader(stream).receive([Event(json.dumps(payload), None, "", kind) for payload in payloads])
    return stream


def fields(stream: Stream) -> dict[str, str]:
    texts: dict[str, str] = {}
    for piece in stream.choice(0).deltas:
        texts[piece.field] = texts.get(piece.field, "") + piece.text
    return texts


def test_blocks_are_fields() -> None:
    stream = read(ANSWER)
    assert fields(stream) == FIELDS
    assert stream.choice(0).finish_reason == "tool_calls"
    assert (stream.counted, stream.usage) == (32, {"input_tokens": 120, "output_tokens": 32})
    assert (stream.model, stream.terminal_event) == ("gpt-oss", len(ANSWER) - 1)
    assert not stream.notices
    assert not stream.errors


def test_one_event_at_a_time_is_the_same() -> None:
    stream = Stream()
    reader = MessagesReader(stream)
    for payload in ANSWER:
        reader.receive([Event(json.dumps(payload))])
    assert stream == read(ANSWER)


def test_a_whole_body_is_what_its_stream_is() -> None:
    content = [
        {"type": "thinking", "thinking": "Need weather.", "signature": "9fe5"},
        {"type": "tool_use", "id": "call_1", "name": "get_weather", "input": {"city": "Paris"}},
        {"type": "text", "text": "It rains."},
    ]
    body = {"type": "message", "role": "assistant", "content": content, "model": "gpt-oss"}
    counted = {"stop_reason": "tool_use", "usage": {"input_tokens": 120, "output_tokens": 32}}
    stream, streamed = read([{**body, **counted}], EventKind.BODY), read(ANSWER)
    delivered = fields(stream)
    assert json.loads(delivered.pop("tool_calls[0].arguments")) == {"city": "Paris"}
    assert delivered.items() <= FIELDS.items()
    assert stream.choice(0).finish_reason == streamed.choice(0).finish_reason
    assert (stream.usage, stream.model) == (streamed.usage, streamed.model)


def test_what_each_message_has_is_no_sign_of_a_server() -> None:
    body = {"type": "message", "role": "assistant", "content": [], "stop_reason": "end_turn"}
    for events in ([Event(json.dumps(body), None, "", EventKind.BODY)], [Event(json.dumps(START))]):
        capture = Capture(header=Header(endpoint=Endpoint.MESSAGES), events=events)
        assert inspect(capture).reading.engine is UNKNOWN


@pytest.mark.parametrize(
    ("reason", "finish"),
    [("end_turn", "stop"), ("stop_sequence", "stop"), ("max_tokens", "length"), ("refusal", "refusal")],
)
def test_stop_reasons_have_the_names_of_chat(reason: str, finish: str) -> None:
    stream = read([START, {"type": "message_delta", "delta": {"stop_reason": reason}}, STOP])
    assert stream.choice(0).finish_reason == finish


def test_the_count_of_the_first_event_is_none() -> None:
    assert read([START]).counted is None


def test_arguments_of_the_start_count_where_no_text_follows() -> None:
    whole = block(0, type="tool_use", id="c", name="f", input={"a": 1})
    empty = delta(0, type="input_json_delta", partial_json="")
    for payloads in ([START, whole, stop(0)], [START, whole, empty, stop(0)]):
        assert fields(read(payloads))["tool_calls[0].arguments"] == '{"a":1}'
    again = delta(0, type="input_json_delta", partial_json='{"a": 2}')
    assert fields(read([START, whole, again, stop(0)]))["tool_calls[0].arguments"] == '{"a": 2}'


@pytest.mark.parametrize(
    ("given", "text"), [({}, "{}"), ({"a": 1}, '{"a":1}'), ('{"a": 1}', '{"a": 1}'), (None, None)]
)
def test_the_arguments_of_a_body_are_its_input(given: object, text: str | None) -> None:
    content = [{"type": "tool_use", "id": "c", "name": "f", "input": given}]
    body = {"type": "message", "role": "assistant", "content": content, "stop_reason": "tool_use"}
    assert fields(read([body], EventKind.BODY)).get("tool_calls[0].arguments") == text


def test_the_content_of_the_first_event_comes_before_the_blocks() -> None:
    message = {"id": "msg_1", "content": [{"type": "text", "text": "It "}], "usage": USAGE}
    begun = {"type": "message_start", "message": message}
    more = delta(0, type="text_delta", text="rains.")
    assert fields(read([begun, more, FINISH, STOP])) == {"content": "It rains."}


def test_values_of_other_types_are_left_out_and_text_beside_them_is_read() -> None:
    no_block = {"type": "content_block_start", "index": 0, "content_block": 5}
    stream = read(
        [{"type": "message_start", "message": 5}, no_block, block("x", type="text", text="Hi"), STOP]
    )
    body = {"type": "message", "role": "assistant", "stop_reason": "end_turn"}
    whole = read([{**body, "content": [5, {"type": "text", "text": "Hi"}]}], EventKind.BODY)
    assert fields(stream) == fields(whole) == {"content": "Hi"}


@pytest.mark.parametrize(
    ("payloads", "notice", "text"),
    [
        ([START, delta(0, type="text_delta", text="Hi")], "no_block:text_delta", {"content": "Hi"}),
        ([START, delta([], type="text_delta", text="Hi")], "no_block:text_delta", {"content": "Hi"}),
        (
            [START, block(0, type="thinking", thinking=""), delta(0, type="text_delta", text="Hi")],
            "block_type:text_delta",
            {"content": "Hi"},
        ),
        (
            [START, CALL, delta(9, type="input_json_delta", partial_json="{}")],
            "no_block:input_json_delta",
            {"tool_calls[0].name": "get_weather", "tool_calls[0].arguments": "{}"},
        ),
        (
            [*ANSWER, delta(2, type="text_delta", text=" Bye.")],
            "after_done",
            FIELDS | {"content": "It rains. Bye."},
        ),
    ],
)
def test_disorder_is_noted_and_the_text_is_kept(
    payloads: list[dict[str, Any]], notice: str, text: dict[str, str]
) -> None:
    stream = read(payloads)
    assert set(stream.notices) == {notice}
    assert fields(stream) == text


def test_errors_of_a_stream_and_of_a_body() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Try later."}}
    for stream in (read([START, error]), read([error], EventKind.BODY)):
        assert [(error.message, error.type) for error in stream.errors] == [
            ("Try later.", "overloaded_error")
        ]
        assert stream.terminal_event is None


def test_a_call_whose_input_is_nested_as_deep_as_can_be_read_is_read() -> None:
    for depth in range(850, 1000):
        body = {"type": "message", "role": "assistant", "content": "NESTED", "stop_reason": "tool_use"}
        nested = (
            '[{"type":"tool_use","id":"1","name":"f","input":' + '{"a":' * depth + "1" + "}" * depth + "}]"
        )
        text = json.dumps(body).replace('"NESTED"', nested)
        stream = Stream()
        MessagesReader(stream).receive([Event(text, None, "", EventKind.BODY)])
        assert stream.bodies == [0]
