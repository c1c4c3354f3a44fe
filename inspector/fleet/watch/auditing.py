"""Audits recordings in a separate process and adds the results to the metrics."""

import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Final

from inspector.fleet.watch.metrics import Metrics
from inspector.fleet.watch.retention import Retention
from inspector.fleet.watch.spans import Spans
from inspector.fleet.watch.summary import StreamSummary, of_file, prepare, prepared
from inspector.fleet.workers import Workers

WAITING_AT_MOST: Final = 2000
"""Audits that may wait; a further stream is counted as `backlog` and stays on disk."""


class Watch:
    """Audits recordings as they end; every method may be called from any thread.

    `retention` decides which stay on disk; `spans` sends each to OpenTelemetry too. The process that audits
    starts at once.
    """

    def __init__(
        self,
        metrics: Metrics,
        retention: Retention,
        *,
        spans: Spans | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._spans = spans
        self._metrics = metrics
        self._retention = retention
        self._clock = clock
        self._lock = Lock()
        self._workers = Workers(1, prepare=prepare)
        self._waiting = 0
        self._closed = False
        self._workers.submit(prepared)

    def ended(
        self, upstream: str, path: Path, audited: Callable[[StreamSummary], None] = lambda _: None
    ) -> None:
        """A recording is complete on disk; `audited` receives its audit, in another thread."""
        future: Future[StreamSummary] | None = None
        with self._lock:
            if self._closed:
                return
            if self._waiting < WAITING_AT_MOST:
                future = self._workers.submit(of_file, str(path))
                self._waiting += 1
                self._report_waiting()
                at_s = self._clock()
        if future is None:
            self._metrics.unaudited(upstream, "backlog")
        else:
            future.add_done_callback(partial(self._done, upstream, path, at_s, audited))

    def passed(self, upstream: str) -> None:
        """A response was not sampled."""
        self._metrics.unaudited(upstream, "not sampled")

    def close(self) -> None:
        """Finish the audits that wait, and end the process."""
        with self._lock:
            self._closed = True
        self._workers.shutdown()
        if self._spans is not None:
            self._spans.close()

    def _done(
        self,
        upstream: str,
        path: Path,
        ended_s: float,
        audited: Callable[[StreamSummary], None],
        future: "Future[StreamSummary]",
    ) -> None:
        try:
            summary = future.result()
        except (Exception, CancelledError):  # unreadable, removed, or more than the process could hold
            with self._lock:
                self._waiting -= 1
                self._report_waiting()
            self._metrics.unaudited(upstream, "audit failed")
            return
        with self._lock:
            kept = self._retention.decide(path, failing=summary.failing)
            self._waiting -= 1
            self._report_waiting()
        lag_s = self._clock() - ended_s
        name = path.name if kept else ""
        self._metrics.audited(upstream, summary, lag_s=lag_s, capture=name)
        if self._spans is not None:
            self._spans.audited(upstream, summary.span, capture=name)
        audited(summary)

    def _report_waiting(self) -> None:
        self._metrics.waiting(self._waiting, self._retention.bytes)
