"""HTTP/1.1 to the upstream by h11, on connections that are kept for the next request.

All chunks of one read are parsed at once and handed on together. A client library that requests each read and
hands on each chunk alone takes several turns of the event loop per event of a stream. Complete chunks of a
chunked body are cut here, in a third of h11's time; h11 parses everything else.
"""

import asyncio
import re
import ssl
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, NamedTuple, cast

import h11
import httpx

from inspector.net.tap.eager import EagerCoroutine

WAITING: Final = 64
"""Chunks that wait for a slow client before reading pauses; one read has at most 256 KiB."""

_ONE_READ_S: Final = 0.0005
"""Chunks that are parsed within this time came in one read of the network."""
_WAITING_BYTES: Final = 2**18
_HEADERS_AT_MOST: Final = 100 * 1024
_KEPT_AT_MOST: Final = 100
"""Idle connections to one upstream."""
_ADDRESSES_DELAY_S: Final = 0.25
"""After this time the next address of the host is tried, RFC 8305."""
_CHUNK: Final = re.compile(rb"([0-9A-Fa-f]{1,7})\r\n")
_LINE_END: Final = b"\r\n"
_NO_ANSWER: Final = "Server disconnected without sending a response."


class Arrival(NamedTuple):
    """A chunk and its arrival, in seconds of the monotonic clock."""

    chunk: bytes
    at_s: float


def together(arrivals: Iterable[Arrival]) -> list[Arrival]:
    """The same bytes, with the chunks of one read joined."""
    joined: list[Arrival] = []
    parts: list[bytes] = []
    first_s = 0.0
    for chunk, at_s in arrivals:
        if parts and at_s - first_s > _ONE_READ_S:
            joined.append(Arrival(b"".join(parts), first_s))
            parts = []
        if not parts:
            first_s = at_s
        parts.append(chunk)
    return [*joined, Arrival(b"".join(parts), first_s)] if parts else joined


Take = Callable[[Sequence[Arrival]], Coroutine[Any, None, None]]


class UpstreamTransport(httpx.AsyncBaseTransport):
    """Sends requests to one server; the stream of each response is a `Body`.

    `idle_s` is how long an unused connection is kept. Raises what httpx raises: ConnectError,
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
        """Close the unused connections."""
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
        """The chunks that have arrived, as soon as there is one; raises what broke the response."""
        while arrivals := await self._connection.arrived():
            yield arrivals

    async def passed_to(self, take: Take) -> None:
        """Pass them to `take` in the call that receives them, as far as `take` does not wait."""
        await self._connection.passed_to(take)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """The same, chunk by chunk."""
        async for arrivals in self.arrivals():
            for arrival in arrivals:
                yield arrival.chunk

    async def aclose(self) -> None:
        """Stop reading; the connection of an incomplete body is closed."""
        if not self._closed:
            self._closed = True
            self._transport.release(self._connection)


@dataclass(slots=True)
class _Incoming:
    """What has arrived of one response."""

    head: h11.Response | None = None
    arrivals: list[Arrival] = field(default_factory=list)
    """Chunks of the body that are not taken yet."""
    size: int = 0
    """Their bytes."""
    whole: bool = False
    between: bool = False
    """Whether the last chunk of a chunked body is whole, and h11 has nothing of the next one."""


class _Connection(asyncio.Protocol):
    """One connection; it carries one request at a time.

    An exchange goes through these states, moved on by the calls of the event loop:

        idle --send()--> waits for the head --response--> in the body --end of message--> whole
        whole --next_cycle()--> idle
        any --end of file, connection lost, invalid HTTP--> ended

    - Idle (`_busy` is false): bytes that come belong to no request, and end the connection.
    - In the body: bytes that begin where a chunk begins (`between`) are cut here; h11 reads all others.
    - Ended (`_ended`): no further request is sent. `_error` is raised where more of the response is awaited.

    One task at most waits for the response (`_waiter`): in `head`, `arrived` or `passed_to`. In `passed_to`
    the call of the event loop runs `take` itself, as far as it goes without waiting. The task wakes up only
    for the rest of that (`_unfinished`), and at the end of the body.

    Back-pressure: reading is paused (`_paused`) while `WAITING` chunks or 256 KiB wait to be taken.
    """

    def __init__(self) -> None:
        self.idle_until_s = 0.0
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=_HEADERS_AT_MOST)
        self._transport: asyncio.Transport | None = None
        self._busy = False
        self._ended = False
        self._error: httpx.TransportError | None = None
        self._incoming = _Incoming()
        self._paused = False
        self._waiter: asyncio.Future[None] | None = None
        self._take: Take | None = None
        self._unfinished: EagerCoroutine | None = None
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
        if not (self.usable and self._incoming.whole and self._http.our_state is h11.DONE):
            return False
        if self._http.their_state is not h11.DONE or self._http.trailing_data[0]:
            return False
        self._http.start_next_cycle()
        self._incoming, self._busy = _Incoming(), False  # a client that left may not have taken all of it
        return True

    async def send(self, request: httpx.Request) -> None:
        """Send a request; a server that does not read all of it may have responded already."""
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
        """Write, and wait while the server does not read; False if the connection is closed."""
        if self._transport is None or self._transport.is_closing():
            return False
        if content:
            self._transport.write(content)
        await self._writable.wait()
        return True

    async def head(self) -> h11.Response:
        """Status and headers, once they have arrived."""
        while self._incoming.head is None:
            await self._more()
        return self._incoming.head

    async def arrived(self) -> Sequence[Arrival]:
        """The chunks since the last call, at least one; none at the end of the body."""
        incoming = self._incoming
        while not incoming.arrivals:
            if incoming.whole:
                return ()
            await self._more()
        return self._taken()

    async def passed_to(self, take: Take) -> None:
        """Pass the body to `take` as it arrives, at once where `take` does not wait."""
        incoming = self._incoming
        while not (incoming.whole and not incoming.arrivals):
            if incoming.arrivals:
                await take(self._taken())
                continue
            self._take = take
            try:
                await self._more()
            except asyncio.CancelledError as error:
                if self._unfinished is not None:
                    self._unfinished.throw(error)
                raise
            finally:
                unfinished, self._unfinished, self._take = self._unfinished, None, None
            if unfinished is not None:
                await unfinished

    def _taken(self) -> Sequence[Arrival]:
        incoming = self._incoming
        arrivals, incoming.arrivals, incoming.size = incoming.arrivals, [], 0
        if self._paused and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()
        return arrivals

    async def _more(self) -> None:
        """Wait until more has arrived; raises the error of the connection."""
        if self._error is not None:
            raise self._error
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    # --- called by the event loop ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # of a stream; uvloop's is of another class

    def data_received(self, data: bytes) -> None:
        if not self._busy:
            self._ended = True
            self.abort()
            return
        self._received(data)
        incoming = self._incoming
        full = len(incoming.arrivals) >= WAITING or incoming.size >= _WAITING_BYTES
        if full and not self._paused and not incoming.whole and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()

    def eof_received(self) -> None:
        self._end()

    def connection_lost(self, exc: Exception | None) -> None:
        if exc is not None and not self._ended:
            self._ended = True
            self._failed(httpx.ReadError(str(exc)), exc)
        self._end()
        self._writable.set()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
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
        incoming = self._incoming
        if incoming.between and data:
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
                    incoming.arrivals.append(Arrival(bytes(event.data), at_s))
                    incoming.size += len(event.data)
                elif isinstance(event, h11.Response):
                    incoming.head = event
                elif isinstance(event, h11.EndOfMessage):
                    incoming.whole = True
                elif not isinstance(event, h11.InformationalResponse):
                    break
        except h11.RemoteProtocolError as error:
            self._failed(httpx.RemoteProtocolError(str(error)), error)
        # Its line end may still be to come. As no chunk begins with one, h11 gets it then.
        ended = last is not None and last.chunk_end
        incoming.between = ended and not incoming.whole and not self._http.trailing_data[0]
        self._wake()

    def _without_chunks(self, data: bytes, at_s: float) -> bytes:
        """Take the complete chunks at the beginning; returns the rest, which begins with a chunk."""
        incoming = self._incoming
        at = 0
        while head := _CHUNK.match(data, at):
            begins, size = head.end(), int(head[1], 16)
            ends = begins + size
            if not size or data[ends : ends + 2] != _LINE_END:
                break
            incoming.arrivals.append(Arrival(data[begins:ends], at_s))
            incoming.size += size
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
        if self._take is not None and self._incoming.arrivals:
            passing = EagerCoroutine(self._take(self._taken()))
            if passing.over and not self._incoming.whole and self._error is None:
                return
            self._unfinished = passing
        self._waiter.set_result(None)
