"""Request bodies, and clients that leave before or while they are answered."""

import asyncio
import threading

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from tests.support.listening import listening
from tests.support.upstreams import SSE, Echo, sent, tapped


def test_a_long_upload_passes_without_being_held() -> None:
    echo = Echo()
    pieces = [b"x" * 65536] * 200

    with listening(echo) as up, tapped(up) as (address, _):
        httpx.post(f"{address}/v1/audio", content=iter(pieces)).raise_for_status()
    assert len(echo.bodies[0]) == 65536 * 200


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE", "OPTIONS"])
def test_requests_without_a_body_stay_without_one(method: str) -> None:
    echo = Echo(headers=[(b"content-length", b"2"), (b"x-theirs", b"1")])
    with listening(echo) as up, tapped(up) as (address, _):
        answer = httpx.request(method, f"{address}/v1/models")
        assert answer.status_code == 200
        assert answer.headers["x-theirs"] == "1"
        assert answer.headers["content-length"] == "2"
    assert "content-length" not in sent(echo)
    assert "transfer-encoding" not in sent(echo)


def test_a_client_that_leaves_closes_the_connection_to_the_upstream() -> None:
    echo = Echo([b"data: 1\n\n"], headers=SSE, pause=lambda: None)
    with listening(echo) as up, tapped(up) as (address, sink):
        with httpx.stream("POST", f"{address}/v1/chat/completions", json={}) as answer:
            assert next(answer.iter_raw()) == b"data: 1\n\n"
        assert echo.left.wait(120), "the upstream did not notice"
        capture = sink.capture()
    assert [event.data for event in capture.events] == ["1"]
    assert capture.end is not None
    assert (capture.end.cut, capture.end.detail) == (True, "the client closed the connection")


def test_a_client_that_leaves_before_the_answer_begins_is_noticed_too() -> None:
    class Prefill(Echo):
        async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http" and scope["method"] == "POST":
                reached.set()
                while (await receive())["type"] != "http.disconnect":
                    pass
                self.left.set()
            else:
                await super().__call__(scope, receive, send)

    reached = threading.Event()
    echo = Prefill()

    async def leave(address: str) -> None:
        async with httpx.AsyncClient() as client:
            asking = asyncio.create_task(client.post(f"{address}/v1/chat/completions", json={}))
            await asyncio.to_thread(reached.wait, 20)
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)

    with listening(echo) as up, tapped(up) as (address, sink):
        asyncio.run(leave(address))
        assert echo.left.wait(120), "the upstream did not notice"
        capture = sink.capture()
    assert capture.events == []
    assert capture.header.status is None
    assert capture.end is not None
    assert capture.end.cut
