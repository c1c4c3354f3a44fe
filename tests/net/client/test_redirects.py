"""Redirects: within the host the stream is recorded, elsewhere neither key nor prompt goes."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from inspector.capture.capture import EventKind
from inspector.capture.errors import ConnectionFailed
from inspector.files.store import load
from inspector.inspection.inspection import inspect
from inspector.net.client.address import Server
from inspector.net.client.exchange import ask
from inspector.net.client.request import LiveRequest
from inspector.net.client.server_info import list_models
from inspector.net.client.transport import recording_client
from tests.support.answers import CHAT, DONE_EVENT, STREAM_EVENTS, answering
from tests.support.command import inspector
from tests.support.listening import MemorySink
from tests.support.raw_server import Answer, page, raw_server, stream

KEY = "key-of-mine-0123456789"
MOVED = "/moved/v1/chat/completions"


def redirect(location: str, status: int = 307) -> Answer:
    return lambda _: [page(status, "", "text/plain", extra=f"location: {location}\r\n")]


@pytest.mark.parametrize("status", [307, 308])
def test_a_redirect_within_the_host_is_followed_and_only_the_answer_recorded(status: int) -> None:
    sink = MemorySink()
    answers: dict[str, Answer] = {
        CHAT: redirect(MOVED, status),
        MOVED: lambda _: stream([*STREAM_EVENTS, DONE_EVENT]),
    }
    with raw_server(answers) as server:
        asking = ask(
            Server(base_url=server.v1, headers={"X-Api-Key": KEY}), LiveRequest(model="m", prompt="p"), sink
        )
        outcome = asyncio.run(asking)
        bodies = server.bodies(MOVED)
    assert outcome.failure == ""
    assert len(sink.headers) == 1
    assert sink.capture().header.request["model"] == bodies[0]["model"] == "m"
    assert inspect(sink.capture()).findings == []


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_no_key_and_no_prompt_follow_a_redirect_to_another_address(host: str, tmp_path: Path) -> None:
    with raw_server(answering([*STREAM_EVENTS, DONE_EVENT])) as elsewhere:
        other_address = elsewhere.address.replace("127.0.0.1", host)
        answers: dict[str, Answer] = {
            path: redirect(other_address + path)
            for path in (CHAT, "/v1/models", "/version", "/v1/completions")
        }
        with raw_server(answers) as server:
            words = ["record", "--base-url", server.v1, "--model", "m", "--prompt", "p", "--header"]
            for endpoint in ("chat", "completions"):
                out = tmp_path / f"{endpoint}.jsonl"
                completed = inspector(*words, f"X-Api-Key: {KEY}", "--endpoint", endpoint, "--out", out)
                assert completed.returncode == 2
                assert f"redirects to another address ({other_address})" in completed.stderr.decode()
                assert not out.exists()
            with pytest.raises(ConnectionFailed, match="redirects to another address"):
                list_models(Server(base_url=server.v1, headers={"X-Api-Key": KEY}))
            assert server.asked
    assert elsewhere.asked == []


@pytest.mark.parametrize("status", [301, 302, 303])
def test_a_redirect_that_loses_the_request_names_the_address_to_use(status: int) -> None:
    with raw_server(
        {CHAT: redirect(MOVED, status), MOVED: lambda _: stream([*STREAM_EVENTS, DONE_EVENT])}
    ) as server:
        sink = MemorySink()
        outcome = asyncio.run(ask(Server(base_url=server.v1), LiveRequest(model="m", prompt="p"), sink))
        assert server.bodies(MOVED) == []
    assert f"redirects with HTTP {status}, after which clients send no request body" in outcome.failure
    assert f"({server.address})" in outcome.failure


def test_an_address_that_is_none_and_a_circle_are_sentences() -> None:
    for location, words in (
        ("http://xn--/v1", "redirects to another address (http://xn--)"),
        ("http://[::1", "redirects to an invalid address"),
        (CHAT, "redirects"),
    ):
        with raw_server({CHAT: redirect(location)}) as server:
            sink = MemorySink()
            outcome = asyncio.run(ask(Server(base_url=server.v1), LiveRequest(model="m", prompt="p"), sink))
        assert words in outcome.failure


def test_the_recording_client_records_what_the_redirect_leads_to(tmp_path: Path) -> None:
    answers: dict[str, Answer] = {
        CHAT: redirect(MOVED),
        MOVED: lambda _: stream([*STREAM_EVENTS, DONE_EVENT]),
    }
    body: dict[str, Any] = {"model": "m"}
    with raw_server(answers) as server, recording_client(tmp_path / "out.jsonl") as http:
        assert http.post(server.address + CHAT, json=body).content == b"".join([*STREAM_EVENTS, DONE_EVENT])
    (file,) = tmp_path.iterdir()
    capture = load(file)
    assert capture.header.request == body
    assert [event.kind for event in capture.events] == [EventKind.SSE] * (len(STREAM_EVENTS) + 1)
    assert json.loads(capture.events[0].data)["object"] == "chat.completion.chunk"
