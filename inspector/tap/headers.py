"""Which headers cross a proxy, and which values of a request must not be stored.

Hop-by-hop headers: RFC 9110, section 7.6.1. No header is added: an upstream sees what the client sent.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from inspector.client.decoding import READABLE_CODINGS

__all__ = ["Headers", "end_to_end", "readable_only", "secrets_of", "value"]

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
_SECRET: Final = ("auth", "cookie", "credential", "key", "passw", "secret", "session", "signature", "token")
_SHORTEST: Final = 8
"""Shorter values (`EMPTY`) are no keys, and replacing them would change what the model said."""


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


def secrets_of(headers: Headers, body: object, redacted: object) -> list[str]:
    """Values that must not stand in a capture even when the server repeats them, the longest first.

    Those of headers that carry keys, and what redaction took out of the body.
    """
    found: set[str] = set()
    for name, content in headers:
        if any(sign in name.decode("latin-1").lower() for sign in _SECRET):
            whole = content.decode("latin-1")
            found.update({whole, whole.partition(" ")[2]})
            found.update(part.partition("=")[2].strip() for part in whole.split(";"))
    found.update(_removed(body, redacted))
    return sorted((one for one in found if len(one) >= _SHORTEST), key=len, reverse=True)


def _removed(body: object, redacted: object) -> set[str]:
    removed: set[str] = set()
    pending: list[tuple[Any, Any]] = [(body, redacted)]
    while pending:
        before, after = pending.pop()
        if isinstance(before, Mapping):
            kept = after if isinstance(after, Mapping) else {}
            pending.extend((one, kept.get(key)) for key, one in before.items())
        elif isinstance(before, list):
            others = after if isinstance(after, list) and len(after) == len(before) else [None] * len(before)
            pending.extend(zip(before, others, strict=True))
        elif isinstance(before, str) and before != after:
            removed.update({before, before.partition(" ")[2]})
    return removed
