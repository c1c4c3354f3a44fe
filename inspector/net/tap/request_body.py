"""A request's body as the client sends it, and whether the client disconnects."""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from starlette.types import Receive

LIMIT_BYTES: Final = 64 * 2**20
"""Longest body that is recorded; a longer one is only forwarded."""


class ClientLeft(Exception):
    """The client disconnected before its request was complete."""


class RequestBody:
    """Reads one ASGI request; iterate it once, or `read` it first."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._first: list[bytes] = []
        self._more = True
        self._all_read = asyncio.Event()

    async def read(self) -> bytes | None:
        """The whole body; None if it exceeds the limit, but iteration still gives all of it."""
        size = 0
        while self._more and size <= LIMIT_BYTES:
            piece = await self._next()
            self._first.append(piece)
            size += len(piece)
        return b"".join(self._first) if not self._more else None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._first:
            yield piece
        while self._more:
            yield await self._next()

    async def left(self) -> None:
        """Return when the client disconnects after sending its request."""
        await self._all_read.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def _next(self) -> bytes:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise ClientLeft
        self._more = message.get("more_body", False)
        if not self._more:
            self._all_read.set()
        body: bytes = message.get("body", b"")
        return body
