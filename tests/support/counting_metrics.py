"""Metrics that tests wait on, and their values."""

import threading

from inspector.fleet.watch import Metrics, StreamSummary

__all__ = ["CountingMetrics", "value"]


class CountingMetrics(Metrics):
    """Metrics that say when a number of streams was counted."""

    def __init__(self) -> None:
        super().__init__()
        self.changed = threading.Condition()
        self.counted = 0

    def audited(self, upstream: str, summary: StreamSummary, *, lag_s: float, capture: str) -> None:
        super().audited(upstream, summary, lag_s=lag_s, capture=capture)
        self._count()

    def unaudited(self, upstream: str, reason: str) -> None:
        super().unaudited(upstream, reason)
        self._count()

    def _count(self) -> None:
        with self.changed:
            self.counted += 1
            self.changed.notify_all()

    def wait(self, streams: int) -> None:
        """Until so many streams were counted, audited or not."""
        with self.changed:
            assert self.changed.wait_for(lambda: self.counted >= streams, 120), "the audits did not end"


def value(metrics: Metrics, name: str, **labels: str) -> float:
    """The sum of all series of a counter that have these labels."""
    return sum(
        sample.value
        for metric in metrics.registry.collect()
        for sample in metric.samples
        if sample.name == f"harmony_inspector_{name}" and labels.items() <= sample.labels.items()
    )
