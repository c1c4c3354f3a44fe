"""A response as bytes with the times at which they are due, sent over ASGI.

Chunks that are due together are sent together. When the client leaves, sending stops.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from itertools import pairwise
from math import inf
from typing import Final, NamedTuple

from starlette.types import Receive, Scope, Send

from inspector.capture.capture import Event, EventKind
from inspector.net.playback.faults import Faults
from inspector.net.playback.reshape import at_event
from inspector.net.playback.served_response import ServedResponse
from inspector.protocol.wire.event_json import ids_of, payload

Clock = Callable[[], float]
Sleep = Callable[[float], Awaitable[None]]

_UNTIMED_GAP_S: Final = 0.02
"""Between the events of a capture that has no times (a `curl` dump)."""
_APART_S: Final = 0.002
"""Between chunks that the network must not join."""
_TOGETHER_BYTES: Final = 64 * 1024
"""Due chunks are sent as one up to this size, so that a fast replay does not pay for each event."""


class DueChunk(NamedTuple):
    """Bytes and when they are due, in seconds from the request."""

    due_s: float
    body: bytes


class Played(NamedTuple):
    """A whole response on the wire."""

    chunks: Sequence[DueChunk]
    cut: bool
    """The connection breaks after the last chunk."""


def event_bytes(event: Event) -> bytes:
    """One event as an event stream writes it; a body as it is."""
    match event.kind:
        case EventKind.BODY:
            return event.data.encode("utf-8", "surrogatepass")
        case EventKind.COMMENT:
            text = f": {event.data}\n\n"
        case _:
            name = f"event: {event.name}\n" if event.name else ""
            lines = event.data.split("\n") if "\n" in event.data else [event.data]
            text = name + "".join(f"data: {line}\n" for line in lines) + "\n"
    return text.encode("utf-8", "replace")


def due_times(events: Sequence[Event], *, speed: float, tokens_per_s: float | None) -> list[float]:
    """When each event is due, in seconds; never before the event that it follows.

    `speed` divides the recorded times (inf: all at once); `tokens_per_s` takes their place.
    """
    times: list[float] = []
    now_s, tokens = 0.0, 0
    for number, event in enumerate(events):
        if tokens_per_s is not None:
            now_s = tokens / tokens_per_s
            tokens += _tokens_in(event)
        elif speed != inf:
            at_s = number * _UNTIMED_GAP_S if event.at_s is None else event.at_s
            now_s = max(now_s, at_s / speed)
        times.append(now_s)
    return times


def _tokens_in(event: Event) -> int:
    """How many tokens an event brings; a delta counts as one where the stream has no token IDs."""
    chunk = payload(event)
    ids = ids_of(chunk)
    if ids or chunk is None:
        return len(ids)
    return int(str(chunk.get("type")).endswith(".delta"))


def paced(response: ServedResponse, faults: Faults, *, speed: float, tokens_per_s: float | None) -> Played:
    """The response's bytes, with the faults that concern time and bytes."""
    events = response.events
    times = due_times(events, speed=speed, tokens_per_s=tokens_per_s)
    if faults.stall is not None and events:
        place = at_event(faults.stall.event, events)
        times = [due + faults.stall.seconds if at >= place else due for at, due in enumerate(times)]
    chunks = [DueChunk(due, event_bytes(event)) for due, event in zip(times, events, strict=True)]
    cut = response.cut
    if faults.cut is not None:
        chunks, cut = chunks[: at_event(faults.cut, chunks)], True
    if faults.cut_inside is not None and chunks:
        place = at_event(faults.cut_inside, chunks)
        half = chunks[place].body[: len(chunks[place].body) // 2]
        chunks, cut = [*chunks[:place], chunks[place]._replace(body=half)], True
    if faults.split_bytes:
        chunks = [part for chunk in chunks for part in _split(chunk)]
    return Played(chunks, cut)


def _split(chunk: DueChunk) -> list[DueChunk]:
    """The chunk in parts that end inside its characters, or half way when it is ASCII."""
    body = chunk.body
    inside = [at + 1 for at, byte in enumerate(body) if byte >= 0xC0] or [len(body) // 2]
    spans = pairwise([0, *inside, len(body)])
    return [DueChunk(chunk.due_s + number * _APART_S, body[a:b]) for number, (a, b) in enumerate(spans)]


class PlayedResponse:
    """An ASGI response that sends each chunk when it is due; if `cut`, it never completes the response."""

    def __init__(
        self,
        played: Played,
        *,
        status: int,
        headers: Sequence[tuple[bytes, bytes]],
        clock: Clock,
        sleep: Sleep,
    ) -> None:
        self._played = played
        self._status = status
        self._headers = headers
        self._clock = clock
        self._sleep = sleep

    async def __call__(self, _: Scope, receive: Receive, send: Send) -> None:
        """Send, until the end or until the client leaves."""
        sending = asyncio.create_task(self._send(send))
        leaving = asyncio.create_task(_client_left(receive))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                sending.result()
        finally:
            for task in (sending, leaving):
                task.cancel()
            await asyncio.gather(sending, leaving, return_exceptions=True)

    async def _send(self, send: Send) -> None:
        begun_s = self._clock()
        rest = self._played.chunks
        # vLLM sends the status line of a stream at once, before the first token.
        await send({"type": "http.response.start", "status": self._status, "headers": list(self._headers)})
        at = 0
        while at < len(rest):
            wait_s = begun_s + rest[at].due_s - self._clock()
            if wait_s > 0:
                await self._sleep(wait_s)
            now_s = self._clock() - begun_s
            body = rest[at].body
            at += 1
            while at < len(rest) and rest[at].due_s <= now_s and len(body) < _TOGETHER_BYTES:
                body += rest[at].body
                at += 1
            await send({"type": "http.response.body", "body": body, "more_body": True})
        if not self._played.cut:
            await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _client_left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
