"""The middleware in a real app behind a real server: what is recorded, and that the app never notices."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from inspector.capture.capture import ClosedBy, End, Event, Header
from inspector.files.store import load
from inspector.inspection.inspection import inspect
from inspector.net.adapters.asgi import RecordResponses
from tests.support.answers import CHAT, DONE_EVENT, STREAM_EVENTS
from tests.support.listening import MemorySink, listening

ASKED = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "stream": True}


async def chat(request: Request) -> Response:
    body = await request.json()
    if body.get("fail"):
        return JSONResponse({"error": {"message": "no such model", "code": 404}}, 404)

    async def pieces() -> AsyncIterator[bytes]:
        for piece in (*STREAM_EVENTS, DONE_EVENT):
            yield piece
            await asyncio.sleep(0)
        if body.get("break"):
            raise RuntimeError("the app broke")

    return StreamingResponse(pieces(), media_type="text/event-stream")


async def models(_: Request) -> Response:
    return JSONResponse({"data": []})


def app(*middleware: Middleware) -> Starlette:
    routes = [Route(CHAT, chat, methods=["POST"]), Route("/v1/models", models)]
    return Starlette(routes=routes, middleware=list(middleware))


def test_responses_are_recorded_and_pass_unchanged(tmp_path: Path) -> None:
    with listening(app(Middleware(RecordResponses, captures=tmp_path, server_version="0.14.1"))) as at:
        headers = {"Authorization": "Bearer sk-my-own-secret-key"}
        passed = httpx.post(f"{at}{CHAT}", json=ASKED, headers=headers)
        failed = httpx.post(f"{at}{CHAT}", json={**ASKED, "fail": True, "api_key": "sk-other-secret"})
        assert httpx.get(f"{at}/v1/models").json() == {"data": []}
    assert passed.content == b"".join([*STREAM_EVENTS, DONE_EVENT])
    assert failed.status_code == 404
    captures = sorted(
        (load(path) for path in tmp_path.iterdir()), key=lambda capture: capture.header.status or 0
    )
    assert [capture.header.status for capture in captures] == [200, 404]
    complete, error = map(inspect, captures)
    assert complete.findings == []
    assert complete.reading.choice.delivered().content == "Hi"
    assert complete.capture.header.request == ASKED
    assert complete.capture.header.server_version == "0.14.1"
    assert [finding.kind for finding in error.findings] == ["server_error"]
    assert "secret" not in "".join(path.read_text("utf-8") for path in tmp_path.iterdir())
    times = [event.at_s for event in complete.capture.events]
    assert times == sorted(times, key=lambda at_s: at_s or 0)


def test_what_another_middleware_compresses_is_read(tmp_path: Path) -> None:
    outside = Middleware(RecordResponses, captures=tmp_path)
    with listening(app(outside, Middleware(GZipMiddleware, minimum_size=1))) as at:
        assert httpx.post(f"{at}{CHAT}", json=ASKED).content == b"".join([*STREAM_EVENTS, DONE_EVENT])
    [path] = tmp_path.iterdir()
    assert inspect(load(path)).findings == []


def test_a_sample_leaves_responses_out(tmp_path: Path) -> None:
    with listening(app(Middleware(RecordResponses, captures=tmp_path, sampled=lambda: False))) as at:
        assert httpx.post(f"{at}{CHAT}", json=ASKED).status_code == 200
    assert list(tmp_path.iterdir()) == []


class FailingSink:
    """A sink whose every method fails."""

    def opened(self, header: Header) -> str:
        raise OSError(header.endpoint)

    def event(self, run: str, event: Event, /) -> None:
        raise OSError(run, event)

    def ended(self, run: str, end: End, /) -> None:
        raise OSError(run, end)


def test_what_fails_in_the_recorder_does_not_reach_the_client(caplog: pytest.LogCaptureFixture) -> None:
    def sample_none() -> bool:
        raise RuntimeError

    for middleware in (
        Middleware(RecordResponses, captures=FailingSink()),
        Middleware(RecordResponses, captures=FailingSink(), sampled=sample_none),
    ):
        with listening(app(middleware)) as at:
            assert httpx.post(f"{at}{CHAT}", json=ASKED).content == b"".join([*STREAM_EVENTS, DONE_EVENT])
    assert "recording stopped" in caplog.text


def test_an_app_that_breaks_and_a_client_that_leaves_are_told_in_the_capture() -> None:
    sink = MemorySink()
    asgi = RecordResponses(app(), captures=sink)

    def scope() -> Scope:
        return {
            "type": "http",
            "method": "POST",
            "path": CHAT,
            "raw_path": CHAT.encode(),
            "headers": [(b"content-type", b"application/json")],
            "query_string": b"",
            "http_version": "1.1",
            "scheme": "http",
            "server": ("test", 80),
            "client": ("test", 1),
            "root_path": "",
        }

    async def exchange(body: bytes) -> None:
        messages: list[dict[str, Any]] = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> Any:
            if messages:
                return messages.pop()
            await asyncio.sleep(3600)
            return None

        async def send(_: Any) -> None:
            return None

        receiving: Receive = receive
        sending: Send = send
        await asgi(scope(), receiving, sending)

    with pytest.raises((RuntimeError, ExceptionGroup)):
        asyncio.run(exchange(b'{"break": true}'))
    [end] = sink.ends.values()
    # [DONE] had been sent: what follows it is of no interest to a client.
    assert not end.cut
    assert len(sink.events[0]) == len(STREAM_EVENTS) + 1


@pytest.mark.parametrize("way", ["disconnect", "send", "cancel", "break"])
def test_who_ended_a_response_early_is_told_in_the_capture(way: str) -> None:
    sink = MemorySink()

    async def inner(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send(
            {
                "type": "http.response.start",
                "status": 200,
                "headers": [(b"content-type", b"text/event-stream")],
            }
        )
        await send({"type": "http.response.body", "body": STREAM_EVENTS[0], "more_body": True})
        if way == "break":
            raise RuntimeError
        if way == "cancel":
            raise asyncio.CancelledError
        if way == "disconnect":
            assert (await receive())["type"] == "http.disconnect"
        else:
            await send({"type": "http.response.body", "body": STREAM_EVENTS[1], "more_body": True})

    messages: list[dict[str, Any]] = [
        {"type": "http.request", "body": b"{}", "more_body": False},
        {"type": "http.disconnect"},
    ]
    sent: list[Any] = []

    async def receive() -> Any:
        return messages.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)
        if len(sent) == 3:
            raise OSError("the client has gone")

    async def run() -> None:
        scope = {"type": "http", "method": "POST", "path": CHAT, "headers": []}
        with suppress(OSError, RuntimeError, asyncio.CancelledError):
            await RecordResponses(inner, captures=sink)(scope, receive, send)

    asyncio.run(run())
    [end] = sink.ends.values()
    assert end.cut
    assert (
        end.detail
        == {
            "disconnect": "the client closed the connection",
            "send": "the client closed the connection",
            "cancel": "the app's server ended the request",
            "break": "RuntimeError in the app",
        }[way]
    )
    assert end.closed_by is (ClosedBy.CLIENT if way in {"disconnect", "send"} else None)
    assert len(sink.events[0]) == 1


def test_other_kinds_of_connections_pass() -> None:
    calls: list[str] = []

    async def inner(scope: Scope, _: Receive, __: Send) -> None:
        calls.append(scope["type"])

    async def run() -> None:
        async def receive() -> Any:
            return {"type": "lifespan.startup"}

        async def send(_: Any) -> None:
            return None

        await RecordResponses(inner, captures=MemorySink())({"type": "lifespan"}, receive, send)

    asyncio.run(run())
    assert calls == ["lifespan"]
