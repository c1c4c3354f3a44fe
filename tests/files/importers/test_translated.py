"""Chat streams in other words: deltas, choices, Ollama's own API."""

import json

import pytest

from inspector.analysis.event_schema import schema_violations
from inspector.capture.capture import Endpoint, EventKind
from inspector.files.importers import sniff_and_read
from inspector.inspection.inspection import inspect
from inspector.protocol.wire.excerpt import Excerpt
from tests.support.foreign import read, refusal
from tests.support.forms import DELTAS, FORMS, OLLAMA, WEIGHED, lines, ollama


@pytest.mark.parametrize(
    "text", [FORMS["deltas"], json.dumps(DELTAS), "\n".join(json.dumps(delta, indent=2) for delta in DELTAS)]
)
def test_deltas_alone_are_an_excerpt_with_their_texts(text: str | bytes) -> None:
    inspection = inspect(read(text))
    delivered = inspection.reading.choice.delivered()
    assert (delivered.reasoning, delivered.content) == ("Green", "Moss.")
    assert (inspection.reading.excerpt, inspection.findings) == (Excerpt.INSIDE, [])


def test_choices_alone_have_their_end() -> None:
    rows: list[dict[str, object]] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in DELTAS]
    assert inspect(read(lines(rows))).reading.excerpt is Excerpt.END
    rows[-1]["finish_reason"] = "stop"
    assert inspect(read(lines(rows))).reading.excerpt is None


@pytest.mark.parametrize(
    "rows",
    [
        [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}],
        [{"role": "assistant", "content": "a"}, {"role": "assistant", "content": "b"}],
        [{"content": "a"}, {"content": "b"}],
        [{"content": "a", "label": 1}, {}],
    ],
)
def test_messages_and_rows_of_data_are_no_deltas(rows: list[dict[str, object]]) -> None:
    assert "lint" in refusal(lines(rows)) or "unrecognized" in refusal(lines(rows))


def test_a_stream_of_ollama_is_a_chat_response() -> None:
    capture = read(FORMS["ollama"])
    inspection = inspect(capture)
    reading = inspection.reading
    delivered = reading.choice.delivered()
    assert capture.header.endpoint is Endpoint.CHAT
    assert reading.server_label.startswith("Ollama")
    assert (delivered.reasoning, delivered.content) == ("Weigh it.", "")
    assert [(call.name, json.loads(call.arguments)) for call in delivered.tool_calls] == [
        ("weigh", {"grams": 7})
    ]
    assert (reading.stream.counted, reading.choice.finish_reason, reading.excerpt) == (25, "stop", None)
    assert schema_violations(capture) == ()


def test_each_call_of_ollama_has_its_own_number() -> None:
    two = [OLLAMA[0], OLLAMA[2], OLLAMA[2], OLLAMA[-1]]
    calls = inspect(read(lines(two))).reading.choice.delivered().tool_calls
    assert [call.name for call in calls] == ["weigh", "weigh"]


def test_a_response_of_ollama_that_is_not_streamed_is_one_body() -> None:
    text = json.dumps(ollama({"content": "", "tool_calls": [WEIGHED]}, done=True, eval_count=9))
    capture = read(text)
    assert [event.kind for event in capture.events] == [EventKind.BODY]
    assert [call.name for call in inspect(capture).reading.choice.delivered().tool_calls] == ["weigh"]


def test_several_responses_of_ollama_are_told_apart_and_errors_are_kept() -> None:
    captures = sniff_and_read(lines([*OLLAMA, OLLAMA[0], {"error": "no memory"}]).encode(), "f")
    assert [len(capture.events) for capture in captures] == [4, 2]
    assert [str(finding.code) for finding in inspect(captures[1]).findings] == ["server_error"]
