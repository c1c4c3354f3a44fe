"""Audits recordings as they end, counts the results for Prometheus, and keeps the captures that are wanted.

Audits run in a separate process, so that the tap never waits for them.
"""

from inspector.fleet.watch.auditing import Watch
from inspector.fleet.watch.metrics import Metrics, metrics_app
from inspector.fleet.watch.retention import Keep, Retention
from inspector.fleet.watch.summary import FindingSummary, StreamSummary, summarise

__all__ = [
    "FindingSummary",
    "Keep",
    "Metrics",
    "Retention",
    "StreamSummary",
    "Watch",
    "metrics_app",
    "summarise",
]
