"""All runs of this process, started here or recorded by the tap.

One daemon thread has the event loop of all requests, another audits the runs that are watched. Both start at
the first use.
"""

import asyncio
import os
import secrets
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from threading import Lock, Thread
from typing import Any, Final

from inspector.capture.capture import End, Endpoint, Event, Header
from inspector.capture.errors import ConnectionFailed, InspectorError
from inspector.capture.redaction import redact
from inspector.net.client.address import Server
from inspector.net.client.outcome import OutcomeKind, RequestOutcome
from inspector.net.client.request import LiveRequest, body
from inspector.net.client.server_info import open_client, version_and_owner
from inspector.net.runs.run import LiveRun, Look, RunState
from inspector.net.runs.trial import AT_ONCE, Trial, checked_runs
from inspector.protocol.wire.endpoints import spec_of

FOLDER_VARIABLE: Final = "HARMONY_INSPECTOR_CAPTURES"
"""Environment variable that names the folder of live captures; `captures` without it."""

RUNS_KEPT: Final = 100
"""Runs listed; older ones are forgotten, their files stay."""

TOKENS_KEPT: Final = 500_000
"""Tokens of ended runs in memory; the oldest runs beyond it are forgotten."""

TRIALS_KEPT: Final = 4
"""Trials kept with all their runs; the oldest is forgotten."""

_AUDIT_SHARE: Final = 10
"""An audit is repeated after this many times its duration."""
_AUDIT_EACH_S: Final = 0.5
"""Shortest pause between two audits of a run in seconds."""
_VERSION_FOR_S: Final = 60.0
"""Seconds for which a server's version is not asked again."""
_READER_WITHIN_S: Final = 1.5
"""A page is drawn in less; the browser of one that is hidden may take longer."""


class Registry:
    """Runs of one process; every method may be called from any thread.

    `folder` None keeps captures in memory only. It is also the sink of the tap (see `client.recorder`).
    """

    def __init__(self, folder: Path | None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.folder = folder
        self._clock = clock
        self._runs: dict[str, LiveRun] = {}
        self._lock = Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._audits: ThreadPoolExecutor | None = None
        self._auditing: dict[str, float] = {}
        self._versions: dict[tuple[str, ...], tuple[float, tuple[str | None, str | None]]] = {}
        self._trials: dict[str, Trial] = {}

    # --- starting and finding ---

    def start(
        self, server: Server, request: LiveRequest, *, path: Path | None = None, shown: bool = False
    ) -> LiveRun:
        """Send a request and return its run at once. `path` replaces a file in `folder`.

        With `shown` the request waits for a reader, for a moment: a page that is still being drawn would
        show the first tokens late and all at once.
        """
        run = self._new(_expected_header(request), path=path, address=server.v1)
        self._send(run, server, request, shown=shown)
        return run

    def start_both(
        self,
        server: Server,
        request: LiveRequest,
        *,
        paths: tuple[Path | None, Path | None] = (None, None),
        shown: bool = False,
    ) -> tuple[LiveRun, LiveRun]:
        """Send a request, and the same prompt to completions as its ground truth; both runs, see `start`.

        Both get temperature 0 and one seed unless the request names its own.
        """
        if spec_of(request.endpoint).raw:
            raise InspectorError("completions already are the ground truth; choose chat or Responses")
        request = _same_sampling(request)
        truth = self.start(server, _truth(request), path=paths[1])
        run = self._new(_expected_header(request), path=paths[0], address=server.v1)
        run.pair, truth.pair = truth.id, run.id
        self._send(run, server, request, shown=shown)
        return run, truth

    def start_trial(
        self,
        left: tuple[Server, LiveRequest],
        right: tuple[Server, LiveRequest],
        *,
        runs: int = 1,
    ) -> Trial:
        """Send a request to each of two servers, `runs` times, at most `AT_ONCE` at the same time.

        All get temperature 0 and one seed unless a request names its own. Raises InspectorError for an
        invalid number of runs.
        """
        count = checked_runs(runs)
        sides = []
        for server, original in (left, right):
            request, gate = _same_sampling(original), asyncio.Semaphore(AT_ONCE)
            header = _expected_header(request)
            side_runs = tuple(self._new(header, path=None, address=server.v1) for _ in range(count))
            sides.append((server, request, gate, side_runs))
        # Pairs are sent together, so that both servers meet the same load of this machine.
        for place in range(count):
            for server, request, gate, side_runs in sides:
                self._send(side_runs[place], server, request, gate)
        trial = Trial(id=sides[0][3][0].id, left=sides[0][3], right=sides[1][3])
        with self._lock:
            self._trials[trial.id] = trial
            while len(self._trials) > TRIALS_KEPT:
                del self._trials[next(iter(self._trials))]
        return trial

    def trial(self, name: str) -> Trial | None:
        """The trial with this ID; None if there is none, or it was forgotten."""
        with self._lock:
            return self._trials.get(name)

    def runs(self) -> list[LiveRun]:
        """All runs, the newest first."""
        with self._lock:
            return list(reversed(self._runs.values()))

    def get(self, name: str) -> LiveRun | None:
        """The run with this ID; None if there is none, or it was forgotten."""
        with self._lock:
            return self._runs.get(name)

    def forget(self, run: LiveRun) -> None:
        """Remove a run that has ended; its file stays."""
        with self._lock:
            if run.state is RunState.ENDED:
                self._runs.pop(run.id, None)
                self._auditing.pop(run.id, None)

    def wait(self, run: LiveRun, timeout_s: float | None = None) -> bool:
        """Block until a run has ended; False on a timeout."""
        return run.ended.wait(timeout_s)

    # --- as the sink of the tap ---

    def opened(self, header: Header) -> str:
        """A response to another client begins; its run's ID."""
        run = self._new(header, path=None, own=False)
        run.opened(header)
        return run.id

    def event(self, run: str, event: Event) -> None:
        """An event of it arrived."""
        if (live_run := self.get(run)) is not None:
            live_run.event(event)

    def ended(self, run: str, end: End) -> None:
        """It ended."""
        if (live_run := self.get(run)) is not None:
            live_run.closed(end)
            live_run.finish(
                RequestOutcome(kind=OutcomeKind.BROKEN_OFF, failure=end.detail)
                if end.cut
                else RequestOutcome()
            )
            self._trim()

    # --- audits ---

    def audit_soon(self, run: LiveRun) -> float | None:
        """Audit a run in the background if its last audit is old enough; at once when it has ended.

        Returns the seconds after which to ask again where it is not old enough; None where nothing is new, or
        an audit runs, which wakes the readers of the run.
        """
        look, now = run.look, self._clock()
        if look is not None and look.final:
            return None
        with self._lock:
            last = self._auditing.get(run.id)
            if last == float("inf"):
                return None
            ended = run.state is RunState.ENDED
            pause = 0.0 if look is None else max(_AUDIT_EACH_S, _AUDIT_SHARE * look.cost_s)
            if not ended and last is not None and now - last < pause:
                return None if look is not None and look.events == len(run.events) else last + pause - now
            self._auditing[run.id] = float("inf")
            self._audits = self._audits or ThreadPoolExecutor(1, thread_name_prefix="inspector-audit")
            self._audits.submit(self._audit, run)
        return None

    def _audit(self, run: LiveRun) -> Look:
        try:
            return run.audit()
        finally:
            with self._lock:
                if run.id in self._runs:  # else it was forgotten meanwhile
                    self._auditing[run.id] = self._clock()

    # --- inside ---

    def _new(self, header: Header, *, path: Path | None, address: str = "", own: bool = True) -> LiveRun:
        moment = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
        name = f"{moment}-{header.endpoint}-{secrets.token_hex(3)}"
        if path is None and self.folder is not None:
            path = self.folder / f"{name}.jsonl"
        run = LiveRun(name, header, path=path, address=address)
        run.own = own
        with self._lock:
            self._runs[name] = run
        return run

    def _send(
        self,
        run: LiveRun,
        server: Server,
        request: LiveRequest,
        gate: asyncio.Semaphore | None = None,
        *,
        shown: bool = False,
    ) -> None:
        future = self.submit(self._drive(run, server, request, gate, shown=shown))
        run.stop = lambda: _cancel(future)
        run.again = lambda: self.start(server, request, shown=shown)

    async def _drive(
        self,
        run: LiveRun,
        server: Server,
        request: LiveRequest,
        gate: asyncio.Semaphore | None,
        *,
        shown: bool,
    ) -> None:
        from inspector.net.client.exchange import ask  # noqa: PLC0415 -- loads the openai client, which takes long

        outcome = RequestOutcome(kind=OutcomeKind.STOPPED_BY_USER, failure="stopped by you")
        try:
            async with gate or nullcontext():
                version, owner = await self._version_and_owner(server, request.model)
                if shown:
                    await asyncio.wait((asyncio.wrap_future(run.reader),), timeout=_READER_WITHIN_S)
                outcome = await ask(server, request, _RunSink(run), server_version=version, owned_by=owner)
        except InspectorError as error:
            outcome = RequestOutcome.raised(error)
        except Exception as error:  # a bug of ours must not look like a stop by the user
            sentence = f"the program failed ({type(error).__name__}: {error}); please report it"
            outcome = RequestOutcome(kind=OutcomeKind.FAILED, failure=sentence)
        finally:
            run.finish(outcome)
            self._trim()

    async def _version_and_owner(self, server: Server, model: str) -> tuple[str | None, str | None]:
        """Version and model owner that the server reports, cached for a minute; no reply is not an error."""
        # Behind one address headers may choose between servers.
        key = (server.root, model, *(word for header in sorted(server.headers.items()) for word in header))
        cached = self._versions.get(key)
        if cached is not None and self._clock() - cached[0] < _VERSION_FOR_S:
            return cached[1]
        try:
            async with open_client(server) as client:
                identity = await version_and_owner(server, model, client)
        except ConnectionFailed:
            return None, None
        self._versions[key] = (self._clock(), identity)
        return identity

    def submit(self, work: Coroutine[Any, Any, None]) -> Future[None]:
        """Run a coroutine in the event loop of all requests."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                Thread(target=self._loop.run_forever, name="inspector-runs", daemon=True).start()
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def _trim(self) -> None:
        """Forget the oldest ended runs that are not watched, beyond `RUNS_KEPT` and `TOKENS_KEPT`."""
        with self._lock:
            ended = [run for run in self._runs.values() if run.state is RunState.ENDED]
            tokens = sum(run.pace().tokens for run in ended)
            surplus = len(self._runs) - RUNS_KEPT
            for run in ended[:-1]:
                if surplus <= 0 and tokens <= TOKENS_KEPT:
                    return
                if run.watched:
                    continue
                surplus -= 1
                tokens -= run.pace().tokens
                del self._runs[run.id]
                self._auditing.pop(run.id, None)


class _RunSink:
    """Records into an existing run."""

    def __init__(self, run: LiveRun) -> None:
        self._run = run

    def opened(self, header: Header) -> str:
        self._run.opened(header)
        return self._run.id

    def event(self, _: str, event: Event) -> None:
        self._run.event(event)

    def ended(self, _: str, end: End) -> None:
        self._run.closed(end)


def _cancel(future: Future[None]) -> None:
    future.cancel()


def _expected_header(request: LiveRequest) -> Header:
    """The header before the request is sent."""
    return Header(
        endpoint=request.endpoint,
        request=redact(body(request)),
        model=request.model,
        started_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        source="live request",
    )


def _same_sampling(request: LiveRequest) -> LiveRequest:
    return replace(
        request,
        temperature=0.0 if request.temperature is None else request.temperature,
        seed=0 if request.seed is None else request.seed,
    )


def _truth(request: LiveRequest) -> LiveRequest:
    return replace(request, endpoint=Endpoint.COMPLETIONS, token_ids=True, background=False, extra={})


@cache
def registry() -> Registry:
    """The registry of this process."""
    return Registry(Path(os.environ.get(FOLDER_VARIABLE, "captures")))
