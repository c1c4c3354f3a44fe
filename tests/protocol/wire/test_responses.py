import json
from collections.abc import Mapping
from typing import Any

import pytest

from inspector.capture.capture import Event, EventKind
from inspector.capture.deltas import Delta
from inspector.protocol.wire.responses import ResponsesReader
from inspector.protocol.wire.stream import Stream


def reads(*payloads: object, kind: EventKind = EventKind.SSE) -> Stream:
    stream = Stream()
    texts = [payload if isinstance(payload, str) else json.dumps(payload) for payload in payloads]
    ResponsesReader(stream).receive([Event(text, None, "", kind) for text in texts])
    return stream


def added(kind: str, place: int, item_id: str = "i", **item: Any) -> dict[str, Any]:
    return {
        "type": "response.output_item.added",
        "output_index": place,
        "item": {"type": kind, "id": item_id, **item},
    }


def delta(event: str, text: str, place: int, item_id: str = "i") -> dict[str, Any]:
    return {"type": f"response.{event}.delta", "delta": text, "output_index": place, "item_id": item_id}


def final(output: object, *, kind: str = "completed", **members: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}", "response": {"status": kind, "output": output, **members}}


@pytest.mark.parametrize(
    ("item", "event", "field"),
    [
        ("message", "output_text", "content"),
        ("reasoning", "reasoning_text", "reasoning"),
        ("function_call", "function_call_arguments", "tool_calls[0].arguments"),
        ("mcp_call", "mcp_call_arguments", "mcp_call[0].arguments"),
        ("code_interpreter_call", "code_interpreter_call_code", "code_interpreter_call[0].code"),
    ],
)
def test_each_kind_of_item_has_its_field(item: str, event: str, field: str) -> None:
    stream = reads(added(item, 0), delta(event, "x", 0))
    assert stream.choice(0).deltas == [Delta(1, field, "x")]
    assert not stream.notices


def test_calls_are_numbered_by_their_items() -> None:
    stream = reads(
        added("reasoning", 0, "r"),
        added("function_call", 1, "a", name="f"),
        delta("function_call_arguments", "{1", 1, "a"),
        added("function_call", 2, "b", name="g"),
        delta("function_call_arguments", "{2", 2, "b"),
        delta("function_call_arguments", "1}", 1, "a"),
    )
    assert [(delta.field, delta.text) for delta in stream.choice(0).deltas] == [
        ("tool_calls[0].name", "f"),
        ("tool_calls[0].arguments", "{1"),
        ("tool_calls[1].name", "g"),
        ("tool_calls[1].arguments", "{2"),
        ("tool_calls[0].arguments", "1}"),
    ]


def test_a_delta_under_another_item_id_is_read_and_noticed() -> None:
    stream = reads(
        added("function_call", 1, "a", name="f"), delta("function_call_arguments", "{}", 7, "other")
    )
    assert stream.choice(0).deltas[-1] == Delta(1, "tool_calls[0].arguments", "{}")
    assert set(stream.notices) == {"item_id:function_call"}


def test_a_delta_without_item_is_read_and_noticed_once_with_its_count() -> None:
    stream = reads(delta("output_text", "a", 0), delta("output_text", "b", 0))
    assert [delta.text for delta in stream.choice(0).deltas] == ["a", "b"]
    (notice,) = stream.notices.values()
    assert (notice.key, notice.times, notice.event, notice.last) == ("no_item:message", 2, 0, 1)


def test_items_that_all_have_an_empty_id_are_told_apart_by_place() -> None:
    stream = reads(
        added("function_call", 1, "", name="f"),
        added("function_call", 2, "", name="g"),
        delta("function_call_arguments", "x", 1, ""),
    )
    assert stream.choice(0).deltas[-1].field == "tool_calls[0].arguments"


@pytest.mark.parametrize(
    ("numbers", "noticed"), [([0, 1, 2], False), ([0, 2], True), ([1, 1], True), ([3, 2], True)]
)
def test_a_gap_in_the_sequence_is_noticed(numbers: list[int], noticed: bool) -> None:
    stream = reads(*({"type": "response.in_progress", "sequence_number": number} for number in numbers))
    assert ("sequence" in stream.notices) is noticed


OUTPUT = [
    {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "r1"}]},
    {"type": "function_call", "name": "f", "arguments": "{}"},
    {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "r2"}]},
    {
        "type": "message",
        "content": [{"type": "output_text", "text": "a"}, {"type": "output_text", "text": "b"}],
    },
    {"type": "function_call", "name": "g", "arguments": "[]"},
    {"type": "mcp_call", "arguments": "m"},
    {"type": "code_interpreter_call", "code": "c"},
    {"type": "web_search_call", "action": {"query": "q"}},
]


@pytest.mark.parametrize("kind", ["completed", "incomplete", "failed"])
def test_the_final_object_is_read_field_by_field(kind: str) -> None:
    stream = reads(final(OUTPUT, kind=kind, usage={"output_tokens": 5}, model="m"))
    assert stream.choice(0).finals == {
        "reasoning": "r1r2",
        "tool_calls[0].name": "f",
        "tool_calls[0].arguments": "{}",
        "content": "ab",
        "tool_calls[1].name": "g",
        "tool_calls[1].arguments": "[]",
        "mcp_call[0].arguments": "m",
        "code_interpreter_call[0].code": "c",
    }
    assert (stream.terminal_event, stream.final_event, stream.final_status) == (0, 0, kind)
    assert (stream.usage, stream.model) == ({"output_tokens": 5}, "m")


def test_done_texts_are_kept_apart_from_deltas() -> None:
    stream = reads(
        added("message", 0),
        delta("output_text", "a", 0),
        {"type": "response.output_text.done", "text": "ab", "output_index": 0, "item_id": "i"},
    )
    assert stream.choice(0).item_finals == {"content": "ab"}
    assert [delta.text for delta in stream.choice(0).deltas] == ["a"]


def test_why_an_answer_is_incomplete_is_its_finish_reason() -> None:
    stream = reads(final([], kind="incomplete", incomplete_details={"reason": "max_output_tokens"}))
    assert (stream.choice(0).finish_reason, stream.incomplete_reason) == ("max_output_tokens",) * 2


@pytest.mark.parametrize(
    "payload",
    [
        {"error": {"message": "boom", "code": 500}},
        {"type": "error", "message": "boom", "code": "server_error"},
        {
            "type": "response.failed",
            "response": {"status": "failed", "error": {"message": "boom"}, "output": []},
        },
    ],
)
def test_errors_are_kept_wherever_they_stand(payload: Mapping[str, Any]) -> None:
    assert [error.message for error in reads(payload).errors] == ["boom"]


def test_ids_of_one_turn_in_the_final_object_are_used_and_those_of_several_are_not() -> None:
    output_message = {"message": "x", "tokens": [1, 2]}
    assert reads(final([], output_messages=[output_message])).choice(0).tokens.ids == [1, 2]
    assert reads(final([], output_messages=[output_message, output_message])).choice(0).tokens.ids == []
    harmony = {"role": "assistant", "channel": "final", "content": [{"type": "text", "text": "x"}]}
    assert reads(final([], output_messages=[harmony])).choice(0).tokens.ids == []


def test_an_unstreamed_answer_is_delivered_as_its_final_object() -> None:
    body = {"object": "response", "status": "completed", "output": OUTPUT[3:4]}
    stream = reads(body, kind=EventKind.BODY)
    assert stream.choice(0).deltas == [Delta(0, "content", "a"), Delta(0, "content", "b")]
    assert stream.terminal_event == 0


@pytest.mark.parametrize("text", ["", None, 7, ["a"]])
def test_a_delta_or_done_without_text_adds_nothing(text: object) -> None:
    stream = reads(
        added("message", 0),
        {"type": "response.output_text.delta", "delta": text, "output_index": 0, "item_id": "i"},
        {"type": "response.output_text.done", "text": text, "output_index": 0, "item_id": "i"},
    )
    assert stream.choice(0).deltas == []
    assert stream.choice(0).item_finals == ({"content": ""} if text == "" else {})


def test_ids_on_an_event_are_tokens() -> None:
    stream = reads(added("message", 0), {**delta("output_text", "a", 0), "token_ids": [1, 2]})
    assert (stream.choice(0).tokens.ids, stream.choice(0).tokens.events) == ([1, 2], [1, 1])


@pytest.mark.parametrize("item", [None, "x", [1]])
def test_an_item_that_is_no_object_is_no_item(item: object) -> None:
    stream = reads({"type": "response.output_item.added", "output_index": 0, "item": item})
    assert stream.choice(0).deltas == []
    assert stream.choice(0).finals == {}


@pytest.mark.parametrize("response", [None, "x", [1]])
def test_an_end_without_its_object_is_an_end(response: object) -> None:
    stream = reads({"type": "response.completed", "response": response})
    assert (stream.terminal_event, stream.final_object, stream.final_status) == (0, None, None)


def test_a_final_object_of_odd_parts_is_read_as_far_as_it_goes() -> None:
    parts = ["x", {"type": "refusal"}, {"text": 7}, {"text": "a"}]
    output = [None, 5, {"type": "message", "content": parts}, {"type": "message", "content": "b"}]
    stream = reads(
        {"type": "response.created", "response": {"system_fingerprint": "vllm-0.32.0-x"}},
        final([*output, {"type": "function_call", "name": None, "arguments": "{}"}], status=7),
    )
    assert stream.choice(0).finals == {"content": "a", "tool_calls[0].arguments": "{}"}
    assert (stream.fingerprint, stream.final_status) == ("vllm-0.32.0-x", None)
    assert reads(final("nothing")).choice(0).finals == {}


def test_a_body_that_is_no_response_is_an_error_or_nothing() -> None:
    stream = reads({"error": {"message": "boom"}}, kind=EventKind.BODY)
    assert ([error.message for error in stream.errors], stream.terminal_event) == (["boom"], None)
    assert reads({"object": "list"}, kind=EventKind.BODY).errors == []


def test_an_event_of_another_kind_changes_nothing() -> None:
    stream = reads({"type": 7}, {"type": "response.queued", "response": "x"})
    assert (stream.errors, stream.notices, stream.terminal_event) == ([], {}, None)


def test_comments_and_a_done_that_proxies_add_end_nothing() -> None:
    stream = Stream()
    ResponsesReader(stream).receive([Event("ping", kind=EventKind.COMMENT), Event("[DONE]")])
    assert (stream.events, stream.terminal_event, stream.notices) == (2, None, {})


def test_a_summary_is_the_reasoning_unless_the_text_itself_is_there() -> None:
    item = added("reasoning", 0)
    summary = delta("reasoning_summary_text", "In short.", 0)
    done = {
        "type": "response.reasoning_summary_text.done",
        "text": "In short.",
        "output_index": 0,
        "item_id": "i",
    }
    alone = reads(item, summary, done)
    assert alone.choice(0).deltas == [Delta(1, "reasoning", "In short.")]
    assert alone.choice(0).item_finals == {"reasoning": "In short."}
    beside = reads(item, delta("reasoning_text", "At length.", 0), summary, done)
    assert beside.choice(0).deltas == [Delta(1, "reasoning", "At length.")]
    part = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "In short."}]}
    assert reads(final([part])).choice(0).finals == {"reasoning": "In short."}
