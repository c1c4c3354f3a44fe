"""Audits recordings in a separate process and adds the results to the metrics."""

import logging
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Final

from inspector.files.recording import Unwritten
from inspector.fleet.watch.metrics import Metrics
from inspector.fleet.watch.retention import Retention
from inspector.fleet.watch.spans import Spans
from inspector.fleet.watch.summary import StreamSummary, of_content, of_file, prepare, prepared
from inspector.fleet.watch.unrecorded import UnrecordedLog, reason_of
from inspector.fleet.workers import Workers

WAITING_AT_MOST: Final = 2000
"""Audits that may wait; a further stream is counted as `backlog` and stays on disk."""

_LOG: Final = logging.getLogger(__name__)


def _warn(line: str) -> None:
    _LOG.warning("%s", line)


class Watch:
    """Audits recordings as they end; every method may be called from any thread.

    `retention` decides which stay on disk; `spans` sends each to OpenTelemetry too; `say` receives a line a
    minute while recordings fail. The process that audits starts at once.
    """

    def __init__(
        self,
        metrics: Metrics,
        retention: Retention,
        *,
        spans: Spans | None = None,
        say: Callable[[str], None] = _warn,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._spans = spans
        self._metrics = metrics
        self._retention = retention
        self._clock = clock
        self._unrecorded = UnrecordedLog(say)
        self._lock = Lock()
        self._workers = Workers(1, prepare=prepare)
        self._waiting = 0
        self._closed = False
        self._workers.submit(prepared)

    def ended(
        self, upstream: str, path: Path, audited: Callable[[StreamSummary], None] = lambda _: None
    ) -> None:
        """A recording is complete on disk; `audited` receives its audit, in another thread."""
        done = partial(self._done, upstream, path, audited, recorded=True)
        if not self._audit(partial(self._workers.submit, of_file, str(path)), done):
            self._metrics.unaudited(upstream, "backlog")

    def unwritten(
        self,
        upstream: str,
        recording: Unwritten,
        audited: Callable[[StreamSummary], None] = lambda _: None,
    ) -> None:
        """The disk did not take a recording: it is counted, and audited from memory where that sufficed."""
        self._metrics.unrecorded(upstream, reason_of(recording.error))
        self._unrecorded.add(recording.error)
        if recording.content is None:
            self._metrics.unaudited(upstream, "not recorded")
            recording.release()
            return

        def done(ended_s: float, future: "Future[StreamSummary]") -> None:
            recording.release()
            self._done(upstream, recording.path, audited, ended_s, future, recorded=False)

        if not self._audit(partial(self._workers.submit, of_content, recording.content), done):
            self._metrics.unaudited(upstream, "backlog")
            recording.release()

    def _audit(
        self,
        submit: "Callable[[], Future[StreamSummary]]",
        done: "Callable[[float, Future[StreamSummary]], None]",
    ) -> bool:
        """Begin an audit; False if too many wait."""
        with self._lock:
            if self._closed or self._waiting >= WAITING_AT_MOST:
                return False
            future = submit()
            self._waiting += 1
            self._report_waiting()
            at_s = self._clock()
        future.add_done_callback(partial(done, at_s))
        return True

    def passed(self, upstream: str) -> None:
        """A response was not sampled."""
        self._metrics.unaudited(upstream, "not sampled")

    def close(self) -> None:
        """Finish the audits that wait, and end the process."""
        with self._lock:
            self._closed = True
        self._workers.shutdown()
        self._unrecorded.flush()
        if self._spans is not None:
            self._spans.close()

    def _done(
        self,
        upstream: str,
        path: Path,
        audited: Callable[[StreamSummary], None],
        ended_s: float,
        future: "Future[StreamSummary]",
        *,
        recorded: bool,
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
        name = path.name if kept and recorded else ""
        self._metrics.audited(upstream, summary, lag_s=lag_s, capture=name)
        if self._spans is not None:
            self._spans.audited(upstream, summary.span, capture=name)
        audited(summary)

    def _report_waiting(self) -> None:
        self._metrics.waiting(self._waiting, self._retention.bytes)
