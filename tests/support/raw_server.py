"""A real HTTP server whose answers are written byte by byte, for what no well-behaved server sends."""

import json
import socketserver
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BufferedReader
from typing import Any, cast

__all__ = ["Answer", "RawRequest", "RawServer", "chunked", "page", "raw_server", "sse", "stream"]


@dataclass(frozen=True)
class RawRequest:
    """One request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


Answer = Callable[[RawRequest], Iterable[bytes]]


@dataclass
class RawServer:
    """A running server: `answers` by path; what was asked is in `asked`."""

    address: str
    answers: dict[str, Answer]
    asked: list[RawRequest] = field(default_factory=list)
    client_gone: threading.Event = field(default_factory=threading.Event)
    """Set when a client closed its connection before the answer was whole."""
    release: threading.Event = field(default_factory=threading.Event)
    """Answers may wait for it; set when the server stops."""

    @property
    def v1(self) -> str:
        return f"{self.address}/v1"

    def bodies(self, path: str) -> list[Any]:
        return [asked.body for asked in self.asked if asked.path == path]


@contextmanager
def raw_server(answers: dict[str, Answer], *, tls: ssl.SSLContext | None = None) -> Iterator[RawServer]:
    """Serve `answers` by path; a path without one gets 404, /version and /health are there already."""
    all_answers: dict[str, Answer] = {
        "/version": lambda _: [page(200, json.dumps({"version": "0.99.0"}), "application/json")],
        "/health": lambda _: [page(200, "", "text/plain")],
        **answers,
    }

    class Exchange(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            if cast(BufferedReader, self.rfile).peek(1)[:1] == b"\x16":
                # TLS on a plain port: what uvicorn says to it
                self.wfile.write(page(400, "Invalid HTTP request received.", "text/plain"))
                return
            asked = _read(self.rfile)
            if asked is None:
                return
            running.asked.append(asked)
            answer = running.answers.get(asked.path.partition("?")[0])
            try:
                for piece in (
                    answer(asked) if answer else [page(404, '{"detail":"Not Found"}', "application/json")]
                ):
                    self.wfile.write(piece)
                    self.wfile.flush()
            except OSError:
                running.client_gone.set()

    class RawTcpServer(socketserver.ThreadingTCPServer):
        daemon_threads = True
        allow_reuse_address = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """A client that goes away is part of the tests."""

    with RawTcpServer(("127.0.0.1", 0), Exchange) as server:
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        scheme = "https" if tls else "http"
        running = RawServer(f"{scheme}://127.0.0.1:{server.server_address[1]}", all_answers)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield running
        finally:
            running.release.set()
            server.shutdown()
            thread.join()


def _read(source: Any) -> RawRequest | None:
    line = source.readline().decode("latin-1").split()
    if len(line) < 2:
        return None
    headers: dict[str, str] = {}
    while (header := source.readline().decode("latin-1").strip()) != "":
        name, _, value = header.partition(":")
        headers[name.lower()] = value.strip()
    raw = source.read(int(headers.get("content-length", "0")))
    return RawRequest(line[0], line[1], headers, json.loads(raw) if raw else None)


def page(status: int, body: str, kind: str, *, extra: str = "") -> bytes:
    """A whole answer."""
    coded = body.encode()
    head = f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {len(coded)}\r\n"
    return f"{head}{extra}connection: close\r\n\r\n".encode() + coded


def chunked(piece: bytes) -> bytes:
    """One chunk of a body; the empty one ends it."""
    return f"{len(piece):x}\r\n".encode() + piece + b"\r\n"


def stream(pieces: Iterable[bytes], *, end: bool = True, coding: str = "") -> Iterator[bytes]:
    """An event stream, a chunk a piece; without `end` the connection breaks off after the last."""
    extra = f"content-encoding: {coding}\r\n" if coding else ""
    yield (
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
        f"transfer-encoding: chunked\r\n{extra}connection: close\r\n\r\n"
    ).encode()
    for piece in pieces:
        if piece:
            yield chunked(piece)
    if end:
        yield chunked(b"")


def sse(payload: Any) -> bytes:
    """One server-sent event."""
    return f"data: {payload if isinstance(payload, str) else json.dumps(payload)}\n\n".encode()
