"""Chunks of a response as they arrive, with their times.

A server sends a chunk an event. A client that is slower than the server, or a network that joins
chunks, leaves several to be passed on: one write for all of them is what keeps the tap fast.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

_ONE_READ_S: Final = 0.0005
"""Chunks that are parsed within this time came in one read of the network."""


class Arrival(NamedTuple):
    """Some bytes and when they came, in seconds of the monotonic clock."""

    chunk: bytes
    at_s: float


def together(arrivals: Iterable[Arrival]) -> list[Arrival]:
    """The same bytes, joined where they came in one read."""
    joined: list[Arrival] = []
    parts: list[bytes] = []
    first_s = 0.0
    for chunk, at_s in arrivals:
        if parts and at_s - first_s > _ONE_READ_S:
            joined.append(Arrival(b"".join(parts), first_s))
            parts = []
        if not parts:
            first_s = at_s
        parts.append(chunk)
    return [*joined, Arrival(b"".join(parts), first_s)] if parts else joined
