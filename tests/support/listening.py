"""Free ports, ASGI apps served by a real uvicorn, and answers kept as captures."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from starlette.types import ASGIApp

from inspector.capture.capture import Capture, End, Event, Header
from inspector.commands.serving import uvicorn_server

__all__ = ["MemorySink", "free_port", "listening"]

_RESERVED: set[int] = set()
"""Ports that `free_port` returned: a server listens on one only seconds later."""


def free_port() -> int:
    """A free port of the loopback address that this process has not used yet."""
    while True:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port: int = probe.getsockname()[1]
        if port not in _RESERVED:
            _RESERVED.add(port)
            return port


@contextmanager
def listening(app: ASGIApp) -> Iterator[str]:
    """Serve an app on a free port; its address."""
    server = uvicorn_server(app)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(120)
            assert not thread.is_alive(), "the server did not stop"


@dataclass
class MemorySink:
    """A sink that keeps what is recorded, as captures in the order of their beginning."""

    headers: list[Header] = field(default_factory=list)
    events: list[list[Event]] = field(default_factory=list)
    ends: dict[int, End] = field(default_factory=dict)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def opened(self, header: Header) -> str:
        with self.changed:
            self.headers.append(header)
            self.events.append([])
            self.changed.notify_all()
            return str(len(self.headers) - 1)

    def event(self, run: str, event: Event) -> None:
        with self.changed:
            self.events[int(run)].append(event)
            self.changed.notify_all()

    def ended(self, run: str, end: End) -> None:
        with self.changed:
            self.ends[int(run)] = end
            self.changed.notify_all()

    def capture(self, run: int = 0, *, timeout_s: float = 120.0) -> Capture:
        """One recording, once it has ended."""
        with self.changed:
            assert self.changed.wait_for(lambda: run in self.ends, timeout_s), "the recording did not end"
            return Capture(header=self.headers[run], events=list(self.events[run]), end=self.ends[run])
