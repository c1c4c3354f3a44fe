"""Recordings audited as they end, as metrics that Prometheus reads, and kept only where something is wrong.

The audit runs in a process of its own, so that what passes the tap never waits for it.
"""

from inspector.fleet.watch.auditing import Watch
from inspector.fleet.watch.keeping import Keep, Keeping
from inspector.fleet.watch.metrics import Metrics, metrics_app
from inspector.fleet.watch.summary import Found, Summary, summarise

__all__ = ["Found", "Keep", "Keeping", "Metrics", "Summary", "Watch", "metrics_app", "summarise"]
