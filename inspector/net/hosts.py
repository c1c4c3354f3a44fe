"""Only hosts that the operator allowed are answered; a request for another `Host` gets a 403, nothing else.

A web page of any name can have that name resolve to 127.0.0.1 (DNS rebinding). Its requests are then
same-origin for the browser, so no `Origin` and no CORS rule stops them; the `Host` header still shows the
page's name. A numeric address needs no name, so it cannot be rebound.

Starlette's TrustedHostMiddleware compares names too, but its response cannot name the setting that allows a
host, and it does not know the address on which a request arrived.
"""

import asyncio
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from ipaddress import ip_address
from typing import Final

from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from inspector.capture.formats import clip

HOSTS_VARIABLE: Final = "HARMONY_INSPECTOR_HOSTS"
"""Environment variable with further host names, separated by spaces; `*.example.com` allows subdomains."""

_LOOPBACK: Final = frozenset(("localhost", "127.0.0.1", "::1"))
_HOST: Final = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^\s:/@?#\[\]\\]+))(?::[0-9]{1,5})?")
_NAME_AT_MOST: Final = 80
_BODY_AT_MOST: Final = 2**20
_BODY_WITHIN_S: Final = 1.0


class TrustedHosts:
    """ASGI middleware that answers only to loopback names, the bound address, and names that were allowed.

    `bound` are the addresses that the server listens on; a wildcard (`0.0.0.0`, `::`, or an empty one) admits
    every numeric address. `also` adds names to those in `HARMONY_INSPECTOR_HOSTS`; `setting` is the option
    that the 403 names.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        bound: Iterable[str] = (),
        also: Iterable[str] = (),
        setting: str = f"{HOSTS_VARIABLE}=",
    ) -> None:
        self._app = app
        bound = list(bound)
        names = [*bound, *filter(None, also), *os.environ.get(HOSTS_VARIABLE, "").split()]
        self._names = _LOOPBACK | {_plain(name) for name in names if not _everywhere(name)}
        self._under = tuple(name[1:] for name in self._names if name.startswith("*."))
        self._any_address = any(_everywhere(name) for name in bound)
        self._setting = setting

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or respond with 403."""
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        host_headers = [content for name, content in scope["headers"] if name.lower() == b"host"]
        host = host_headers[0].decode("latin-1") if len(host_headers) == 1 else ""
        if self._allows(host, scope):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket" and "websocket.http.response" not in scope.get("extensions", {}):
            await send({"type": "websocket.close", "code": 1008})
        else:
            headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
            await refuse(PlainTextResponse(self._refusal(host), 403, headers), scope, receive, send)

    def _allows(self, host_header: str, scope: Scope) -> bool:
        match = _HOST.fullmatch(host_header.lower())
        if match is None:
            return False
        host = _plain(match[1] or match[2])
        if host in self._names or host.endswith(self._under):
            return True
        if not _is_address(host):
            return False
        arrived = scope.get("server")
        return self._any_address or (arrived is not None and host == _plain(str(arrived[0])))

    def _refusal(self, host_header: str) -> str:
        match = _HOST.fullmatch(host_header.lower())
        name = match[1] or match[2] if match else ""
        client_host = (
            f"the host {clip(name, _NAME_AT_MOST)!a}" if name else "a request without one valid Host header"
        )
        value = name if name.isascii() and name.isprintable() and 0 < len(name) <= _NAME_AT_MOST else "NAME"
        return (
            f"This server does not answer to {client_host}. If a reverse proxy or another machine uses "
            f"that name, start the program with {self._setting}{value}\n"
        )


async def refuse(response: Response, scope: Scope, receive: Receive, send: Send) -> None:
    """Send a response to a request whose body is not used.

    The body is read first, as far as it comes at once: a server that closes a connection with unread bytes
    resets it, and the client may lose the response.
    """
    size, more = 0, scope["type"] == "http"
    with suppress(TimeoutError):
        async with asyncio.timeout(_BODY_WITHIN_S):
            while more and size < _BODY_AT_MOST:
                message = await receive()
                size += len(message.get("body", b""))
                more = message["type"] == "http.request" and message.get("more_body", False)
    await response(scope, receive, send)


def trusted_hosts(*, bound: Iterable[str], also: Iterable[str] = ()) -> list[Middleware]:
    """The check as middleware; put it before all other."""
    return [Middleware(TrustedHosts, bound=list(bound), also=list(also))]


def _plain(host: str) -> str:
    """A host name or address in one spelling."""
    host = host.strip().lower().removeprefix("[").removesuffix("]").removesuffix(".")
    try:
        return str(ip_address(host.partition("%")[0]))
    except ValueError:
        return host


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _everywhere(bound: str) -> bool:
    """Whether a server bound to it listens on all addresses of the machine."""
    return _plain(bound) in {"", "0.0.0.0", "::"}  # noqa: S104 -- compared, not bound
