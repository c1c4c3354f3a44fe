"""Shared by commands that serve HTTP: run one app on one address until interrupted."""

import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Thread
from types import FrameType
from typing import Annotated, Literal

import uvicorn
from starlette.types import ASGIApp

from inspector.capture.errors import InspectorError
from inspector.commands.options import Options, option, whole
from inspector.commands.terminal import say, tell
from inspector.net.half_requests import end_half_requests
from inspector.net.hosts import HOSTS_VARIABLE, TrustedHosts
from inspector.net.sockets import say_once_that_none_is_accepted, without_delay

Port = Annotated[int, whole("port", 0, 65535, "PORT")]


class Hosts(Options, title="address"):
    """On which address to listen, and to which hosts to answer."""

    host: str = option("address to listen on", "127.0.0.1")
    allow_host: tuple[str, ...] = option(
        "also answer to this host name, for reverse proxies and other machines; repeatable, "
        f"*.example.com allows subdomains (or set {HOSTS_VARIABLE})",
        (),
        "NAME",
        repeatable=True,
    )


def serve(
    app: ASGIApp,
    hosts: Hosts,
    port: int,
    lines: Sequence[str],
    *,
    stopping: Callable[[], None] = lambda: None,
) -> None:
    """Serve until interrupted; `lines` are printed first, with `{address}` replaced by the URL.

    `stopping` is called when the interrupt comes, before anything is cut.

    Raises InspectorError if the address is in use or does not belong to this machine.
    """
    host = hosts.host
    listening = _listening(host, port, "--port")
    checked = TrustedHosts(app, bound=[host], also=hosts.allow_host, setting="--allow-host ")
    server = uvicorn_server(checked, stopping=stopping)
    # Imports what it needs before the address is printed: where Ctrl-C interrupts an import that makes a
    # class from text, CPython ends by the signal, though the exception is caught.
    server.config.load()
    with listening, suppress(KeyboardInterrupt):  # the usual end; uvicorn has closed what was open
        address = _address(listening, host)
        for line in lines:
            say(line.replace("{address}", address))
        sys.stdout.flush()
        server.run(sockets=[listening])


@contextmanager
def serving_beside(app: ASGIApp, host: str, port: int, allowed: Sequence[str], setting: str) -> Iterator[str]:
    """Serve a second app in its own thread while the context lasts; yields its address.

    `setting` is the option that chose the port. Raises InspectorError if it cannot be served there.
    """
    listening = _listening(host, port, setting)
    checked = TrustedHosts(app, bound=[host], also=allowed, setting="--allow-host ")
    server = uvicorn_server(checked, lifespan="off")
    thread = Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True, name="metrics")
    with listening:
        thread.start()
        try:
            yield _address(listening, host)
        finally:
            server.should_exit = True
            thread.join(5)


def _listening(host: str, port: int, setting: str) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        words = (error.strerror or str(error)).partition(" (while")[0]  # Python names the address again
        raise InspectorError(
            f"cannot listen on {host}:{port} ({words}); choose another {setting} or --host"
        ) from error
    without_delay(listening)
    return listening


def _address(listening: socket.socket, host: str) -> str:
    bracketed = f"[{host}]" if ":" in host else host
    return f"http://{bracketed}:{listening.getsockname()[1]}"


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, stopping: Callable[[], None]) -> None:
        super().__init__(config)
        self._stopping = stopping
        end_half_requests()

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        say_once_that_none_is_accepted(tell)
        await super().serve(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._stopping()
        super().handle_exit(sig, frame)


def uvicorn_server(
    app: ASGIApp, *, stopping: Callable[[], None] = lambda: None, lifespan: Literal["on", "off"] = "on"
) -> uvicorn.Server:
    """A silent server for our apps, without date and server headers: a proxied response has its own.

    Loop and parser are named, because uvicorn takes others where they are installed, as beside vLLM: the
    parser httptools drops a part of some request targets, which the tap has to pass on byte for byte.
    """
    return _Server(
        uvicorn.Config(
            app,
            loop="asyncio",
            http="h11",
            log_level="critical",
            access_log=False,
            server_header=False,
            date_header=False,
            lifespan=lifespan,
            timeout_graceful_shutdown=2,
        ),
        stopping,
    )
