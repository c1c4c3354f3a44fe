"""Recordings that ended go to a process that audits them; what it says goes into the metrics."""

import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Final

from inspector.fleet.watch.keeping import Keeping
from inspector.fleet.watch.metrics import Metrics
from inspector.fleet.watch.spans import Spans
from inspector.fleet.watch.summary import Summary, of_file, prepare, prepared
from inspector.fleet.workers import Workers

WAITING_AT_MOST: Final = 2000
"""Audits that wait; a stream that ends while so many do is counted as `backlog` and stays on disk."""


class Watch:
    """Audits recordings as they end; every method may be called from any thread.

    `keeping` decides which stay on disk; `spans` sends each to OpenTelemetry too. The process that audits
    starts at once.
    """

    def __init__(
        self,
        metrics: Metrics,
        keeping: Keeping,
        *,
        spans: Spans | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._spans = spans
        self._metrics = metrics
        self._keeping = keeping
        self._clock = clock
        self._lock = Lock()
        self._workers = Workers(1, prepare=prepare)
        self._waiting = 0
        self._closed = False
        self._workers.submit(prepared)

    def ended(self, upstream: str, path: Path) -> None:
        """A recording is complete on disk."""
        future: Future[Summary] | None = None
        with self._lock:
            if self._closed:
                return
            if self._waiting < WAITING_AT_MOST:
                future = self._workers.submit(of_file, str(path))
                self._waiting += 1
                self._told()
                at_s = self._clock()
        if future is None:
            self._metrics.unaudited(upstream, "backlog")
        else:
            future.add_done_callback(partial(self._done, upstream, path, at_s))

    def passed(self, upstream: str) -> None:
        """A response went by that the sample leaves out."""
        self._metrics.unaudited(upstream, "not sampled")

    def close(self) -> None:
        """Finish the audits that wait, and end the process."""
        with self._lock:
            self._closed = True
        self._workers.shutdown()
        if self._spans is not None:
            self._spans.close()

    def _done(self, upstream: str, path: Path, ended_s: float, future: "Future[Summary]") -> None:
        try:
            one = future.result()
        except (Exception, CancelledError):  # unreadable, removed, or more than the process could hold
            with self._lock:
                self._waiting -= 1
                self._told()
            self._metrics.unaudited(upstream, "audit failed")
            return
        with self._lock:
            kept = self._keeping.decide(path, failing=one.failing)
            self._waiting -= 1
            self._told()
        lag_s = self._clock() - ended_s
        name = path.name if kept else ""
        self._metrics.audited(upstream, one, lag_s=lag_s, capture=name)
        if self._spans is not None:
            self._spans.audited(upstream, one.span, capture=name)

    def _told(self) -> None:
        self._metrics.waiting(self._waiting, self._keeping.bytes)
