"""Redirects are followed within the host, and raise elsewhere, because keys would be sent there too.

httpx drops `Authorization` for another host, but not `X-Api-Key` and the like; bodies hold prompts.
"""

from collections.abc import Callable
from typing import Any, Final

import httpx

from inspector.net.client.address import Server

_WITHOUT_BODY: Final = frozenset((301, 302, 303))
"""Status codes after which a POST is repeated as a GET; 307 and 308 keep method and body."""
_PORTS: Final = {"http": 80, "https": 443}


class Redirected(httpx.TransportError):
    """A server redirects to another address; the text is a sentence for users."""


def is_redirect(response: httpx.Response) -> bool:
    """True for a response that only names another address."""
    return response.has_redirect_location


def within_host(server: Server) -> dict[str, list[Callable[..., Any]]]:
    """Event hooks for an async httpx client that follows redirects; they raise as `checked` does."""

    async def check(response: httpx.Response) -> None:
        checked(response, server)

    return {"response": [check]}


def checked(response: httpx.Response, server: Server) -> None:
    """Raise Redirected where a response leads away from the host."""
    if not is_redirect(response):
        return
    try:
        target = response.request.url.join(response.headers["location"])
    except (httpx.InvalidURL, ValueError) as error:
        raise Redirected(f"{server.root} redirects to an invalid address") from error
    origin = response.request.url
    same_origin = (target.scheme, _port(target)) == (origin.scheme, _port(origin))
    upgraded = (origin.scheme, target.scheme) == ("http", "https")
    if target.raw_host != origin.raw_host or not (same_origin or upgraded):
        raise Redirected(
            f"{server.root} redirects to another address ({_address(target)}), and keys must not go there; "
            "if you trust it, use it as the base URL"
        )

    if response.request.method == "POST" and response.status_code in _WITHOUT_BODY:
        raise Redirected(
            f"{server.root} redirects with HTTP {response.status_code}, after which clients send no request "
            f"body; use the address it redirects to ({_address(target)}) as the base URL"
        )


def _address(url: httpx.URL) -> str:
    return f"{url.scheme}://{url.netloc.decode('ascii', 'replace')}"


def _port(url: httpx.URL) -> int | None:
    return url.port or _PORTS.get(url.scheme)
