"""The bytes of one answer to events with arrival times, sent on to a sink as they come.

Knows HTTP's content codings and the difference between an event stream and a whole body; knows
nothing of sockets. The clock is read once for each chunk, as its events arrived together.
"""

import time
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final, Protocol

from inspector.capture import End, Event, EventKind, Header
from inspector.wire.endpoints import DONE, TERMINAL_TYPES
from inspector.wire.sse import SseDecoder, SseItem

__all__ = ["READABLE_CODINGS", "Recorder", "Sink"]

READABLE_CODINGS: Final = "gzip, deflate"
"""What a recorded request may accept: codings that the recorder reads too."""

BODY_LIMIT_BYTES: Final = 64 * 2**20


class Sink(Protocol):
    """Where recorded answers go: a file, a registry of runs."""

    def opened(self, header: Header) -> str:
        """An answer begins; its id for the calls that follow."""

    def event(self, run: str, event: Event, /) -> None:
        """One event came."""

    def ended(self, run: str, end: End, /) -> None:
        """The connection ended."""


class Recorder:
    """Records one answer; calls of `close` after the first do nothing.

    `header` says what is known of the request. The sink is opened with the answer's status once that is
    known, for an error status only at the end: an answer for which `unwanted(status, body)` is true then
    never reaches the sink. With `keep_open` a cut does not end the recording, as the stream is going to
    be taken up again by a second `response`.
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
        """An error page or unstreamed answer, once closed."""
        self.events = 0
        """Events sent on so far."""
        self.done = False
        """True once the stream said that it is complete."""
        self.closed = False
        self._header = header
        self._sink = sink
        self._unwanted = unwanted
        self._clock = clock
        self._started_s = clock()
        self._sse: SseDecoder | None = None
        self._coding: zlib._Decompress | None = None
        self._raw: list[bytes] = []
        self._raw_bytes = 0

    def response(self, status: int, headers: Mapping[str, str]) -> None:
        """The answer's status line and headers came; a second answer continues the first."""
        lower = {name.lower(): value for name, value in headers.items()}
        self.status = status
        coding = lower.get("content-encoding", "identity").strip().lower()
        # 32: a gzip or a zlib header, whichever the body has (zlib manual, inflateInit2).
        self._coding = zlib.decompressobj(wbits=47) if coding in {"gzip", "x-gzip", "deflate"} else None
        streams = lower.get("content-type", "").lower().startswith("text/event-stream")
        self._sse = SseDecoder() if streams else None
        if status < 400:
            self._open()

    def chunk(self, raw: bytes) -> None:
        """Some bytes of the body came."""
        if self.closed:
            return
        at_s = self._clock() - self._started_s
        plain = raw
        if self._coding is not None:
            try:
                plain = self._coding.decompress(raw)
            except zlib.error:
                # Not coded as its header says: the bytes are the evidence, so they are read as they are.
                self._coding = None
        if self._sse is not None:
            self._items(self._sse.receive(plain), at_s)
        elif self._raw_bytes < BODY_LIMIT_BYTES:
            self._raw.append(plain)
            self._raw_bytes += len(plain)

    def close(self, detail: str = "") -> None:
        """The body ended: properly, or with `detail`, the words for what cut it."""
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
        self._sink.ended(run, End(at_s=at_s, cut=cut, detail=detail if cut else ""))

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
            self._send(run, Event(item.data, at_s, item.name, kind))

    def _send(self, run: str, event: Event) -> None:
        self.events += 1
        self._sink.event(run, event)
