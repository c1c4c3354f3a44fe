"""Dumps of curl, streamed and not."""

import json

import pytest

from inspector.capture.capture import Capture, Endpoint, Event, EventKind, Header, parse, render
from inspector.capture.errors import CaptureError
from inspector.files.importers import sniff_and_read
from inspector.files.importers.payloads import loads
from inspector.files.store import Builtin, load
from inspector.inspection.inspection import inspect
from tests.support.foreign import BUILTIN, CHAT, FOREIGN, RESPONSES, known, read, sse, untimed
from tests.support.streams import chat

CUT = "The last event is not followed by a blank line: the stream or the file is truncated there."
ENDPOINT_ASSUMED = (
    "The response is only an error, which does not show the endpoint: assumed to be chat completions."
)


@pytest.mark.parametrize("row", BUILTIN.values(), ids=lambda row: row.name)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_curl_dump_gives_the_events_without_times(row: Builtin, end: str) -> None:
    capture = load(row.path)
    dump = read(sse(capture, end))
    assert dump.events == untimed(capture.events)
    assert dump.header == Header(endpoint=row.endpoint, model="openai/gpt-oss-tiny", source="curl dump")
    assert (dump.end, dump.notes) == (None, ())


def test_a_file_written_by_curl_reads() -> None:
    dump = read((FOREIGN / "curl-n-chat.txt").read_bytes())
    assert dump == Capture(
        header=Header(endpoint=Endpoint.CHAT, model="openai/gpt-oss-tiny", source="curl dump"),
        events=untimed(known(CHAT).events),
    )


def test_response_headers_in_front_tell_the_status() -> None:
    dump = read((FOREIGN / "curl-i-responses.txt").read_bytes())
    assert dump.events == untimed(known(RESPONSES).events)
    assert dump.header.status == 200
    assert dump.header.source == "curl -i dump"


def test_an_error_answer_is_one_body() -> None:
    dump = read((FOREIGN / "curl-i-error.txt").read_bytes())
    (event,) = dump.events
    assert event.kind is EventKind.BODY
    assert json.loads(event.data)["error"]["message"] == "max_tokens must be at least 1, got 0."
    assert (dump.header.endpoint, dump.header.status, dump.notes) == (Endpoint.CHAT, 400, (ENDPOINT_ASSUMED,))


def test_interim_answers_in_front_are_read_over() -> None:
    front = (
        b"HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/2 200 \r\na: b\r\n\r\n"
    )
    dump = read(front + sse(known(CHAT)))
    assert dump.events == untimed(known(CHAT).events)
    assert dump.header.status == 200


@pytest.mark.parametrize(
    ("body", "endpoint"),
    [
        ('{"object":"chat.completion","model":"m","choices":[{"message":{"content":"Hi"}}]}', Endpoint.CHAT),
        ('{"object":"text_completion","model":"m","choices":[{"text":"Hi"}]}', Endpoint.COMPLETIONS),
        ('{"object":"response","model":"m","output":[]}', Endpoint.RESPONSES),
        ('{"object":"chat.completion","model":"m","token_ids":[1],"choices":[]}', Endpoint.CHAT),
    ],
)
@pytest.mark.parametrize("front", ["", "HTTP/1.1 200 OK\r\n\r\n", "\ufeff", " \n"])
def test_an_unstreamed_answer_is_one_body(body: str, endpoint: Endpoint, front: str) -> None:
    capture = read(front + body + "\n")
    assert capture.events == [Event(body, kind=EventKind.BODY)]
    assert (capture.header.endpoint, capture.header.model) == (endpoint, "m")


@pytest.mark.parametrize(
    "body",
    [
        '{"error": {"message": "no"}}',
        '{"object": "error", "message": "no", "code": 404}',
        '{"detail": "Not Found"}',
        "HTTP/1.1 500 Internal Server Error\r\n\r\nInternal Server Error",
        "HTTP/1.1 502 Bad Gateway\r\nserver: nginx\r\n\r\n<html><script>alert(1)</script></html>",
        'data: {"error": {"message": "no"}}\n\ndata: [DONE]\n\n',
    ],
)
def test_an_error_alone_is_kept_and_its_endpoint_doubted(body: str) -> None:
    capture = read(body)
    assert capture.header.endpoint is Endpoint.CHAT
    assert capture.header.endpoint_guessed
    assert capture.notes == (ENDPOINT_ASSUMED,)
    assert capture.events
    assert parse(render(capture), "again").header == capture.header


def test_an_error_inside_another_kind_of_object_is_no_servers() -> None:
    span = '{"object": "trace.span", "id": "span_1", "error": {"message": "Tool divide failed"}}'
    with pytest.raises(CaptureError, match="unrecognized JSON object"):
        read(span)
    assert read('{"object": "chat.completion.chunk", "choices": [], "error": {"message": "no"}}').events


def test_an_error_of_responses_tells_its_endpoint() -> None:
    assert (
        read('event: error\ndata: {"type":"error","sequence_number":3}\n\n').header.endpoint
        is Endpoint.RESPONSES
    )


def test_comments_and_names_are_kept() -> None:
    stream = b': keep-alive\n\nevent: response.created\ndata: {"type":"response.created"}\n\n'
    assert read(stream).events == [
        Event("keep-alive", kind=EventKind.COMMENT),
        Event('{"type":"response.created"}', name="response.created"),
    ]


def test_a_stream_cut_off_says_so_and_keeps_the_rest() -> None:
    stream_text = sse(known(CHAT))
    dump = read(stream_text[:-30])
    assert dump.notes == (CUT,)
    assert dump.events[:-1] == untimed(known(CHAT).events[: len(dump.events) - 1])
    assert read(stream_text.rstrip()).events == untimed(known(CHAT).events)


def test_a_dump_of_powershell_in_utf_16_reads() -> None:
    text = sse(known(RESPONSES), "\r\n").decode()
    for encoding in ("utf-16-le", "utf-16-be"):
        assert read(("\ufeff" + text).encode(encoding)).events == untimed(known(RESPONSES).events)


def test_words_in_front_of_a_stream_are_read_over() -> None:
    assert read(b"$ curl -N ...\n" + sse(known(CHAT))).events == untimed(known(CHAT).events)


def test_answers_that_were_appended_to_one_file_are_told_apart() -> None:
    response = render_sse(chat([("<|channel|>final<|message|>Hi", {"content": "Hi"}), ("<|return|>", {})]))
    captures = sniff_and_read(response + b": keep-alive\n\n" + response + b": bye\n\n", "two.txt")
    inspections = [inspect(capture) for capture in captures]
    assert [inspection.reading.choice.delivered().content for inspection in inspections] == ["Hi", "Hi"]
    assert [inspection.findings for inspection in inspections] == [[], []]


def render_sse(capture: Capture) -> bytes:
    return b"".join(f"data: {event.data}\n\n".encode() for event in capture.events)


def test_rows_that_are_no_capture_are_not_called_damaged() -> None:
    with pytest.raises(CaptureError, match="the command lint checks data sets"):
        loads(b'{"text": "a"}\n{"text": "b"}\n', "rows.jsonl")
    with pytest.raises(CaptureError, match="is invalid or truncated at column 15"):
        loads(b'{"text": "a"} {"text": "b"}', "rows.jsonl")
