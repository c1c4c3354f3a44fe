"""The tap on the dashboard's own port: `/tap/<name>/v1/...` goes to the upstream of that name.

It comes before the dashboard's own middleware, which would compress responses and parse their paths. It is
for programs, not for web pages: a request that a browser makes for a page gets a 403, because vLLM up to 0.31
allows every page to read its responses (`--allowed-origins`, by default all; none from 0.32 on).
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache, partial
from pathlib import Path
from typing import Final, Protocol

from starlette.middleware import Middleware
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from inspector.capture.capture import End
from inspector.capture.errors import InspectorError
from inspector.files.recording import Unwritten
from inspector.net.client.address import AddressInvalid, Server
from inspector.net.client.recorder import Sink
from inspector.net.hosts import refuse
from inspector.net.tap.headers import header_value
from inspector.net.tap.proxy import Tap, Upstream

PREFIX: Final = "/tap"

METRICS: Final = "/metrics"
"""Path at which Prometheus reads the results of audits."""

UPSTREAMS_VARIABLE: Final = "HARMONY_INSPECTOR_UPSTREAMS"
"""Environment variable that names the upstreams; see `parse_upstreams`. Without it there is no tap."""

_MARKS: Final = ("ids", "insecure")
_ANSWERED_BY_US: Final = frozenset({b"date", b"server"})
"""Headers that the dashboard's server adds to every response; a response must not have them twice."""


def parse_upstreams(text: str) -> tuple[Upstream, ...]:
    """Upstreams as `name=http://host:8000`, several with spaces between.

    `name+ids=` requests token IDs on behalf of clients, `name+insecure=` trusts any TLS certificate.
    Raises InspectorError for anything else, and for a name given twice.
    """
    upstreams: dict[str, Upstream] = {}
    for word in text.split():
        label, equals, address = word.partition("=")
        name, *marks = label.split("+")
        if not equals or "/" in label or not address:
            quoted = "an address with a password in it" if "@" in word else repr(word)
            raise InspectorError(
                f"{UPSTREAMS_VARIABLE}: {quoted} does not name an upstream; "
                "write name=http://host:8000, with spaces between several"
            )
        if unknown := [mark for mark in marks if mark not in _MARKS]:
            raise InspectorError(
                f"{UPSTREAMS_VARIABLE}: {name} has the mark +{unknown[0]}; known are +ids and +insecure"
            )
        if name in upstreams:
            raise InspectorError(f"{UPSTREAMS_VARIABLE}: {name} is named twice; give each its own name")
        try:
            server = Server(base_url=address, verify="insecure" not in marks)
            upstreams[name] = Upstream(name=name, server=server, add_token_ids="ids" in marks)
        except AddressInvalid as error:
            raise InspectorError(f"{UPSTREAMS_VARIABLE}: {error.problem}") from error
        except InspectorError as error:
            raise InspectorError(f"{UPSTREAMS_VARIABLE}: {error}") from error
    return tuple(upstreams.values())


@cache
def configured_upstreams() -> tuple[Upstream, ...]:
    """The upstreams of this process; InspectorError when the variable cannot be read."""
    return parse_upstreams(os.environ.get(UPSTREAMS_VARIABLE, ""))


class RecordingListener(Protocol):
    """Receives each completed recording; see `inspector.fleet.watch.Watch`."""

    def ended(self, upstream: str, path: Path, /) -> None:
        """A recording is complete on disk."""

    def unwritten(self, upstream: str, recording: Unwritten, /) -> None:
        """A recording is not on disk, at least not to its end."""

    def close(self) -> None:
        """No more recordings will end."""


class Recorded(Protocol):
    """A run of the sink; see `inspector.net.runs.LiveRun`."""

    def recorded(self) -> Path | Unwritten | None:
        """Its file once it has ended, or what the disk did not take."""


class DashboardTap:
    """Taps beside a dashboard: its `middleware` and its `lifespan`; both do nothing without upstreams.

    `run_of` finds a run of the sink, `watching` creates the receiver of ended recordings; `metrics` is the
    ASGI app that answers at `/metrics`.
    """

    def __init__(
        self,
        upstreams: Sequence[Upstream],
        sink: Sink,
        *,
        run_of: Callable[[str], Recorded | None] = lambda _: None,
        watching: Callable[[], RecordingListener] | None = None,
        metrics: ASGIApp | None = None,
    ) -> None:
        self._watching = watching
        self._watch: RecordingListener | None = None
        self._metrics = metrics
        self._taps = {
            upstream.name: Tap(upstream, _ReportingSink(sink, partial(self._ended, upstream.name), run_of))
            for upstream in upstreams
        }

    @property
    def middleware(self) -> list[Middleware]:
        """Middleware to put before all other."""
        return [Middleware(_TapMiddleware, taps=self._taps, metrics=self._metrics)] if self._taps else []

    def _ended(self, upstream: str, recorded: Path | Unwritten) -> None:
        if isinstance(recorded, Unwritten):
            if self._watch is None:
                recorded.release()
            else:
                self._watch.unwritten(upstream, recorded)
        elif self._watch is not None:
            self._watch.ended(upstream, recorded)

    def stop(self) -> None:
        """The program ends: streams that are cut from now on were not closed by clients."""
        for tap in self._taps.values():
            tap.stop()

    @asynccontextmanager
    async def lifespan(self, _: object) -> AsyncIterator[None]:
        """Closes the connections to the upstreams when the dashboard ends."""
        if self._taps and self._watching is not None:
            self._watch = self._watching()
        yield
        for tap in self._taps.values():
            await tap.aclose()
        watch, self._watch = self._watch, None
        if watch is not None:
            await asyncio.to_thread(watch.close)


class _ReportingSink:
    """A sink that reports what became of each recording."""

    def __init__(
        self,
        sink: Sink,
        finished: Callable[[Path | Unwritten], None],
        run_of: Callable[[str], Recorded | None],
    ) -> None:
        self._sink = sink
        self._finished = finished
        self._run_of = run_of
        self.opened = sink.opened
        self.event = sink.event

    def ended(self, run: str, end: End, /) -> None:
        """Pass it on, and report the recording."""
        ending = self._run_of(run)  # asked before: the registry may forget a run as soon as it has ended
        self._sink.ended(run, end)
        recorded = None if ending is None else ending.recorded()
        if recorded is not None:
            self._finished(recorded)


class _TapMiddleware:
    def __init__(self, app: ASGIApp, *, taps: Mapping[str, Tap], metrics: ASGIApp | None) -> None:
        self._app = app
        self._taps = taps
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope.get("path", "")
        if self._metrics is not None and scope["type"] == "http" and path == METRICS:
            await self._metrics(scope, receive, send)
            return
        if scope["type"] not in {"http", "websocket"} or not path.startswith(f"{PREFIX}/"):
            await self._app(scope, receive, send)
            return
        name = path.removeprefix(f"{PREFIX}/").partition("/")[0]
        tap = self._taps.get(name)
        if scope["type"] == "http" and _from_a_page(scope):
            answer = _refusal(403, "web pages may not use the tap on this port; `inspector tap` serves them")
            await refuse(answer, scope, receive, send)
        elif scope["type"] == "http" and tap is None:
            addresses = ", ".join(f"{PREFIX}/{tap_name}/v1" for tap_name in self._taps)
            answer = _refusal(404, f"no upstream has that name; there is {addresses}")
            await refuse(answer, scope, receive, send)
        elif tap is not None:
            await tap({**scope, "root_path": f"{PREFIX}/{name}"}, receive, _without_server_headers(send))
        else:
            await send({"type": "websocket.close", "code": 1003})


def _from_a_page(scope: Scope) -> bool:
    """Whether the request comes from a web page; False for a navigation of the user."""
    headers = scope["headers"]
    return bool(header_value(headers, b"origin")) or header_value(headers, b"sec-fetch-site") not in {
        "",
        "none",
    }


def _refusal(status: int, message: str) -> JSONResponse:
    error = {"message": message, "type": "TapError", "param": None, "code": status}
    return JSONResponse({"error": error}, status)


def _without_server_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = [pair for pair in message["headers"] if pair[0].lower() not in _ANSWERED_BY_US]
            message = {**message, "headers": headers}
        await send(message)

    return sent
