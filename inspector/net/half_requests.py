"""Requests that never become complete are closed: uvicorn waits for their rest without a limit.

A client that sends a byte now and then would hold a connection, and a file descriptor, for ever. uvicorn has
no setting for this, and the dashboard's server is made by Streamlit, so the protocols of uvicorn are extended
in place, for all servers of this process.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from operator import itemgetter
from typing import Any, Final
from weakref import WeakKeyDictionary

HEAD_S: Final = 10.0
"""Seconds in which the head of a request must be complete."""

BODY_S: Final = 60.0
"""Seconds within which the next bytes of a body must arrive."""

HEADS_AT_MOST: Final = 128
"""Connections of one server that may wait for a head for longer than a second; older ones are closed."""

_EACH_S: Final = 1.0
"""Seconds between two looks at the connections that wait."""
_PROTOCOLS: Final = ("h11_impl.H11Protocol", "httptools_impl.HttpToolsProtocol")
_DONE: Final = "_ends_half_requests"


@dataclass(slots=True)
class _Wait:
    since_s: float
    """Since when a head is awaited, or since the last bytes of a body."""
    head: bool = True


@dataclass(slots=True)
class _Waiting:
    """The connections of one server that wait for more of a request."""

    waits: dict[Any, _Wait] = field(default_factory=dict)
    sweeps: bool = False


class HalfRequests:
    """Watches connections of uvicorn's protocols; `clock` gives seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._servers: WeakKeyDictionary[Any, _Waiting] = WeakKeyDictionary()

    def connected(self, protocol: Any) -> None:
        """A connection was made."""
        server = self._server(protocol)
        server.waits[protocol] = _Wait(self._clock())
        if not server.sweeps:
            server.sweeps = True
            asyncio.get_running_loop().call_later(_EACH_S, self._sweep, server)

    def received(self, protocol: Any) -> None:
        """Bytes came, and were read."""
        server, cycle = self._server(protocol), protocol.cycle
        wait = server.waits.get(protocol)
        if cycle is not None and not cycle.response_complete and not cycle.more_body:
            server.waits.pop(protocol, None)
            return
        head = cycle is None or cycle.response_complete
        if wait is None:
            self.connected(protocol)
        elif not head:
            wait.since_s, wait.head = self._clock(), False
        elif not wait.head:
            wait.since_s, wait.head = self._clock(), True

    def lost(self, protocol: Any) -> None:
        """A connection has ended."""
        self._server(protocol).waits.pop(protocol, None)

    def _server(self, protocol: Any) -> _Waiting:
        return self._servers.setdefault(protocol.server_state, _Waiting())

    def _sweep(self, server: _Waiting) -> None:
        """Close what waits for too long; comes again while anything waits."""
        now_s, late = self._clock(), list[tuple[float, Any]]()
        for protocol, wait in list(server.waits.items()):
            waited_s = now_s - wait.since_s
            if protocol.transport.get_protocol() is not protocol:  # a websocket now
                del server.waits[protocol]
            elif wait.head and waited_s >= _EACH_S:
                late.append((waited_s, protocol))
            elif not wait.head and waited_s >= BODY_S and not protocol.flow.read_paused:
                self._close(server, protocol)
        late.sort(key=itemgetter(0), reverse=True)
        for place, (waited_s, protocol) in enumerate(late):
            if waited_s >= HEAD_S or place < len(late) - HEADS_AT_MOST:
                self._close(server, protocol)
        server.sweeps = bool(server.waits)
        if server.sweeps:
            asyncio.get_running_loop().call_later(_EACH_S, self._sweep, server)

    def _close(self, server: _Waiting, protocol: Any) -> None:
        del server.waits[protocol]
        protocol.transport.abort()


def end_half_requests(half_requests: HalfRequests | None = None) -> None:
    """Close such requests at all servers of this process; a second call changes nothing."""
    watch = half_requests or HalfRequests()
    for name in _PROTOCOLS:
        module, _, member = name.partition(".")
        try:
            protocol = getattr(import_module(f"uvicorn.protocols.http.{module}"), member)
        except ImportError:  # httptools is not installed
            continue
        if not hasattr(protocol, _DONE):
            setattr(protocol, _DONE, True)
            _extend(protocol, "connection_made", watch.connected)
            _extend(protocol, "data_received", watch.received)
            _extend(protocol, "connection_lost", watch.lost)


def _extend(protocol: type, name: str, then: Callable[[Any], None]) -> None:
    method = getattr(protocol, name)

    def extended(self: Any, *arguments: Any) -> None:
        method(self, *arguments)
        then(self)

    setattr(protocol, name, extended)
