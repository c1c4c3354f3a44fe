"""The load: workers in a closed loop, arrivals at a rate, or levels of workers one after the other.

Requests run in one event loop. Each response goes to a thread that audits it and writes its row, through a
queue with a bound: where audits fall behind, workers wait, so that memory does not grow with the run.
"""

import asyncio
import random
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack, suppress
from typing import Final, NamedTuple

import httpx

from inspector.capture.errors import InspectorError
from inspector.fleet.probe.judging import Result, Row, judged
from inspector.fleet.probe.loads import Budget, Load, Progress, Sweep, levels_of
from inspector.fleet.probe.mix import Ask, Mix
from inspector.fleet.probe.sending import BUSY, Gate, Sender, Sent, Side
from inspector.fleet.probe.shelf import ProbeShelf

REQUESTS_AT_MOST: Final = 1_000_000
TRIES: Final = 5
"""How often a request is sent that a busy server defers; the last answer counts."""

_PACE_OVER_S: Final = 10.0
_ROOM: Final = 64
_AUDITED_SLOWLY: Final = 0.1
"""From this share of the workers' time on that they waited for audits, the result says so."""


class _Pending(NamedTuple):
    """A response that waits for its audit."""

    ask: Ask
    number: int
    side: Side
    level: int
    started_s: float
    in_flight: int
    deferred: int
    sent: Sent


class Probe:
    """One run; `rows` grows while it goes on and may be read from any thread.

    With `shelf` rows and captures are written to its folder, and those that are there are not asked again.
    """

    def __init__(
        self,
        sides: Sequence[Side],
        mix: Mix,
        load: Load,
        budget: Budget,
        *,
        sweep: Sweep | None = None,
        shelf: ProbeShelf | None = None,
        inner: Callable[[Side], httpx.AsyncBaseTransport | None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
        warm_up: int = 0,
        seed: int = 0,
    ) -> None:
        if sweep is None and budget == Budget():
            raise InspectorError("nothing ends this run; set --requests, --repeat or --budget")
        self.sides = tuple(sides)
        self.mix = mix
        self.load = load
        self.budget = budget
        self.sweep = sweep
        self.shelf = shelf
        self.rows: list[Row] = [] if shelf is None else list(shelf.rows)
        self.stopped = False
        """True when it was ended before its budget was."""
        self.trouble = ""
        """Why it ended early by itself; empty otherwise."""
        self.notes: list[str] = []
        self.level = 0
        self.ended = False
        self._warm_up = warm_up
        self._inner = inner
        self._clock = clock
        self._seed = seed
        self._begun = len(self.rows)
        self._done = {(row.level, row.number, row.side) for row in self.rows}
        self._tokens = sum(row.judged.tokens for row in self.rows)
        self._gates = {side.name: Gate(clock) for side in self.sides}
        self._in_flight = 0
        self._held_s = 0.0
        self._ends: deque[float] = deque()
        self._started = clock()
        self._ended_s: float | None = None
        self._before_s = max(
            (row.started_s + (row.judged.duration_s or 0.0) for row in self.rows), default=0.0
        )
        self._senders: dict[str, Sender] = {}
        self._queue: asyncio.Queue[_Pending | None] = asyncio.Queue()
        self._room = asyncio.Semaphore(_ROOM)
        self._by_level: defaultdict[int, list[Row]] = defaultdict(list)
        for row in self.rows:
            self._by_level[row.level].append(row)
        self._task: asyncio.Task[None] | None = None

    def stop(self) -> None:
        """End it: requests in flight are dropped, what has ended stays. From the loop's own thread."""
        if self._task is not None:
            self._task.cancel()

    async def run(self) -> None:
        """Send requests until the budget is used up, the answer is certain, or it is stopped."""
        self._task = asyncio.current_task()
        self._started = self._clock()
        most = self.sweep.limit if self.sweep is not None else self.load.concurrency
        self._room = asyncio.Semaphore(4 * most + _ROOM)
        auditor = asyncio.create_task(self._audit())
        try:
            async with AsyncExitStack() as stack:
                for side in self.sides:
                    sender = Sender(side, connections=most, inner=self._inner(side), clock=self._clock)
                    self._senders[side.name] = await stack.enter_async_context(sender)
                sending = asyncio.create_task(self._send_all())
                try:
                    await asyncio.wait({sending, auditor}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    sending.cancel()
                    with suppress(asyncio.CancelledError):
                        await sending
        except asyncio.CancelledError:
            self.stopped = True
        finally:
            self._queue.put_nowait(None)  # what waits for the auditor is still audited
            with suppress(asyncio.CancelledError):
                await self._rest(auditor)
            self._ended_s = self._clock() - self._started
            self.ended = True
            if self.shelf is not None:
                self.shelf.close()
            if self._held_s > _AUDITED_SLOWLY * most * len(self.sides) * self._ended_s:
                self.notes.append(
                    "Audits on this machine fell behind, so fewer requests were in flight than asked for; "
                    "the table by streams at once has those that were."
                )
            for name, sender in self._senders.items():
                if sender.without_evidence:
                    which = f"Server {name}" if name else "The server"
                    self.notes.append(
                        f"{which} rejected the key that asks for token IDs, so losses show less."
                    )

    async def _rest(self, auditor: "asyncio.Task[None]") -> None:
        """Wait for the audits that are due, also when this task is being cancelled."""
        try:
            await asyncio.shield(auditor)
        except InspectorError as error:
            self.trouble = str(error)
        except asyncio.CancelledError:
            self.stopped = True
            auditor.cancel()
            raise

    # --- sending ---

    async def _send_all(self) -> None:
        for number in range(self._warm_up):  # a server's first requests meet cold caches
            await asyncio.gather(*(sender.send(self.mix.ask(number)) for sender in self._senders.values()))
        if self.sweep is None:
            await self._level(
                0 if self.load.rate else self.load.concurrency, self.budget.requests, lambda: False
            )
            return
        clean, losing = 0, 0
        for level in levels_of(self.sweep):
            if await self._loses(self.sweep, level):
                losing = level
                break
            clean = level
            if self._over():
                return
        while losing - clean > max(1, clean // 4) and not self._over():  # halve the step that was too wide
            middle = (clean + losing) // 2
            if await self._loses(self.sweep, middle):
                losing = middle
            else:
                clean = middle

    async def _loses(self, sweep: Sweep, level: int) -> bool:
        rows = self._by_level[level]
        await self._level(level, sweep.most, lambda: sweep.certain(level, rows))
        return sweep.loses(rows)

    async def _level(self, level: int, most: int | None, certain: Callable[[], bool]) -> None:
        """One load until its requests are sent, its answer is certain, or the budget is used up."""
        self.level = level
        numbers = iter(range(REQUESTS_AT_MOST if most is None else most))
        if self.load.rate and self.sweep is None:
            await self._arrivals(numbers)
            return
        workers = [asyncio.create_task(self._worker(level, numbers, certain)) for _ in range(level)]
        try:
            await asyncio.gather(*workers)
            if self.sweep is not None:
                await self._queue.join()
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)

    async def _worker(self, level: int, numbers: Iterator[int], certain: Callable[[], bool]) -> None:
        for number in numbers:
            if self.sweep is not None and number >= self.sweep.streams:
                await self._queue.join()  # enough were sent: what the audits say decides
            if self._over() or certain():
                return
            await self._both(level, number)

    async def _arrivals(self, numbers: Iterator[int]) -> None:
        """Requests by the clock, whether those before have ended or not, as a Poisson process."""
        room = asyncio.Semaphore(self.load.concurrency)
        chance = random.Random(self._seed)  # noqa: S311 -- arrivals, no secret
        going: set[asyncio.Task[None]] = set()
        due = self._clock()
        late = 0
        try:
            for number in numbers:
                due += chance.expovariate(self.load.rate or 1.0)
                await asyncio.sleep(max(0.0, due - self._clock()))
                before = self._clock()
                for gate in self._gates.values():  # what was due meanwhile would come all at once
                    await gate.wait()
                due += self._clock() - before
                if self._over():
                    break
                late += room.locked()
                await room.acquire()
                task = asyncio.create_task(self._both(0, number))
                going.add(task)
                task.add_done_callback(going.discard)
                task.add_done_callback(lambda _: room.release())
            await asyncio.gather(*going)
        finally:
            for task in going:
                task.cancel()
            await asyncio.gather(*going, return_exceptions=True)
            if late:
                self.notes.append(
                    f"{late:,} requests left later than planned, because {self.load.concurrency:,} were in "
                    "flight; raise --concurrency."
                )

    async def _both(self, level: int, number: int) -> None:
        """One request to each side; which goes first alternates."""
        order = self.sides if number % 2 == 0 else self.sides[::-1]
        wanted = [side for side in order if (level, number, side.name) not in self._done]
        if wanted:
            await asyncio.gather(*(self._one(level, number, side) for side in wanted))

    async def _one(self, level: int, number: int, side: Side) -> None:
        ask = self.mix.ask(number)
        gate, sender = self._gates[side.name], self._senders[side.name]
        before = self._clock()
        await self._room.acquire()
        self._held_s += self._clock() - before
        self._in_flight += 1
        try:
            deferred = -1
            while deferred < TRIES - 1:
                deferred += 1
                await gate.wait()
                started_s, in_flight = self._before_s + self._clock() - self._started, self._in_flight
                sent = await sender.send(ask)
                in_flight = max(in_flight, self._in_flight)
                if sent.capture.header.status not in BUSY:
                    gate.fine()
                    break
                gate.busy(sent.retry_after_s)
        except BaseException:
            self._room.release()
            raise
        finally:
            self._in_flight -= 1
        self._queue.put_nowait(_Pending(ask, number, side, level, started_s, in_flight, deferred, sent))

    def _over(self) -> bool:
        """True when the budget is used up."""
        budget = self.budget
        if budget.tokens is not None and self._tokens >= budget.tokens:
            return True
        if self.sweep is not None and budget.requests is not None:
            sent = len(self._done) + self._in_flight + self._queue.qsize()
            if sent >= budget.requests * len(self.sides):
                return True
        return budget.seconds is not None and self._clock() - self._started >= budget.seconds

    # --- auditing ---

    async def _audit(self) -> None:
        while True:
            item = await self._queue.get()
            if item is None:
                return
            try:
                row = await asyncio.to_thread(self._judge, item)
            finally:
                self._room.release()
            self.rows.append(row)
            self._by_level[row.level].append(row)
            self._done.add((row.level, row.number, row.side))
            self._tokens += row.judged.tokens
            self._ends.append(now := self._clock())
            while now - self._ends[0] > _PACE_OVER_S:
                self._ends.popleft()
            self._queue.task_done()

    def _judge(self, pending: _Pending) -> Row:
        ask, sent = pending.ask, pending.sent
        row = Row(
            number=pending.number,
            side=pending.side.name,
            level=pending.level,
            endpoint=ask.endpoint,
            prompt=ask.label,
            streamed=ask.streamed,
            control=ask.control,
            started_s=round(pending.started_s, 6),
            in_flight=pending.in_flight,
            deferred=pending.deferred,
            judged=judged(sent.capture, sent.problem),
        )
        return row if self.shelf is None else self.shelf.keep(row, sent.capture)

    # --- looking ---

    def progress(self) -> Progress:
        """How far it is."""
        rows, now = list(self.rows), self._clock()
        elapsed = self._ended_s if self._ended_s is not None else now - self._started
        lately = [end for end in list(self._ends) if now - end <= _PACE_OVER_S]
        span = min(_PACE_OVER_S, elapsed)
        pace = len(lately) / span if lately and span > 0 else None
        if self.ended:
            pace = (len(rows) - self._begun) / elapsed if elapsed > 0 else None
        total = None
        if self.sweep is None and self.budget.requests is not None:
            total = self.budget.requests * len(self.sides)
        left = [] if total is None or not pace or self.ended else [(total - len(rows)) / pace]
        if self.budget.seconds is not None and not self.ended:
            left.append(max(0.0, self.budget.seconds - elapsed))
        counts = [row.result for row in rows if not row.control]
        return Progress(
            done=len(rows),
            total=total,
            in_flight=self._in_flight,
            level=self.level,
            at_level=self._at_level(),
            per_s=pace,
            left_s=min(left) if left else None,
            damaged=counts.count(Result.DAMAGED),
            failed=counts.count(Result.FAILED),
            unknown=counts.count(Result.UNKNOWN),
            waited_s=sum(gate.waited_s for gate in self._gates.values()),
            elapsed_s=elapsed,
        )

    def _at_level(self) -> tuple[int, int, bool] | None:
        if self.sweep is None or self.ended or not self.level:
            return None
        return self.sweep.far(list(self._by_level.get(self.level, ())))
