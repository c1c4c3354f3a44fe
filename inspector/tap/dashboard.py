"""The tap on the dashboard's own port: `/tap/<name>/v1/...` goes to the upstream of that name.

It stands before the dashboard's own middleware, which would compress answers and look into their
paths. It is for programs, not for web pages: a request that a browser makes for a page is refused, as
vLLM itself allows every page to read its answers (`--allowed-origins`, by default all).
"""

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache
from typing import Final

from starlette.middleware import Middleware
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from inspector.client.address import AddressInvalid, Server
from inspector.client.recorder import Sink
from inspector.errors import InspectorError
from inspector.tap.headers import value
from inspector.tap.proxy import Tap, Upstream

__all__ = ["PREFIX", "UPSTREAMS_VARIABLE", "DashboardTap", "configured_upstreams", "parse_upstreams"]

PREFIX: Final = "/tap"

UPSTREAMS_VARIABLE: Final = "HARMONY_INSPECTOR_UPSTREAMS"
"""Environment variable that names the upstreams; see `parse_upstreams`. Without it there is no tap."""

_MARKS: Final = ("ids", "insecure")
_ANSWERED_BY_US: Final = frozenset({b"date", b"server"})
"""Headers that the dashboard's server adds to every answer; a second one each is no valid answer."""


def parse_upstreams(text: str) -> tuple[Upstream, ...]:
    """Upstreams as `name=http://host:8000`, several with spaces between.

    `name+ids=` asks for token ids on behalf of clients, `name+insecure=` trusts any TLS certificate.
    Raises InspectorError for anything else, and for a name given twice.
    """
    found: dict[str, Upstream] = {}
    for word in text.split():
        label, equals, address = word.partition("=")
        name, *marks = label.split("+")
        if not equals or "/" in label or not address:
            shown = "an address with a password in it" if "@" in word else repr(word)
            raise InspectorError(
                f"{UPSTREAMS_VARIABLE}: {shown} does not name an upstream; "
                "write name=http://host:8000, with spaces between several"
            )
        if unknown := [mark for mark in marks if mark not in _MARKS]:
            raise InspectorError(
                f"{UPSTREAMS_VARIABLE}: {name} has the mark +{unknown[0]}; known are +ids and +insecure"
            )
        if name in found:
            raise InspectorError(f"{UPSTREAMS_VARIABLE}: {name} is named twice; give each its own name")
        try:
            server = Server(base_url=address, verify="insecure" not in marks)
            found[name] = Upstream(name=name, server=server, add_token_ids="ids" in marks)
        except AddressInvalid as error:
            raise InspectorError(f"{UPSTREAMS_VARIABLE}: {error.problem}") from error
        except InspectorError as error:
            raise InspectorError(f"{UPSTREAMS_VARIABLE}: {error}") from error
    return tuple(found.values())


@cache
def configured_upstreams() -> tuple[Upstream, ...]:
    """The upstreams of this process; InspectorError when the variable cannot be read."""
    return parse_upstreams(os.environ.get(UPSTREAMS_VARIABLE, ""))


class DashboardTap:
    """Taps beside a dashboard: its `middleware` and its `lifespan`; both do nothing without upstreams."""

    def __init__(self, upstreams: Sequence[Upstream], sink: Sink) -> None:
        self._taps = {one.name: Tap(one, sink) for one in upstreams}

    @property
    def middleware(self) -> list[Middleware]:
        """Middleware to put before all other."""
        return [Middleware(_Before, taps=self._taps)] if self._taps else []

    def stop(self) -> None:
        """Say that the program ends: what is cut from now on is not the clients' doing."""
        for tap in self._taps.values():
            tap.stop()

    @asynccontextmanager
    async def lifespan(self, _: object) -> AsyncIterator[None]:
        """Closes the connections to the upstreams when the dashboard ends."""
        yield
        for tap in self._taps.values():
            await tap.aclose()


class _Before:
    def __init__(self, app: ASGIApp, *, taps: Mapping[str, Tap]) -> None:
        self._app = app
        self._taps = taps

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope.get("path", "")
        if scope["type"] not in {"http", "websocket"} or not path.startswith(f"{PREFIX}/"):
            await self._app(scope, receive, send)
            return
        name = path.removeprefix(f"{PREFIX}/").partition("/")[0]
        tap = self._taps.get(name)
        if scope["type"] == "http" and _from_a_page(scope):
            answer = _refusal(403, "web pages may not use the tap on this port; `inspector tap` serves them")
            await answer(scope, receive, send)
        elif scope["type"] == "http" and tap is None:
            known = ", ".join(f"{PREFIX}/{one}/v1" for one in self._taps)
            await _refusal(404, f"no upstream has that name; there is {known}")(scope, receive, send)
        elif tap is not None:
            await tap({**scope, "root_path": f"{PREFIX}/{name}"}, receive, _without_ours(send))
        else:
            await send({"type": "websocket.close", "code": 1003})


def _from_a_page(scope: Scope) -> bool:
    """Whether a browser says that a page asks; one that a person opened in it is no page's request."""
    headers = scope["headers"]
    return bool(value(headers, b"origin")) or value(headers, b"sec-fetch-site") not in {"", "none"}


def _refusal(status: int, message: str) -> JSONResponse:
    error = {"message": message, "type": "TapError", "param": None, "code": status}
    return JSONResponse({"error": error}, status)


def _without_ours(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            kept = [pair for pair in message["headers"] if pair[0].lower() not in _ANSWERED_BY_US]
            message = {**message, "headers": kept}
        await send(message)

    return sent
