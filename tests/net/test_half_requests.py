"""Slow clients: half requests are closed in time and number, and nothing else is."""

import contextlib
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from websockets.sync.client import connect

from inspector.net.half_requests import HEADS_AT_MOST
from tests.support.command import ROOT

# A second of this program's clock is 50 ms.
PROGRAM = """
import asyncio, socket, sys, time
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Route, WebSocketRoute
from inspector.commands.serving import uvicorn_server
from inspector.net.half_requests import HalfRequests, end_half_requests

end_half_requests(HalfRequests(lambda: time.monotonic() * 20))

async def stream(_):
    async def pieces():
        for _ in range(50):
            await asyncio.sleep(0.1)
            yield b"x"
    return StreamingResponse(pieces())

async def read(request):
    return PlainTextResponse(str(len(await request.body())))

async def echo(websocket):
    await websocket.accept()
    while True:
        await websocket.send_text(await websocket.receive_text())

listening = socket.create_server(("127.0.0.1", 0))
print(listening.getsockname()[1], flush=True)
app = Starlette(routes=[
    Route("/stream", stream), Route("/read", read, methods=["GET", "POST"]), WebSocketRoute("/echo", echo)
])
uvicorn_server(app).run(sockets=[listening])
"""
HALF = b"GET /read HTTP/1.1\r\nHost: localhost\r\nX: "
COMPLETE_REQUEST = b"GET /read HTTP/1.1\r\nHost: localhost\r\n\r\n"
BODY = b"POST /read HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nabc"


@contextmanager
def serving(*words: str) -> Iterator[tuple[int, "subprocess.Popen[str]"]]:
    with subprocess.Popen(
        [sys.executable, *words], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            yield int(line.rpartition("127.0.0.1:")[2].partition("/")[0]), process
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with serving("-c", PROGRAM) as (port, _):
        yield port


def opened(port: int, sent: bytes) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=20)
    connection.sendall(sent)
    return connection


def is_open(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return connection.recv(65536) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def closed(connection: socket.socket, trickle: bytes = b"") -> bool:
    """Whether the server closes it within some seconds, while a byte comes now and then."""
    for _ in range(200):
        with contextlib.suppress(OSError):
            connection.sendall(trickle)
        if not is_open(connection):
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("trickle", [b"", b"x"])
@pytest.mark.parametrize("sent", [b"", HALF, COMPLETE_REQUEST + HALF], ids=["nothing", "half", "second half"])
def test_a_head_that_does_not_end_is_closed(port: int, sent: bytes, trickle: bytes) -> None:
    with opened(port, sent) as connection:
        assert closed(connection, trickle)


@pytest.mark.slow
def test_a_body_that_does_not_end_is_closed(port: int) -> None:
    with opened(port, BODY) as connection:
        assert closed(connection)


@pytest.mark.slow
def test_streams_and_websockets_stay(port: int) -> None:
    with connect(f"ws://127.0.0.1:{port}/echo") as websocket:
        assert len(httpx.get(f"http://127.0.0.1:{port}/stream").content) == 50
        websocket.send("still here")
        assert websocket.recv(5) == "still here"


def test_many_half_requests_leave_room(port: int) -> None:
    connections = [opened(port, HALF) for _ in range(HEADS_AT_MOST + 50)]
    assert all(map(closed, connections[:50]))
    assert httpx.get(f"http://127.0.0.1:{port}/read").text == "0"
    for connection in connections:
        connection.close()


@pytest.mark.slow
def test_a_program_without_room_for_connections_says_one_line(tmp_path: Path) -> None:
    program = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))\n"
        "from inspector.cli import main; sys.exit(main(['play', '--port', '0']))"
    )
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 100
    with serving("-c", program) as (port, process):
        connections = [opened(port, b"") for _ in range(60)]
        time.sleep(2)
        for connection in connections:
            connection.close()
        assert httpx.get(f"http://127.0.0.1:{port}/health", timeout=20).status_code == 200
        process.terminate()
        assert process.stderr is not None
        lines = process.stderr.read().splitlines()
    assert lines == [
        "no new connection is accepted (Too many open files); raise the limit, e.g. ulimit -n 4096"
    ]
