"""The way to the upstream: HTTP/1.1 by h11, on connections that are kept for the next request.

What one read of the network brings is parsed at once and handed on together. A client library that asks for
each read and hands on each chunk alone takes several turns of the event loop for each event of a stream.
Chunks of a chunked body that are whole are cut here, in a third of h11's time; h11 reads everything else.
"""

import asyncio
import re
import ssl
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from functools import partial
from typing import Any, Final, cast

import h11
import httpx

from inspector.net.tap.arrivals import Arrival
from inspector.net.tap.begun import Begun

WAITING: Final = 64
"""Chunks that wait for a slow client until nothing more is read; one read brings at most 256 KiB."""

_WAITING_BYTES: Final = 2**18
_HEADERS_AT_MOST: Final = 100 * 1024
_KEPT_AT_MOST: Final = 100
_ADDRESSES_DELAY_S: Final = 0.25
"""After this time the next address of the host is tried, RFC 8305."""
_CHUNK: Final = re.compile(rb"([0-9A-Fa-f]{1,7})\r\n")
_LINE_END: Final = b"\r\n"
_NO_ANSWER: Final = "Server disconnected without sending a response."


Take = Callable[[Sequence[Arrival]], Coroutine[Any, None, None]]


class UpstreamTransport(httpx.AsyncBaseTransport):
    """Sends requests to one server; the stream of each response is a `Body`.

    `idle_s` is how long a connection is kept that nobody uses. Raises what httpx raises: ConnectError,
    ConnectTimeout, ReadError, RemoteProtocolError and LocalProtocolError.
    """

    def __init__(
        self, root: httpx.URL, *, trust: ssl.SSLContext, connect_s: float | None, idle_s: float
    ) -> None:
        self._host = root.raw_host.decode("ascii")
        secure = root.scheme == "https"
        self._port = root.port or (443 if secure else 80)
        self._trust = trust if secure else None
        if secure:
            trust.set_alpn_protocols(["http/1.1"])
        self._connect_s = connect_s
        self._idle_s = idle_s
        self._idle: list[_Connection] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; its response as soon as status and headers are there."""
        connection = self._kept() or await self._connected()
        try:
            await connection.send(request)
            head = await connection.head()
        except BaseException:
            connection.abort()
            raise
        extensions = {"http_version": b"HTTP/" + head.http_version, "reason_phrase": head.reason}
        return httpx.Response(
            head.status_code,
            headers=head.headers.raw_items(),
            stream=Body(connection, self),
            extensions=extensions,
        )

    async def aclose(self) -> None:
        """Close the connections that nobody uses."""
        while self._idle:
            self._idle.pop().abort()

    def release(self, connection: "_Connection") -> None:
        """Keep a connection for the next request if that is possible, else close it."""
        if len(self._idle) < _KEPT_AT_MOST and connection.next_cycle():
            connection.idle_until_s = time.monotonic() + self._idle_s
            self._idle.append(connection)
        else:
            connection.abort()

    def _kept(self) -> "_Connection | None":
        """The connection that was used last; older ones end first."""
        while self._idle:
            connection = self._idle.pop()
            if connection.usable and time.monotonic() < connection.idle_until_s:
                return connection
            connection.abort()
        return None

    async def _connected(self) -> "_Connection":
        loop = asyncio.get_running_loop()
        connection: _Connection
        to = partial(loop.create_connection, _Connection, self._host, self._port, ssl=self._trust)
        try:
            async with asyncio.timeout(self._connect_s):
                if isinstance(loop, asyncio.BaseEventLoop):
                    _, connection = await to(happy_eyeballs_delay=_ADDRESSES_DELAY_S)
                else:  # uvloop, which is used where it is installed, tries one address after the other
                    _, connection = await to()
        except TimeoutError as error:
            raise httpx.ConnectTimeout(str(error)) from error
        except OSError as error:
            raise httpx.ConnectError(str(error)) from error
        return connection


class Body(httpx.AsyncByteStream):
    """The body of a response."""

    def __init__(self, connection: "_Connection", transport: UpstreamTransport) -> None:
        self._connection = connection
        self._transport = transport
        self._closed = False

    async def arrivals(self) -> AsyncIterator[Sequence[Arrival]]:
        """All that has arrived, as soon as something has; raises what broke the response off."""
        while arrivals := await self._connection.arrived():
            yield arrivals

    async def passed_to(self, take: Take) -> None:
        """Give `take` the same, at once where it does not wait for anything."""
        await self._connection.passed_to(take)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """The same, chunk by chunk."""
        async for arrivals in self.arrivals():
            for arrival in arrivals:
                yield arrival.chunk

    async def aclose(self) -> None:
        """Nobody reads on; a body that is not whole ends its connection."""
        if not self._closed:
            self._closed = True
            self._transport.release(self._connection)


class _Connection(asyncio.Protocol):
    """One connection; it carries one request at a time."""

    def __init__(self) -> None:
        self.idle_until_s = 0.0
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=_HEADERS_AT_MOST)
        self._transport: asyncio.Transport | None = None
        self._head: h11.Response | None = None
        self._arrivals: list[Arrival] = []
        self._size = 0
        self._paused = False
        self._whole = False
        self._between = False
        """Whether the last chunk of a chunked body is whole, and h11 has nothing of the next one."""
        self._busy = False
        """Whether a request is under way; what comes at other times belongs to none."""
        self._error: httpx.TransportError | None = None
        self._ended = False
        """Whether the server sends nothing more."""
        self._waiter: asyncio.Future[None] | None = None
        self._take: Take | None = None
        """What is given the body as it comes, while the task waits for that."""
        self._begun: Begun | None = None
        """What it has not done yet, for the task to do."""
        self._writable = asyncio.Event()
        self._writable.set()

    @property
    def usable(self) -> bool:
        """Whether another request can be sent."""
        return not self._ended and self._transport is not None and not self._transport.is_closing()

    def abort(self) -> None:
        """Close it at once."""
        if self._transport is not None:
            self._transport.abort()

    def next_cycle(self) -> bool:
        """Prepare for another request; False where the connection cannot carry one."""
        if not (self.usable and self._whole and self._http.our_state is h11.DONE):
            return False
        if self._http.their_state is not h11.DONE or self._http.trailing_data[0]:
            return False
        self._http.start_next_cycle()
        self._head, self._whole, self._between, self._busy = None, False, False, False
        self._arrivals, self._size = [], 0  # a client that left did not read them
        return True

    async def send(self, request: httpx.Request) -> None:
        """Send a whole request; a server that does not take all of it may have answered already."""
        self._busy = True
        target = request.extensions.get("target", request.url.raw_path)
        assert isinstance(request.stream, httpx.AsyncByteStream)  # noqa: S101 -- nothing here is synchronous
        try:
            head = h11.Request(method=request.method, target=target, headers=request.headers.raw)
            content = self._http.send(head) or b""
            async for piece in request.stream:
                content += self._http.send(h11.Data(data=piece)) or b""
                if not await self._written(content):
                    return
                content = b""
            await self._written(content + (self._http.send(h11.EndOfMessage()) or b""))
        except h11.LocalProtocolError as error:
            raise httpx.LocalProtocolError(str(error)) from error

    async def _written(self, content: bytes) -> bool:
        """Write, and wait while the server does not read; False where it is gone."""
        if self._transport is None or self._transport.is_closing():
            return False
        if content:
            self._transport.write(content)
        await self._writable.wait()
        return True

    async def head(self) -> h11.Response:
        """Status and headers, once they have come."""
        while self._head is None:
            await self._more()
        return self._head

    async def arrived(self) -> Sequence[Arrival]:
        """What has come of the body since the last call, at least one chunk; nothing at its end."""
        while not self._arrivals:
            if self._whole:
                return ()
            await self._more()
        return self._taken()

    async def passed_to(self, take: Take) -> None:
        """Give all that comes of the body to `take`, at once where it does not wait."""
        while not (self._whole and not self._arrivals):
            if self._arrivals:
                await take(self._taken())
                continue
            self._take = take
            try:
                await self._more()
            except asyncio.CancelledError as error:
                if self._begun is not None:
                    self._begun.throw(error)
                raise
            finally:
                begun, self._begun, self._take = self._begun, None, None
            if begun is not None:
                await begun

    def _taken(self) -> Sequence[Arrival]:
        arrivals, self._arrivals, self._size = self._arrivals, [], 0
        if self._paused and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()
        return arrivals

    async def _more(self) -> None:
        """Wait until more has come; raises what went wrong instead."""
        if self._error is not None:
            raise self._error
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    # --- called by the event loop ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It is open."""
        self._transport = cast(asyncio.Transport, transport)  # of a stream; uvloop's is of another class

    def data_received(self, data: bytes) -> None:
        """Some bytes came."""
        if not self._busy:
            self._ended = True
            self.abort()
            return
        self._received(data)
        full = len(self._arrivals) >= WAITING or self._size >= _WAITING_BYTES
        if full and not self._paused and not self._whole and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()

    def eof_received(self) -> None:
        """The server sends nothing more."""
        self._end()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is closed."""
        if exc is not None and not self._ended:
            self._ended = True
            self._failed(httpx.ReadError(str(exc)), exc)
        self._end()
        self._writable.set()

    def pause_writing(self) -> None:
        """The server does not read as fast as the client sends."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """It has read."""
        self._writable.set()

    def _end(self) -> None:
        if self._ended:
            return
        self._ended = True
        if self._http.their_state is h11.SEND_RESPONSE:
            self._failed(httpx.RemoteProtocolError(_NO_ANSWER))
        else:
            self._received(b"")

    def _received(self, data: bytes) -> None:
        at_s = time.monotonic()
        if self._between and data:
            data = self._without_chunks(data, at_s)
            if not data:
                self._wake()
                return
        last: h11.Data | None = None
        try:
            self._http.receive_data(data)
            while True:
                event = self._http.next_event()
                if isinstance(event, h11.Data):
                    last = event
                    self._arrivals.append(Arrival(bytes(event.data), at_s))
                    self._size += len(event.data)
                elif isinstance(event, h11.Response):
                    self._head = event
                elif isinstance(event, h11.EndOfMessage):
                    self._whole = True
                elif not isinstance(event, h11.InformationalResponse):
                    break
        except h11.RemoteProtocolError as error:
            self._failed(httpx.RemoteProtocolError(str(error)), error)
        # Its line end may still be to come. As no chunk begins with one, h11 gets it then.
        ended = last is not None and last.chunk_end
        self._between = ended and not self._whole and not self._http.trailing_data[0]
        self._wake()

    def _without_chunks(self, data: bytes, at_s: float) -> bytes:
        """Take the whole chunks at its beginning; the rest, from where a chunk begins."""
        at = 0
        while head := _CHUNK.match(data, at):
            begins, size = head.end(), int(head[1], 16)
            ends = begins + size
            if not size or data[ends : ends + 2] != _LINE_END:
                break
            self._arrivals.append(Arrival(data[begins:ends], at_s))
            self._size += size
            at = ends + 2
        return data[at:]

    def _failed(self, error: httpx.TransportError, cause: Exception | None = None) -> None:
        if self._error is None:
            error.__cause__ = cause
            self._error = error
        self._ended = True
        self._wake()

    def _wake(self) -> None:
        if self._waiter is None or self._waiter.done():
            return
        if self._take is not None and self._arrivals:
            begun = Begun(self._take(self._taken()))
            if begun.over and not self._whole and self._error is None:
                return
            self._begun = begun
        self._waiter.set_result(None)
