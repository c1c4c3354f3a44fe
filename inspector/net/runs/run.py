"""One live run: a request, its growing capture, and its readers.

One thread appends events; pages and feeds read in others. State that grows is read under `lock`; what leaves
the lock is a copy. A run outlives its readers.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from statistics import median
from threading import Event as Flag
from threading import Lock
from typing import Final, NamedTuple

from inspector.analysis.metrics import quantile
from inspector.analysis.reading import Reader, Reading
from inspector.capture.capture import Capture, End, Event, Header
from inspector.files.recording import Memory, Recording, Unwritten, unwritten_in_memory
from inspector.inspection.inspection import Examined, examine
from inspector.net.client.outcome import OutcomeKind, RequestOutcome
from inspector.net.runs.event_log import PackedEvents
from inspector.views.payload import Pipeline
from inspector.views.strip import picture

TAIL: Final = 3000
"""Characters of a field that are kept in memory while it grows."""

_GAPS_KEPT: Final = 2048
"""Events whose times are kept: those of the gaps and of the rate."""
_RATE_OVER_S: Final = 2.0
"""The rate is that of the last seconds."""


class RunState(StrEnum):
    """The state of a run; it only moves forward."""

    WAITING = "waiting for the response"
    STREAMING = "streaming"
    ENDED = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Metrics of a run so far, cheap enough to compute many times a second; times in seconds."""

    tokens: int
    events: int
    tokens_per_s: float | None
    """Over the last two seconds with tokens, or the whole run once it has ended."""
    first_token_s: float | None
    last_token_s: float | None
    gap_p50_s: float | None
    """Between events with tokens, over the last 2,048 of them."""
    gap_p95_s: float | None


class FieldText(NamedTuple):
    """What was delivered in one field so far."""

    field: str
    tail: str
    """The end of its text, `TAIL` characters at most."""
    length: int
    """Characters in all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The result of an audit of the run so far."""

    events: int
    """Events that were audited, at least."""
    tokens: int
    """Tokens that were audited."""
    examined: Examined
    """The reading at that moment, with its findings and its verdict."""
    picture: Pipeline
    """The picture of the run, see `strip.picture`."""
    cost_s: float
    final: bool
    """True if the run had ended."""


class Wakeup:
    """Wakes one reader when its run has grown; made in the reader's own event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()
        self._notified = False

    def tell(self) -> None:
        """The run has grown; called from any thread."""
        if not self._notified:
            self._notified = True
            try:
                self._loop.call_soon_threadsafe(self._changed.set)
            except RuntimeError:  # the reader's loop has closed: it reads no more
                return

    async def changed(self, timeout_s: float) -> bool:
        """Wait for growth; False when none came within the time."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._changed.wait()
        except TimeoutError:
            return False
        self._changed.clear()
        self._notified = False
        return True


class LiveRun:
    """One live run. `path` is its capture file, None when it is kept in memory only."""

    def __init__(self, name: str, header: Header, *, path: Path | None, address: str = "") -> None:
        self.id = name
        self.header = header
        self.path = path
        self.address = address
        self.state = RunState.WAITING
        self.outcome = RequestOutcome()
        self.end: End | None = None
        self.own = True
        """False for a request of another client through the tap: only that client can stop it."""
        self.pair: str | None = None
        """ID of the run with the ground truth of the same request."""
        self.lock = Lock()
        self.events = PackedEvents()
        self.characters = 0
        """Of all events."""
        self.look: Look | None = None
        self.ended = Flag()
        self.reader: Future[None] = Future()
        """Done once somebody reads the run as it grows."""
        self.stop: Callable[[], None] = lambda: None
        """Ends the request; does nothing for a request of another client."""
        self.again: Callable[[], LiveRun] | None = None
        """Sends the same request again; None for a request of another client."""
        self._reader = Reader(header, events=self.events)
        self._file: Recording | None = None
        self._watches: list[Wakeup] = []
        self._carriers: deque[tuple[float, int]] = deque(maxlen=_GAPS_KEPT)
        self._first_s: float | None = None
        self._count = 0
        self._heard_at = time.monotonic()
        self._texts: dict[str, FieldText] = {}
        self._folded = 0
        """Deltas of the first choice that `_texts` has."""

    # --- the side that receives ---

    def opened(self, header: Header) -> None:
        """The response begins: its file is opened, and the header replaced."""
        with self.lock:
            self.header = header
            self._reader = Reader(header, events=self.events)
            self._texts, self._folded = {}, 0
            self.state = RunState.STREAMING
            if self.path is not None:
                # All events are in memory anyway.
                self._file = Recording(self.path, header, memory=Memory(0), makes_folder=True)
        self._tell()

    def event(self, event: Event) -> None:
        """An event arrived: it is written to the file, then shown to readers."""
        if self._file is not None:
            self._file.write((event,))
        self.characters += len(event.data) + len(event.name)
        with self.lock:
            self._heard_at = time.monotonic()
            self._reader.receive((event,))
            if event.at_s is not None:
                self._time(event.at_s)
        self._tell()

    def closed(self, end: End) -> None:
        """The connection ended; the file is complete after this."""
        if self._file is not None:
            self._file.end(end)
        with self.lock:
            self.end = end
        self._tell()

    def finish(self, outcome: RequestOutcome) -> None:
        """The run has ended."""
        if self.end is None:
            if self.state is RunState.WAITING:
                self.opened(self.header)
            detail = outcome.failure or "it never started"
            stopped = outcome.kind is OutcomeKind.STOPPED_BY_USER
            self.closed(End(at_s=None, cut=True, detail=detail, stopped=stopped))
        with self.lock:
            self.outcome = outcome
            self.state = RunState.ENDED
        self.ended.set()
        self._tell()

    def _time(self, at_s: float) -> None:
        choices = self._reader.stream.choices
        count = sum(len(choice.tokens) or len(choice.logprob_tokens) for choice in choices.values())
        if count > self._count:
            self._first_s = at_s if self._first_s is None else self._first_s
            self._count = count
            if self._carriers and self._carriers[-1][0] == at_s:
                self._carriers[-1] = (at_s, count)
            else:
                self._carriers.append((at_s, count))

    def _tell(self) -> None:
        for watch in tuple(self._watches):
            watch.tell()

    # --- the side that reads ---

    def watch(self) -> Wakeup:
        """A wake-up for a reader in the running event loop; call `unwatch` when it stops reading."""
        watch = Wakeup()
        self._watches.append(watch)
        if not self.reader.done():
            self.reader.set_result(None)
        return watch

    def unwatch(self, watch: Wakeup) -> None:
        """The reader stops reading."""
        self._watches.remove(watch)

    @property
    def watched(self) -> int:
        """The number of readers."""
        return len(self._watches)

    def live(self) -> Reading:
        """The growing reading; use it only under `lock`."""
        return self._reader.reading()

    def reading(self) -> Reading:
        """A copy of the reading so far."""
        with self.lock:
            ended = self.state is RunState.ENDED
            reading = self._reader.reading(end=self.end, ended=ended)
            return reading if ended else reading.apart()

    @property
    def trouble(self) -> str:
        """Why the capture on disk is incomplete; empty if it is complete."""
        error = None if self._file is None else self._file.error
        return "" if error is None else str(error)

    def recorded(self) -> Path | Unwritten | None:
        """The file of an ended run, or what the disk did not take; None for a run in memory only."""
        if self._file is None:
            return None
        if self._file.error is None:
            return self._file.path
        return unwritten_in_memory(
            self._file.error, self._file.path, self.capture, characters=self.characters
        )

    def capture(self) -> Capture:
        """The capture so far."""
        with self.lock:
            return Capture(header=self.header, events=list(self.events), end=self.end)

    def texts(self) -> list[FieldText]:
        """What was delivered in the first choice, by field in order of appearance; reads only new deltas."""
        with self.lock:
            choice = self._reader.stream.choices.get(0)
            deltas = [] if choice is None else choice.deltas
            pieces: dict[str, list[str]] = {}
            for _, field, text in deltas[self._folded :]:
                pieces.setdefault(field, []).append(text)
            self._folded = len(deltas)
            for field, texts in pieces.items():
                new = "".join(texts)
                _, tail, length = self._texts.get(field, FieldText(field, "", 0))
                self._texts[field] = FieldText(field, (tail + new)[-TAIL:], length + len(new))
            return list(self._texts.values())

    def silence_s(self) -> float:
        """Seconds since the last event, or since the request while there is none; 0 once it has ended."""
        return 0.0 if self.state is RunState.ENDED else time.monotonic() - self._heard_at

    def pace(self) -> Pace:
        """The metrics so far."""
        with self.lock:
            carriers = list(self._carriers)
            count, first_s, ended = self._count, self._first_s, self.state is RunState.ENDED
        gaps = [later - earlier for (earlier, _), (later, _) in pairwise(carriers)]
        last_s = carriers[-1][0] if carriers else None
        since = 0.0 if ended or last_s is None else last_s - _RATE_OVER_S
        window = [carrier for carrier in carriers if carrier[0] >= since]
        span = window[-1][0] - window[0][0] if window else 0.0
        return Pace(
            tokens=count,
            events=len(self.events),
            tokens_per_s=(window[-1][1] - window[0][1]) / span if span > 0 else None,
            first_token_s=first_s,
            last_token_s=last_s,
            gap_p50_s=median(gaps) if gaps else None,
            gap_p95_s=quantile(gaps, 0.95) if gaps else None,
        )

    def audit(self) -> Look:
        """Audit the run so far; its duration grows with the run, so `registry` decides how often."""
        started, events = time.perf_counter(), len(self.events)
        reading = self.reading()
        examined = examine(reading)
        look = Look(
            events=events,
            tokens=len(reading.choice.tokens),
            examined=examined,
            picture=picture(examined, reading.choice),
            cost_s=time.perf_counter() - started,
            final=reading.ended,
        )
        self.look = look
        self._tell()
        return look
