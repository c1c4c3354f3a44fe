"""Turns the bytes of one response, streamed or not, into events with arrival times, for a sink.

The clock is read once per chunk, as its events arrived together. Bytes that cannot be decoded or exceed a
bound end the recording with a sentence (`End.unread`); the stream itself goes on.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final, Protocol

from inspector.capture.bounds import EVENTS, LINES, RECORDED_BYTES
from inspector.capture.capture import ClosedBy, End, Event, EventKind, Header
from inspector.net.client.decoding import Decoder, Undecodable, decoder
from inspector.protocol.wire.endpoints import DONE, TERMINAL_TYPES
from inspector.protocol.wire.sse import SseDecoder, SseItem

BODY_LIMIT_BYTES: Final = 64 * 2**20
_LONG_BYTES: Final = 2**20
"""After events of more than this, a step ends, so that the sink can write them."""


class Sink(Protocol):
    """Where recorded responses go: a file, a registry of runs."""

    def opened(self, header: Header) -> str:
        """A response begins; its id for the calls that follow."""

    def event(self, run: str, event: Event, /) -> None:
        """An event arrived."""

    def ended(self, run: str, end: End, /) -> None:
        """The connection ended."""


class Recorder:
    """Records one response; calls of `close` after the first do nothing.

    `header` says what is known of the request. The sink is opened once the response's status is known, for an
    error status only at the end: then a response for which `unwanted(status, body)` is true never reaches the
    sink. With `keep_open` a cut does not end the recording, because the stream is going to be resumed by a
    second `response`.
    """

    def __init__(
        self,
        header: Header,
        sink: Sink,
        *,
        unwanted: Callable[[int, str], bool] = lambda _, __: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.keep_open = False
        self.run: str | None = None
        """The sink's id, once opened."""
        self.status: int | None = None
        self.body = ""
        """An error page or unstreamed response, once closed."""
        self.events = 0
        """Events sent on so far."""
        self.done = False
        """True once the stream said that it is complete."""
        self.closed = False
        self.unread = ""
        """Why the recording ends before the response does; empty when it holds all of it."""
        self._header = header
        self._sink = sink
        self._unwanted = unwanted
        self._clock = clock
        self._started_s = clock()
        self._sse: SseDecoder | None = None
        self._decoder = Decoder()
        self._raw: list[bytes] = []
        self._raw_bytes = 0
        self._lines = 0
        self._kept_bytes = 0

    def response(self, status: int, headers: Mapping[str, str]) -> None:
        """Status line and headers arrived; a second response continues the first."""
        lower = {name.lower(): value for name, value in headers.items()}
        self.status = status
        try:
            self._decoder = decoder(lower.get("content-encoding", ""))
        except Undecodable as error:
            self._stop(f"The response is not readable here: {error}.")
        streams = lower.get("content-type", "").lower().startswith("text/event-stream")
        self._sse = SseDecoder() if streams else None
        if status < 400:
            self._open()

    def chunk(self, raw: bytes) -> None:
        """A chunk of the body arrived."""
        for _ in self.steps(raw):
            pass

    def steps(self, raw: bytes) -> Iterator[None]:
        """Like `chunk`, in steps of bounded work; the next chunk must wait for the last of them."""
        if self.closed or self.unread:
            return
        at_s = self._clock() - self._started_s
        try:
            for number, plain in enumerate(self._decoder.receive(raw)):
                if number:
                    yield
                sent = self._kept_bytes
                self._take(plain, at_s)
                if self.unread:
                    return
                if self._kept_bytes - sent > _LONG_BYTES:  # the sink writes it before anything else is done
                    yield
        except Undecodable as error:
            self._stop(f"The response is not readable here to its end: {error}.")

    def _take(self, plain: bytes, at_s: float) -> None:
        if self._sse is not None:
            self._lines += plain.count(b"\n") or plain.count(b"\r")
            if self._lines > LINES:
                self._stop(f"The response has more than {LINES:,} lines, the most that is recorded.")
                return
            self._items(self._sse.receive(plain), at_s)
            return
        self._raw.append(plain)
        self._raw_bytes += len(plain)
        if self._raw_bytes > BODY_LIMIT_BYTES:
            self._stop(
                f"The response is longer than {BODY_LIMIT_BYTES // 2**20} MiB, the most that is recorded."
            )

    def _stop(self, sentence: str) -> None:
        self.unread = self.unread or sentence
        self._sse = None
        self._raw.clear()

    def close(self, detail: str = "", *, stopped: bool = False, closed_by: ClosedBy | None = None) -> None:
        """The body ended; `detail` says what cut it, empty if it is complete; `stopped` if the user did."""
        if self.closed:
            return
        at_s = self._clock() - self._started_s
        if self._sse is not None:
            self._items(self._sse.close(), at_s)
        if self.keep_open and not self.done:
            return
        self.closed = True
        self.body = b"".join(self._raw).decode("utf-8", "replace")
        self._raw.clear()
        if self.status is not None and self.status >= 400 and self._unwanted(self.status, self.body):
            return
        run = self._open()
        if self.body:
            self._send(run, Event(self.body, at_s, "", EventKind.BODY))
        # What follows [DONE] is of no interest to clients: they close, and that is a proper end.
        cut = bool(detail) and not self.done
        end = End(
            at_s=at_s,
            cut=cut,
            detail=detail if cut else "",
            unread=self.unread,
            stopped=cut and stopped,
            closed_by=closed_by if cut else None,
        )
        self._sink.ended(run, end)

    def _open(self) -> str:
        if self.run is None:
            self.run = self._sink.opened(replace(self._header, status=self.status))
        return self.run

    def _items(self, items: Iterable[SseItem], at_s: float) -> None:
        run = self._open()
        for item in items:
            kind = EventKind.COMMENT if item.comment else EventKind.SSE
            if item.data == DONE or item.name in TERMINAL_TYPES:
                self.done = True
            self._kept_bytes += _stored_size(item.data)
            if self.events >= EVENTS or self._kept_bytes > RECORDED_BYTES:
                limit = f"{EVENTS:,} events" if self.events >= EVENTS else f"{RECORDED_BYTES // 2**20} MiB"
                self._stop(f"The response has more than {limit}, the most that is recorded.")
                return
            self._send(run, Event(item.data, at_s, item.name, kind))

    def _send(self, run: str, event: Event) -> None:
        self.events += 1
        self._sink.event(run, event)


def _stored_size(data: str) -> int:
    """Bytes that an event takes in a file, or a few more: JSON in JSON has its quotes escaped."""
    if data.isascii() and data.isprintable():
        return len(data) + data.count('"') + data.count("\\")
    return 6 * len(data)
