"""Chunks of a response as they arrive, with their times; those that wait are handed on together.

A server sends a chunk an event. A client that is slower than the server, or a network that joins
chunks, leaves several to be passed on: one write for all of them is what keeps the tap fast. At most
`WAITING` chunks wait, then nothing more is read.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterable, Iterable, Sequence
from typing import Final, NamedTuple

__all__ = ["WAITING", "Arrival", "arriving", "together"]

WAITING: Final = 64
"""Most chunks read ahead of the client; one is at most what a single read brings, 64 KiB."""

_ONE_READ_S: Final = 0.0005
"""Chunks that are parsed within this time came in one read of the network."""


class Arrival(NamedTuple):
    """Some bytes and when they came, in seconds of the monotonic clock."""

    chunk: bytes
    at_s: float


async def arriving(stream: AsyncIterable[bytes]) -> AsyncGenerator[Sequence[Arrival], None]:
    """All that has arrived, as soon as something has; raises what reading the stream raises.

    Close it (`contextlib.aclosing`) when leaving it early: it reads ahead.
    """
    waiting: asyncio.Queue[Arrival | None] = asyncio.Queue(WAITING)

    async def read() -> None:
        try:
            async for chunk in stream:
                await waiting.put(Arrival(chunk, time.monotonic()))
        except Exception:
            await waiting.put(None)
            raise
        await waiting.put(None)

    reading = asyncio.create_task(read())
    try:
        ended = False
        while not ended:
            arrivals: list[Arrival] = []
            arrival = await waiting.get()
            while arrival is not None:
                arrivals.append(arrival)
                if waiting.empty():
                    break
                arrival = waiting.get_nowait()
            ended = arrival is None
            if arrivals:
                yield arrivals
        await reading
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)


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
