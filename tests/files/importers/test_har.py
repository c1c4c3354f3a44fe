"""HAR files of browsers and of Playwright."""

import base64
import json
from typing import Any

import pytest

from inspector.capture.capture import End, Endpoint, Event, Header, render
from inspector.files.importers import sniff_and_read
from tests.support.foreign import CHAT, FOREIGN, RESPONSES, known, read, refusal, sse, untimed


@pytest.mark.parametrize("name", ["playwright.har", "devtools.har"])
def test_a_har_file_gives_its_streams_and_only_them(name: str) -> None:
    captures = sniff_and_read((FOREIGN / name).read_bytes(), name)
    assert [capture.header.endpoint for capture in captures[:2]] == [Endpoint.CHAT, Endpoint.RESPONSES]
    assert [untimed(capture.events) for capture in captures[:2]] == [
        untimed(known(CHAT).events),
        untimed(known(RESPONSES).events),
    ]
    assert captures[0].header.request["return_token_ids"] is True
    assert captures[0].header.status == 200
    assert captures[0].end is not None
    assert not captures[0].end.cut
    assert "sk-test" not in "".join(line for capture in captures for line in render(capture))


def test_the_devtools_tell_when_each_event_came() -> None:
    chat, _ = sniff_and_read((FOREIGN / "devtools.har").read_bytes(), "f")
    times = [event.at_s for event in chat.events if event.at_s is not None]
    assert len(times) == len(chat.events)
    assert times == sorted(times)
    assert times[0] == 0.00089
    assert chat.end is not None
    assert chat.end.at_s == 0.140916
    assert chat.header.started_at == "2026-11-21T00:57:13.213000+00:00"


def test_playwright_tells_no_times_so_none_are_shown() -> None:
    chat, _, error = sniff_and_read((FOREIGN / "playwright.har").read_bytes(), "f")
    assert {event.at_s for event in chat.events} == {None}
    assert (error.header.status, error.header.endpoint) == (400, Endpoint.CHAT)


def har(*entries: object) -> str:
    return json.dumps({"log": {"version": "1.2", "entries": list(entries)}})


def entry(
    content: Any, *, url: str = "http://e/v1/chat/completions", status: int = 200, **members: Any
) -> dict[str, Any]:
    return {
        "startedDateTime": "2025-11-20T23:48:24.500+01:00",
        "time": 1500,
        "request": {"method": "POST", "url": url, "postData": {"text": '{"model": "m", "api_key": "sk-1"}'}},
        "response": {"status": status, "content": content, **members},
    }


def test_base64_content_and_a_broken_transfer_read() -> None:
    body = base64.b64encode(sse(known(CHAT))).decode()
    capture = read(
        har({"no": "request"}, entry({"text": body, "encoding": "base64"}, _error="net::ERR_ABORTED"))
    )
    assert capture.events == untimed(known(CHAT).events)
    assert capture.end == End(at_s=1.5, cut=True, detail="net::ERR_ABORTED")
    assert capture.header == Header(
        endpoint=Endpoint.CHAT,
        request={"model": "m"},
        model="m",
        status=200,
        started_at="2025-11-20T22:48:24.500000+00:00",
        source="HAR file",
    )


MESSAGES = [
    {
        "time": 1763678904.75,
        "eventName": "message",
        "eventId": "",
        "data": '{"object":"chat.completion.chunk"}',
    },
    {"time": 1763678905.0, "eventName": "end", "eventId": "", "data": "[DONE]"},
]


def test_messages_stand_in_for_a_missing_text() -> None:
    capture = read(har(entry({}) | {"_eventSourceMessages": MESSAGES}))
    assert capture.events == [Event('{"object":"chat.completion.chunk"}', 0.25), Event("[DONE]", 0.5, "end")]


def test_a_sanitized_export_still_gives_the_times() -> None:
    bare = [{key: value for key, value in message.items() if key != "data"} for message in MESSAGES]
    text = 'data: {"object":"chat.completion.chunk"}\n\ndata: [DONE]\n\n'
    capture = read(har(entry({"text": text}) | {"_eventSourceMessages": bare}))
    assert [event.at_s for event in capture.events] == [0.25, 0.5]


def test_messages_of_another_stream_give_no_times() -> None:
    text = 'data: {"object":"chat.completion.chunk"}\n\ndata: [DONE]\n\n'
    other_messages = [MESSAGES[0], {**MESSAGES[1], "data": "other"}]
    for messages in (other_messages, MESSAGES[:1], [*MESSAGES, 1], [{"time": "x"}, {"time": 10**400}]):
        capture = read(har(entry({"text": text}) | {"_eventSourceMessages": messages}))
        assert {event.at_s for event in capture.events} == {None}


def test_an_error_page_under_vllms_path_is_a_capture_and_other_pages_are_not() -> None:
    page = {"text": "<html>502 Bad Gateway</html>"}
    captures = sniff_and_read(
        har(entry(page, status=502), entry(page), entry(page, url="http://e/", status=502)).encode(), "f"
    )
    assert [capture.events[0].data for capture in captures] == ["<html>502 Bad Gateway</html>"]


@pytest.mark.parametrize(
    ("entries", "sentence"),
    [
        (
            (),
            "f: none of the 0 entries is a response of chat completions, Responses, Messages or completions; "
            "record the request to vLLM",
        ),
        (({},), "f: none of the 1 entries is a response"),
        ((1,), "f: log.entries[0] is 1, not an object; export the HAR file again"),
        ((entry({}),), "f: contains requests to vLLM (1) but no response bodies; export it with content"),
        (
            (entry({"text": "a", "encoding": "base64"}),),
            "f: log.entries[0]: its content is damaged base64; export the HAR file again",
        ),
    ],
)
def test_a_har_file_without_a_stream_is_refused(entries: tuple[object, ...], sentence: str) -> None:
    assert refusal(har(*entries)).startswith(sentence)


@pytest.mark.parametrize(
    "date", ["0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-23:59", "2024-13-01", "", None, 5, "\ud800"]
)
def test_a_date_that_cannot_be_is_unknown(date: object) -> None:
    body = json.dumps({"object": "chat.completion", "choices": [{"index": 0, "message": {"content": "x"}}]})
    content = {"content": {"text": body}, "status": 200}
    entry = {"startedDateTime": date, "request": {"method": "POST", "url": "http://x"}, "response": content}
    (capture,) = sniff_and_read(json.dumps({"log": {"entries": [entry]}}).encode(), "f")
    assert capture.header.started_at is None
    assert len(capture.events) == 1
