"""Runs a probe: workers in a closed loop, arrivals at a rate, or increasing numbers of workers.

Requests run in one event loop. A thread audits the responses and writes their rows. If audits fall behind,
workers wait, so memory does not grow with the run.
"""

import asyncio
import random
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, suppress
from typing import Final, NamedTuple

import httpx

from inspector.capture.errors import InspectorError
from inspector.fleet.probe.loads import Budget, ProbeLoad, ProbeProgress, Sweep, checked_losses, levels_of
from inspector.fleet.probe.mix import Mix, ProbeRequest
from inspector.fleet.probe.rows import ProbeRow, Result, audited_response
from inspector.fleet.probe.sender import BUSY, Backoff, Sender, Sent, Target
from inspector.fleet.probe.shelf import ProbeShelf
from inspector.net.client.outcome import OutcomeKind

REQUESTS_AT_MOST: Final = 1_000_000
TRIES: Final = 5
"""How often a request is sent to a busy server; the last response counts."""

_PACE_OVER_S: Final = 10.0
_ROOM: Final = 64
_EVERY_TIME: Final = frozenset({OutcomeKind.NO_MODEL, OutcomeKind.KEY_REJECTED})
"""Refusals that every further request would get too."""
_AUDITED_SLOWLY: Final = 0.1
"""If workers wait for audits for more than this share of their time, a note says so."""


class _Pending(NamedTuple):
    """A response that waits for its audit."""

    request: ProbeRequest
    number: int
    target: Target
    level: int
    started_s: float
    in_flight: int
    deferred: int
    sent: Sent


class _Ledger:
    """The rows of a run and what is counted from them; rows of a run that this one resumes come first."""

    def __init__(self, resumed: Iterable[ProbeRow]) -> None:
        self.rows: list[ProbeRow] = []
        self.by_level: defaultdict[int, list[ProbeRow]] = defaultdict(list)
        self.requests: set[tuple[int, int, str]] = set()
        """Level, number and target's name of each request that has a row, and so is not sent again."""
        self.tokens = 0
        for row in resumed:
            self.add(row)
        self.resumed = len(self.rows)

    def add(self, row: ProbeRow) -> None:
        self.rows.append(row)
        self.by_level[row.level].append(row)
        self.requests.add((row.level, row.number, row.side))
        self.tokens += row.response.tokens


class _Timing:
    """How long a run takes, and how many responses per second it had lately."""

    def __init__(self, clock: Callable[[], float], resumed: Iterable[ProbeRow]) -> None:
        self._clock = clock
        self._before_s = max(
            (row.started_s + (row.response.duration_s or 0.0) for row in resumed), default=0.0
        )
        self._ends: deque[float] = deque()
        self.start()

    def start(self) -> None:
        self._started = self._clock()
        self.ended_s: float | None = None

    def stop(self) -> None:
        self.ended_s = self._clock() - self._started

    def elapsed_s(self) -> float:
        """Seconds of this run, without those of the run that it resumes."""
        return self._clock() - self._started if self.ended_s is None else self.ended_s

    def request_s(self) -> float:
        """The time for `ProbeRow.started_s` of a request that leaves now; after the run that is resumed."""
        return self._before_s + self._clock() - self._started

    def response(self) -> None:
        """Count a response."""
        self._ends.append(now := self._clock())
        while now - self._ends[0] > _PACE_OVER_S:
            self._ends.popleft()

    def per_s(self) -> float | None:
        now, span_s = self._clock(), min(_PACE_OVER_S, self.elapsed_s())
        lately = sum(now - end <= _PACE_OVER_S for end in list(self._ends))
        return lately / span_s if lately and span_s > 0 else None


class Probe:
    """One run; `rows` grows while it runs and may be read from any thread.

    With `shelf` rows and captures are written to its folder, and requests that have a row there are not sent
    again.

    A request is sent, waits for its audit, and then has a row. `_room` bounds how many are in the first two
    states: a worker takes a place before it sends, and the auditor gives it back after the audit.
    """

    def __init__(
        self,
        targets: Sequence[Target],
        mix: Mix,
        load: ProbeLoad,
        budget: Budget,
        *,
        sweep: Sweep | None = None,
        shelf: ProbeShelf | None = None,
        inner: Callable[[Target], httpx.AsyncBaseTransport | None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
        warm_up: int = 0,
        seed: int = 0,
    ) -> None:
        if sweep is None and budget == Budget():
            raise InspectorError("nothing ends this run; set --requests, --repeat or --budget")
        self.targets = tuple(targets)
        self.mix = mix
        self.load = load
        self.budget = budget
        self.sweep = sweep
        self.shelf = shelf
        self.stopped = False
        """True when it was ended before its budget was."""
        self.trouble = ""
        """Why it ended early by itself; empty otherwise."""
        self.notes: list[str] = []
        self.level = 0
        self._warm_up = warm_up
        self._inner = inner
        self._clock = clock
        self._seed = seed
        self._ledger = _Ledger(() if shelf is None else shelf.rows)
        self._timing = _Timing(clock, self.rows)
        self._backoffs = {target.name: Backoff(clock) for target in self.targets}
        self._senders: dict[str, Sender] = {}
        self._in_flight = dict.fromkeys(self._backoffs, 0)
        self._queue: asyncio.Queue[_Pending | None] = asyncio.Queue()
        self._room = asyncio.Semaphore(_ROOM)
        self._waited_for_room_s = 0.0
        self._task: asyncio.Task[None] | None = None

    @property
    def rows(self) -> list[ProbeRow]:
        """One row for each request that was audited, in the order in which they ended."""
        return self._ledger.rows

    @property
    def ended(self) -> bool:
        """True once nothing more is sent or audited."""
        return self._timing.ended_s is not None

    def stop(self) -> None:
        """End it: requests in flight are dropped, what has ended stays. From the loop's own thread."""
        if self._task is not None:
            self._task.cancel()

    async def run(self) -> None:
        """Send requests until the budget is used up, the result is certain, or it is stopped."""
        self._task = asyncio.current_task()
        self._timing.start()
        concurrency = self.sweep.limit if self.sweep is not None else self.load.concurrency
        self._room = asyncio.Semaphore(4 * concurrency + _ROOM)
        auditor = asyncio.create_task(self._audit())
        try:
            async with AsyncExitStack() as stack:
                for target in self.targets:
                    sender = Sender(
                        target, connections=concurrency, inner=self._inner(target), clock=self._clock
                    )
                    self._senders[target.name] = await stack.enter_async_context(sender)
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
            self._timing.stop()
            if self.shelf is not None:
                self.shelf.close()
            workers_s = concurrency * len(self.targets) * self._timing.elapsed_s()
            if self._waited_for_room_s > _AUDITED_SLOWLY * workers_s:
                self.notes.append(
                    "Audits on this machine fell behind, so fewer requests were in flight than asked for; "
                    "the table by streams at once has those that were."
                )
            for name, sender in self._senders.items():
                if sender.without_evidence:
                    subject = f"Server {name}" if name else "The server"
                    self.notes.append(
                        f"{subject} rejected the key that asks for token IDs, so losses show less."
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
            await asyncio.gather(
                *(sender.send(self.mix.request(number)) for sender in self._senders.values())
            )
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
        rows = self._ledger.by_level[level]
        await self._level(level, sweep.most, lambda: sweep.loses(level, checked_losses(rows)) is not None)
        return sweep.loses(level, checked_losses(rows)) is True

    async def _level(self, level: int, most: int | None, certain: Callable[[], bool]) -> None:
        """One load until its requests are sent, its result is certain, or the budget is used up."""
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
                await self._queue.join()  # enough were sent: the audits decide
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
                for backoff in self._backoffs.values():  # what was due meanwhile would come all at once
                    await backoff.wait()
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
        """One request to each target; which goes first alternates."""
        order = self.targets if number % 2 == 0 else self.targets[::-1]
        missing = [target for target in order if (level, number, target.name) not in self._ledger.requests]
        if missing:
            await asyncio.gather(*(self._send_and_queue(level, number, target) for target in missing))

    async def _send_and_queue(self, level: int, number: int, target: Target) -> None:
        request = self.mix.request(number)
        backoff, sender = self._backoffs[target.name], self._senders[target.name]
        before = self._clock()
        await self._room.acquire()
        self._waited_for_room_s += self._clock() - before
        self._in_flight[target.name] += 1
        try:
            deferred = -1
            while deferred < TRIES - 1:
                deferred += 1
                await backoff.wait()
                started_s, in_flight = self._timing.request_s(), self._in_flight[target.name]
                sent = await sender.send(request)
                in_flight = max(in_flight, self._in_flight[target.name])
                if sent.capture.header.status not in BUSY:
                    backoff.fine()
                    break
                backoff.busy(sent.retry_after_s)
        except BaseException:
            self._room.release()
            raise
        finally:
            self._in_flight[target.name] -= 1
        if sent.problem is not None and sent.problem.kind in _EVERY_TIME:
            self.trouble = self.trouble or sent.problem.sentence
        self._queue.put_nowait(_Pending(request, number, target, level, started_s, in_flight, deferred, sent))

    def _over(self) -> bool:
        """True when the budget is used up, or every further request would fail in the same way."""
        budget = self.budget
        if self.trouble:
            return True
        if budget.tokens is not None and self._ledger.tokens >= budget.tokens:
            return True
        if self.sweep is not None and budget.requests is not None:
            sent = len(self._ledger.requests) + sum(self._in_flight.values()) + self._queue.qsize()
            if sent >= budget.requests * len(self.targets):
                return True
        return budget.seconds is not None and self._timing.elapsed_s() >= budget.seconds

    # --- auditing ---

    async def _audit(self) -> None:
        while True:
            pending = await self._queue.get()
            if pending is None:
                return
            try:
                row = await asyncio.to_thread(self._row, pending)
            finally:
                self._room.release()
            self._ledger.add(row)
            self._timing.response()
            self._queue.task_done()

    def _row(self, pending: _Pending) -> ProbeRow:
        request, sent = pending.request, pending.sent
        row = ProbeRow(
            number=pending.number,
            side=pending.target.name,
            level=pending.level,
            endpoint=request.endpoint,
            prompt=request.label,
            streamed=request.streamed,
            control=request.control,
            started_s=round(pending.started_s, 6),
            in_flight=pending.in_flight,
            deferred=pending.deferred,
            response=audited_response(sent.capture, sent.problem),
        )
        return row if self.shelf is None else self.shelf.keep(row, sent.capture)

    # --- looking ---

    def progress(self) -> ProbeProgress:
        """How far it is."""
        rows, elapsed_s = list(self.rows), self._timing.elapsed_s()
        per_s = self._timing.per_s()
        if self.ended:
            per_s = (len(rows) - self._ledger.resumed) / elapsed_s if elapsed_s > 0 else None
        total = None
        if self.sweep is None and self.budget.requests is not None:
            total = self.budget.requests * len(self.targets)
        estimates = [] if total is None or not per_s or self.ended else [(total - len(rows)) / per_s]
        if self.budget.seconds is not None and not self.ended:
            estimates.append(max(0.0, self.budget.seconds - elapsed_s))
        results = [row.result for row in rows if not row.control]
        return ProbeProgress(
            done=len(rows),
            total=total,
            in_flight=sum(self._in_flight.values()),
            level=self.level,
            at_level=self._at_level(),
            per_s=per_s,
            left_s=min(estimates) if estimates else None,
            damaged=results.count(Result.DAMAGED),
            failed=results.count(Result.FAILED),
            unknown=results.count(Result.UNKNOWN),
            waited_s=sum(backoff.waited_s for backoff in self._backoffs.values()),
            elapsed_s=elapsed_s,
        )

    def _at_level(self) -> tuple[int, int, bool] | None:
        if self.sweep is None or self.ended or not self.level:
            return None
        return self.sweep.far(list(self._ledger.by_level.get(self.level, ())))
