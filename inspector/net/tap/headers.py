"""Which headers cross a proxy.

Hop-by-hop headers: RFC 9110, section 7.6.1. No header is added: an upstream sees what the client sent.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from inspector.net.client.decoding import READABLE_CODINGS

Headers = Sequence[tuple[bytes, bytes]]

_HOP_BY_HOP: Final = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)


def end_to_end(headers: Headers, *, drop: Iterable[bytes] = ()) -> list[tuple[bytes, bytes]]:
    """The headers that are not for one connection only, in their order."""
    named = {
        one.strip().lower()
        for name, listed in headers
        if name.lower() == b"connection"
        for one in listed.split(b",")
    }
    dropped = _HOP_BY_HOP | named | set(drop)
    return [(name, content) for name, content in headers if name.lower() not in dropped]


def value(headers: Headers, name: bytes) -> str:
    """A header's value; empty when there is none."""
    return next((content.decode("latin-1") for one, content in headers if one.lower() == name), "")


def readable_only(headers: Headers) -> list[tuple[bytes, bytes]]:
    """The same headers, accepting only content codings that the recorder reads; none more than before."""
    readable = {coding.strip() for coding in READABLE_CODINGS.split(",")} | {"identity", "*"}
    kept: list[tuple[bytes, bytes]] = []
    for name, content in headers:
        if name.lower() == b"accept-encoding":
            asked = [one.strip() for one in content.decode("latin-1").split(",")]
            able = [one for one in asked if one.partition(";")[0].strip().lower() in readable - {"*"}]
            kept.append((name, ", ".join(able or ["identity"]).encode("latin-1")))
        else:
            kept.append((name, content))
    return kept
