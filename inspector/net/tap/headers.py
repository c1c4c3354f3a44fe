"""Headers that a proxy forwards: all but the hop-by-hop ones (RFC 9110, section 7.6.1); none is added."""

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
    """The headers to forward, in their order."""
    named = {
        option.strip().lower()
        for name, options in headers
        if name.lower() == b"connection"
        for option in options.split(b",")
    }
    dropped = _HOP_BY_HOP | named | set(drop)
    return [(name, content) for name, content in headers if name.lower() not in dropped]


def header_value(headers: Headers, name: bytes) -> str:
    """A header's value; empty when there is none."""
    return next((content.decode("latin-1") for header, content in headers if header.lower() == name), "")


def readable_only(headers: Headers) -> list[tuple[bytes, bytes]]:
    """The headers with `Accept-Encoding` reduced to the codings that the recorder reads."""
    readable = {coding.strip() for coding in READABLE_CODINGS.split(",")} | {"identity", "*"}
    kept: list[tuple[bytes, bytes]] = []
    for name, content in headers:
        if name.lower() == b"accept-encoding":
            codings = [coding.strip() for coding in content.decode("latin-1").split(",")]
            able = [
                coding for coding in codings if coding.partition(";")[0].strip().lower() in readable - {"*"}
            ]
            kept.append((name, ", ".join(able or ["identity"]).encode("latin-1")))
        else:
            kept.append((name, content))
    return kept
