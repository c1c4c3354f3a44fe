"""A tap before a server, servers that keep what reaches them, and clients that ask."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.types import Receive, Scope, Send

from inspector.net.client.address import Server
from inspector.net.client.recorder import Sink
from inspector.net.tap import Tap, Upstream, tap_routes
from tests.support.listening import MemorySink, listening

__all__ = ["CHUNKS", "SSE", "Echo", "Flood", "ask", "raw", "sent", "tapped"]


@contextmanager
def tapped(
    upstream: str, *, add_token_ids: bool = False, sink: Sink | None = None, verify: bool | str = True
) -> Iterator[tuple[str, MemorySink]]:
    """A tap before a server: its address, and what it keeps."""
    memory = MemorySink()
    server = Server(base_url=upstream, verify=verify)
    up = Upstream(name="up", server=server, add_token_ids=add_token_ids)
    tap = Tap(up, sink or memory)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await tap.aclose()

    with listening(Starlette(routes=tap_routes([tap]), lifespan=lifespan)) as at:
        yield f"{at}/tap/up", memory


class Echo:
    """An upstream that keeps what reaches it and answers with what it is told."""

    def __init__(
        self,
        pieces: Sequence[bytes] = (b"ok",),
        *,
        status: int = 200,
        headers: Sequence[tuple[bytes, bytes]] = ((b"content-type", b"text/plain"),),
        pause: Callable[[], Any] | None = None,
        version: str = "0.99.0",
    ) -> None:
        self.version = version
        self.owned_by = "vllm"
        self.pieces = pieces
        self.status = status
        self.headers = list(headers)
        self.pause = pause
        self.scopes: list[Scope] = []
        self.bodies: list[bytes] = []
        self.left = threading.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if scope["path"].endswith("/version"):
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": json.dumps({"version": self.version}).encode()})
            return
        if scope["path"].endswith("/models") and b"user-agent" not in dict(scope["headers"]):
            # The tap's own question, which carries none of a client's headers.
            models = {"data": [{"id": "m", "owned_by": self.owned_by}]}
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": json.dumps(models).encode()})
            return
        body = b""
        while (message := await receive())["type"] == "http.request":
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        self.scopes.append(scope)
        self.bodies.append(body)
        await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
        for piece in self.pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        if self.pause is not None:
            while (await receive())["type"] != "http.disconnect":
                pass
            self.left.set()
            return
        await send({"type": "http.response.body", "body": b"", "more_body": False})


CHUNKS = [f"data: {json.dumps({'choices': [], 'n': number})}\n\n".encode() for number in range(3)]
SSE = ((b"content-type", b"text/event-stream; charset=utf-8"),)


class Flood(Echo):
    """Sends as fast as it may; stops counting where back-pressure stops it."""

    block = b": " + b"x" * 65532 + b"\n\n"

    @property
    def sent_bytes(self) -> int:
        return len(self.bodies) * len(self.block)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await super().__call__(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": 200, "headers": list(SSE)})
        for _ in range(4000):
            try:
                async with asyncio.timeout(1):
                    await send({"type": "http.response.body", "body": self.block, "more_body": True})
            except TimeoutError:
                self.left.set()
                return
            self.bodies.append(b"")


def sent(echo: Echo, number: int = 0) -> dict[str, str]:
    """Headers of a request as the upstream got them."""
    return {name.decode(): content.decode("latin-1") for name, content in echo.scopes[number]["headers"]}


def ask(address: str, body: dict[str, Any], **headers: str) -> httpx.Response:
    return httpx.post(f"{address}/v1/chat/completions", json=body, headers=headers, timeout=20)


def raw(url: str, body: dict[str, Any]) -> tuple[int, bytes, bool]:
    """Status, undecoded bytes, and whether the connection broke."""
    received: list[bytes] = []
    status = 0
    try:
        with httpx.stream("POST", url, json=body, timeout=20) as answer:
            status = answer.status_code
            received.extend(answer.iter_raw())
    except httpx.RemoteProtocolError:
        return status, b"".join(received), True
    return status, b"".join(received), False
