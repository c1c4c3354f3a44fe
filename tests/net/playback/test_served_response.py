"""What a capture answers to requests that ask for other things than were recorded."""

import json

import httpx
import pytest
from starlette.applications import Starlette

from inspector.analysis.reading import read
from inspector.capture.capture import Capture, End, Endpoint, Event, EventKind, Header
from inspector.inspection.inspection import inspect
from inspector.net.playback import playback_routes
from tests.support.builtin import CAPTURES, COMPLETE_CHAT, TEXT, TOOL
from tests.support.listening import listening
from tests.support.playback import generated_ids, recorded


def test_who_does_not_ask_for_ids_and_usage_gets_none(address: str) -> None:
    with recorded(address) as (client, sink):
        chunks = list(client.chat.completions.create(model=COMPLETE_CHAT, messages=[], stream=True))
        capture = sink.capture()
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == TEXT
    assert not generated_ids(capture)
    assert not any(chunk.usage for chunk in chunks)
    deltas = [json.loads(event.data)["choices"][0] for event in capture.events[:-1]]
    # Only an empty delta that was sent for its ids alone is left out, as vLLM leaves it out.
    assert all(
        chunk["finish_reason"] or any(value is not None for value in chunk["delta"].values())
        for chunk in deltas
    )


def test_an_unstreamed_chat_holds_what_the_stream_delivered(address: str) -> None:
    with recorded(address) as (client, _):
        message = client.chat.completions.create(model=TOOL, messages=[]).choices[0].message
    delivered = read(CAPTURES[TOOL]).choice.delivered()
    assert message.content == delivered.content
    assert message.tool_calls is not None
    function = message.tool_calls[0].function  # type: ignore[union-attr]
    assert (function.name, function.arguments) == (
        delivered.tool_calls[0].name,
        delivered.tool_calls[0].arguments,
    )


def test_completions_show_the_tokens_of_a_chat_capture(address: str) -> None:
    with recorded(address) as (client, sink):
        extra = {"return_token_ids": True, "skip_special_tokens": False}
        text = "".join(
            chunk.choices[0].text
            for chunk in client.completions.create(
                model=COMPLETE_CHAT, prompt="x", stream=True, extra_body=extra
            )
            if chunk.choices
        )
        capture = sink.capture()
    assert text.startswith("<|channel|>analysis<|message|>User")
    assert text.endswith("👋🏽 How can I help?"), "the token that stops generation has no text"
    assert generated_ids(capture) == generated_ids(CAPTURES[COMPLETE_CHAT])
    assert inspect(capture).findings == []


def test_an_unstreamed_completion_of_a_chat_capture_is_what_its_stream_says(address: str) -> None:
    with recorded(address) as (client, _):
        streamed = client.completions.create(model=COMPLETE_CHAT, prompt="x", stream=True)
        text = "".join(chunk.choices[0].text for chunk in streamed if chunk.choices)
        unstreamed = client.completions.create(model=COMPLETE_CHAT, prompt="x")
    assert unstreamed.object == "text_completion"
    assert unstreamed.choices[0].text == text
    assert text.endswith(TEXT)


def test_an_unstreamed_answer_with_malformed_json_is_no_json(address: str) -> None:
    with recorded(address, "malformed") as (client, _), pytest.raises(json.JSONDecodeError):
        client.chat.completions.create(model=COMPLETE_CHAT, messages=[])


def test_an_error_capture_is_played_with_its_status_and_a_cut_one_is_cut() -> None:
    page = Event("<html>502</html>", 0.0, "", EventKind.BODY)
    captures = {
        "page": Capture(header=Header(endpoint=Endpoint.CHAT, status=502), events=[page]),
        "cut": Capture(
            header=Header(endpoint=Endpoint.CHAT, status=200),
            events=[Event("keep-alive", 0.0, "", EventKind.COMMENT), Event("a\nb", 0.0)],
            end=End(at_s=0.0, cut=True, detail="reset"),
        ),
    }
    routes = playback_routes(lambda: captures, prefix="")
    with listening(Starlette(routes=routes)) as at:
        url = f"{at}/v1/chat/completions"
        answer = httpx.post(url, json={"model": "page", "stream": True})
        assert (answer.status_code, answer.text) == (502, "<html>502</html>")
        received: list[bytes] = []
        with (
            pytest.raises(httpx.RemoteProtocolError),
            httpx.stream("POST", url, json={"model": "cut", "stream": True}) as stream,
        ):
            received.extend(stream.iter_bytes())
        assert b"".join(received) == b": keep-alive\n\ndata: a\ndata: b\n\n"
