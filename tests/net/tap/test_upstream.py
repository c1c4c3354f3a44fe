"""The connection to the upstream: reuse, faults, slow readers; no response gets the bytes of another."""

import asyncio
import random
import re
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from itertools import pairwise

import httpx
import pytest

from inspector.net.tap.upstream import WAITING, Arrival, Body, UpstreamTransport

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n"


def http_response(body: bytes) -> bytes:
    return HEAD % len(body) + body


class RawUpstream:
    """A server of raw bytes, and the transport that asks it."""

    def __init__(self, serve: Serve) -> None:
        self.connections = 0
        self._serve = serve

    async def _served(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            await self._serve(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()

    def run(
        self, use: Callable[[UpstreamTransport, httpx.URL], Awaitable[None]], *, idle_s: float = 60.0
    ) -> None:
        async def all_of_it() -> None:
            server = await asyncio.start_server(self._served, "127.0.0.1", 0)
            root = httpx.URL(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
            trust = ssl.create_default_context()
            transport = UpstreamTransport(root, trust=trust, connect_s=10.0, idle_s=idle_s)
            async with asyncio.timeout(30):
                await use(transport, root)
            await transport.aclose()
            server.close()

        asyncio.run(all_of_it())


async def read(response: httpx.Response) -> bytes:
    assert isinstance(response.stream, Body)
    body = b"".join([chunk async for chunk in response.stream])
    await response.aclose()
    return body


def numbered(*, before: bytes = b"", after: bytes = b"") -> Serve:
    """Answers each request of a connection with its number."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = 0
        while True:
            await reader.readuntil(b"\r\n\r\n")
            number += 1
            writer.write(before + http_response(b"answer %d" % number) + after)

    return serve


@pytest.mark.parametrize("reads", [True, False])
def test_a_connection_serves_one_request_after_the_other(reads: bool) -> None:
    upstream = RawUpstream(numbered())

    async def use(transport: UpstreamTransport, root: httpx.URL) -> None:
        for number in (1, 2, 3):
            response = await transport.handle_async_request(httpx.Request("GET", root))
            if reads or number == 3:
                assert await read(response) == b"answer %d" % number
            else:  # a client that left: nobody gets the rest
                await asyncio.sleep(0.02)
                await response.aclose()

    upstream.run(use)
    assert upstream.connections == 1


@pytest.mark.parametrize("serve", [numbered(after=http_response(b"of nobody")), numbered(after=b"x")])
def test_what_a_server_sends_unasked_is_never_the_answer_to_the_next_request(serve: Serve) -> None:
    upstream = RawUpstream(serve)

    async def use(transport: UpstreamTransport, root: httpx.URL) -> None:
        for _ in range(3):
            assert await read(await transport.handle_async_request(httpx.Request("GET", root))) == b"answer 1"

    upstream.run(use)
    assert upstream.connections == 3


def test_an_answer_that_comes_later_unasked_ends_its_connection() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(http_response(b"mine"))
        await asyncio.sleep(0.05)
        writer.write(http_response(b"of nobody"))
        await reader.read()

    upstream = RawUpstream(serve)

    async def use(transport: UpstreamTransport, root: httpx.URL) -> None:
        for _ in range(2):
            assert await read(await transport.handle_async_request(httpx.Request("GET", root))) == b"mine"
            await asyncio.sleep(0.2)

    upstream.run(use)
    assert upstream.connections == 2


def test_an_idle_connection_is_not_kept_for_long() -> None:
    upstream = RawUpstream(numbered())

    async def use(transport: UpstreamTransport, root: httpx.URL) -> None:
        for _ in range(2):
            assert await read(await transport.handle_async_request(httpx.Request("GET", root))) == b"answer 1"

    upstream.run(use, idle_s=0.0)
    assert upstream.connections == 2


def test_what_came_before_a_fault_is_handed_on_first() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(HEAD % 100 + b"half")

    async def use(transport: UpstreamTransport, root: httpx.URL) -> None:
        response = await transport.handle_async_request(httpx.Request("GET", root))
        assert isinstance(response.stream, Body)
        await asyncio.sleep(0.05)  # the fault is there too by now
        arrivals = response.stream.arrivals()
        assert [arrival.chunk for arrival in await anext(arrivals)] == [b"half"]
        with pytest.raises(httpx.RemoteProtocolError, match="peer closed connection"):
            await anext(arrivals)
        await response.aclose()

    RawUpstream(serve).run(use)


def test_a_reader_that_takes_nothing_stops_the_reading() -> None:
    sent = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await reader.readuntil(b"\r\n\r\n")
        writer.write(HEAD % 2**40)
        while True:
            writer.write(b"x" * 2**16)
            sent += 2**16
            await writer.drain()

    async def use(transport: UpstreamTransport, root: httpx.URL) -> None:
        response = await transport.handle_async_request(httpx.Request("GET", root))
        assert isinstance(response.stream, Body)
        before = -1
        while sent > before:  # until the server cannot write either
            before = sent
            await asyncio.sleep(0.2)
        waiting = await anext(response.stream.arrivals())
        assert len(waiting) <= WAITING
        assert sum(len(arrival.chunk) for arrival in waiting) < 2**20
        while sent == before:  # and it goes on
            await anext(response.stream.arrivals())
            await asyncio.sleep(0)
        await response.aclose()

    RawUpstream(serve).run(use)


def test_a_request_that_a_server_does_not_take_whole_has_its_answer() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        await writer.drain()
        await asyncio.sleep(0.05)

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(200):
            yield b"x" * 1000
            await asyncio.sleep(0.001)

    async def use(transport: UpstreamTransport, root: httpx.URL) -> None:
        response = await transport.handle_async_request(httpx.Request("POST", root, content=pieces()))
        assert response.status_code == 413
        await response.aclose()

    RawUpstream(serve).run(use)


@pytest.mark.parametrize(
    ("raw_response", "error"),
    [
        (b"", "Server disconnected without sending a response"),
        (b"HTTP/1.1 20", "Server disconnected without sending a response"),
        (b"SSH-2.0-OpenSSH_9.2\r\n\r\n", "illegal status line"),
        (b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n", "_SWITCH_UPGRADE"),
    ],
)
def test_what_is_no_answer_is_an_error(raw_response: bytes, error: str) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(raw_response)

    async def use(transport: UpstreamTransport, root: httpx.URL) -> None:
        with pytest.raises(httpx.RemoteProtocolError, match=error):
            await transport.handle_async_request(httpx.Request("GET", root))

    RawUpstream(serve).run(use)


CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
PIECES = (
    b"data: 1\n\n",
    b"\r\n",
    b"\r\n\r\n",
    b"x\r\n",
    b"ab5\r\nhello\r\ncd",
    b"0\r\n\r\n",
    b"y" * 300,
    b"z",
)


def framed(piece: bytes, form: bytes) -> bytes:
    return form % len(piece) + b"\r\n" + piece + b"\r\n"


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("at_once", [True, False])
def test_a_chunked_body_is_the_same_however_the_network_cuts_it(seed: int, at_once: bool) -> None:
    chance = random.Random(seed)  # noqa: S311 -- a test
    pieces = [chance.choice(PIECES) for _ in range(30)]
    forms = [b"%x", b"%X", b"%05x", b"%x;name=value"] if seed % 2 else [b"%x"]
    chunks = [framed(piece, chance.choice(forms)) for piece in pieces]
    chunks.append(b"0\r\n\r\n")
    if seed % 3 == 1:  # line ends arrive apart, and what looks like a chunk and is none
        raw = b"".join(chunks)
        chunks = [part for part in re.split(rb"(?<=\r\n)|(?=\r\n)|(?=5\r\nhello)", raw) if part]
    elif seed % 3:  # otherwise a chunk with each write, as servers do
        raw = b"".join(chunks)
        cuts = sorted(chance.sample(range(1, len(raw)), 40))
        chunks = [raw[begin:end] for begin, end in pairwise([0, *cuts, len(raw)])]
    if seed % 4 == 0:
        chunks[0] = CHUNKED + chunks[0]
    else:
        chunks.insert(0, CHUNKED)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for chunk in chunks:
            writer.write(chunk)
            await asyncio.sleep(0.0005)
        await reader.read()

    async def use(transport: UpstreamTransport, root: httpx.URL) -> None:
        response = await transport.handle_async_request(httpx.Request("GET", root))
        if at_once:
            body = bytearray()

            async def receive(arrivals: Sequence[Arrival]) -> None:
                body.extend(b"".join(arrival.chunk for arrival in arrivals))

            assert isinstance(response.stream, Body)
            await response.stream.passed_to(receive)
        else:
            body = bytearray(await read(response))
        assert bytes(body) == b"".join(pieces)

    RawUpstream(serve).run(use)


@pytest.mark.parametrize("rest", [b"zz\r\n", b"5\r\nhelloXX", b"-1\r\n\r\n"])
def test_what_is_no_chunk_after_whole_ones_is_a_fault(rest: bytes) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for piece in (CHUNKED, framed(b"one", b"%x"), framed(b"two", b"%x") + rest):
            writer.write(piece)
            await asyncio.sleep(0.01)

    async def use(transport: UpstreamTransport, root: httpx.URL) -> None:
        response = await transport.handle_async_request(httpx.Request("GET", root))
        assert isinstance(response.stream, Body)
        body = bytearray()

        async def receive(arrivals: Sequence[Arrival]) -> None:
            body.extend(b"".join(arrival.chunk for arrival in arrivals))

        with pytest.raises(httpx.RemoteProtocolError):
            await response.stream.passed_to(receive)
        assert bytes(body).startswith(b"onetwo")
        await response.aclose()

    RawUpstream(serve).run(use)


@pytest.mark.parametrize("first", [b"", b"at once"])
def test_a_slow_taker_gets_all_in_order_and_one_that_fails_is_heard(first: bytes) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(CHUNKED + (framed(first, b"%x") if first else b""))
        for number in range(100):
            writer.write(framed(b"%d " % number, b"%x"))
            await asyncio.sleep(0)
        writer.write(b"0\r\n\r\n")

    async def use(transport: UpstreamTransport, root: httpx.URL) -> None:
        response = await transport.handle_async_request(httpx.Request("GET", root))
        assert isinstance(response.stream, Body)
        body = bytearray()

        async def receive(arrivals: Sequence[Arrival]) -> None:
            await asyncio.sleep(0.01)
            body.extend(b"".join(arrival.chunk for arrival in arrivals))

        await response.stream.passed_to(receive)
        await response.aclose()
        assert bytes(body) == first + b"".join(b"%d " % number for number in range(100))
        response = await transport.handle_async_request(httpx.Request("GET", root))
        assert isinstance(response.stream, Body)

        async def failing(_: Sequence[Arrival]) -> None:
            raise OSError("the client's side")

        with pytest.raises(OSError, match="the client's side"):
            await response.stream.passed_to(failing)
        await response.aclose()

    RawUpstream(serve).run(use)


def test_what_looks_like_a_chunk_after_the_end_is_no_part_of_the_body() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(CHUNKED + framed(b"one", b"%x") + b"0\r\n\r\n")
        await asyncio.sleep(0.01)
        writer.write(framed(b"more", b"%x"))
        await reader.read()

    async def use(transport: UpstreamTransport, root: httpx.URL) -> None:
        response = await transport.handle_async_request(httpx.Request("GET", root))
        await asyncio.sleep(0.05)  # both are there before the body is read
        assert await read(response) == b"one"

    RawUpstream(serve).run(use)
