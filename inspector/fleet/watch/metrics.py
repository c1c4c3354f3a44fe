"""Counters of audited streams in the Prometheus format, each failure with the name of its capture.

A model's name comes from requests: after `NAMES_AT_MOST` different values of a label, all further ones are
`other`, so that no client can make Prometheus store a series per request. A response with an
error status adds no name, so that requests for models that do not exist take no place.
"""

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.asgi import make_asgi_app
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from inspector.analysis.audit.outcome import ResponseOutcome
from inspector.analysis.audit.verdict import Level
from inspector.capture.formats import in_utf8
from inspector.fleet.watch.summary import StreamSummary

NAMES_AT_MOST: Final = 50
_NAME_AT_MOST: Final = 100
_STREAM: Final = ("upstream", "endpoint", "model", "server_version", "front_end")
_CHANNELS: Final = frozenset({"analysis", "commentary", "final", "none"})
"""Other channels are invented by a model."""
_EXEMPLAR_AT_MOST: Final = 128
"""Of OpenMetrics: characters of all names and values of an exemplar."""
_LAG_S: Final = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    """All series of one process, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._names: dict[str, set[str]] = {}
        self._streams = self._counter("streams", "Audited responses by verdict", (*_STREAM, "verdict"))
        self._responses = self._counter("responses", "Audited responses by outcome", (*_STREAM, "outcome"))
        self._tokens = self._counter("tokens", "Tokens of audited responses", _STREAM)
        self._findings = self._counter(
            "findings",
            "Findings of the audit by kind, severity, known issue and channel",
            (*_STREAM, "kind", "severity", "cause", "channel"),
        )
        self._unaudited = self._counter(
            "unaudited_streams", "Responses without an audit, by reason", ("upstream", "reason")
        )
        self._unrecorded = self._counter(
            "unrecorded_responses", "Responses that the disk did not take, by reason", ("upstream", "reason")
        )
        self._failures = self._counter(
            "canary_failures", "Requests of the canary without a response, by reason", ("upstream", "reason")
        )
        self._lag = Histogram(
            "harmony_inspector_audit_lag_seconds",
            "Time from the end of a response to the end of its audit",
            registry=self.registry,
            buckets=_LAG_S,
        )
        self._waiting = Gauge(
            "harmony_inspector_audits_waiting", "Responses that wait for their audit", registry=self.registry
        )
        self._kept = Gauge(
            "harmony_inspector_kept_bytes", "Size of the captures that are kept", registry=self.registry
        )

    def audited(self, upstream: str, summary: StreamSummary, *, lag_s: float, capture: str) -> None:
        """Count an audited stream; `capture` names its file, empty where it was not kept."""
        labels = {
            "upstream": upstream,
            "endpoint": summary.endpoint,
            "model": self._bounded("model", summary.model, adds=summary.served),
            "server_version": self._bounded("server_version", summary.server_version),
            "front_end": summary.front_end,
        }
        short = 0 < len(capture) <= _EXEMPLAR_AT_MOST - len("capture")
        exemplar = {"capture": capture} if short else None
        for level in Level:  # all at once, so that the first count of each is an increase for Prometheus
            self._streams.labels(**labels, verdict=level.value)
        for outcome in ResponseOutcome:
            self._responses.labels(**labels, outcome=outcome.value)
        self._streams.labels(**labels, verdict=summary.verdict).inc(exemplar=exemplar)
        self._responses.labels(**labels, outcome=summary.outcome.value).inc(exemplar=exemplar)
        self._tokens.labels(**labels).inc(summary.tokens)
        for finding in summary.findings:
            counter = self._findings.labels(
                **labels,
                kind=finding.kind,
                severity=finding.severity,
                cause=finding.cause,
                channel=finding.channel if finding.channel in _CHANNELS else "other",
            )
            counter.inc(exemplar=exemplar)
        self._lag.observe(lag_s, exemplar=exemplar)

    def unaudited(self, upstream: str, reason: str) -> None:
        """Count a stream that was not audited."""
        self._unaudited.labels(upstream=upstream, reason=reason).inc()

    def unrecorded(self, upstream: str, reason: str) -> None:
        """Count a response that the disk did not take; it may have been audited from memory."""
        self._unrecorded.labels(upstream=upstream, reason=reason).inc()

    def failed(self, upstream: str, reason: str) -> None:
        """Count a request of the canary without a response."""
        self._failures.labels(upstream=upstream, reason=reason).inc()

    def waiting(self, audits: int, kept_bytes: int) -> None:
        """Say how many audits wait and how much is kept."""
        self._waiting.set(audits)
        self._kept.set(kept_bytes)

    def _counter(self, name: str, words: str, labels: tuple[str, ...]) -> Counter:
        return Counter(f"harmony_inspector_{name}", words, labels, registry=self.registry)

    def _bounded(self, label: str, value: str, *, adds: bool = True) -> str:
        names = self._names.setdefault(label, set())
        value = in_utf8(value, _NAME_AT_MOST)
        if value in names:
            return value
        if len(names) >= NAMES_AT_MOST or not adds:
            return "other"
        names.add(value)
        return value


class _MetricsApp:
    """Serves the metrics, with exemplars to scrapers that take OpenMetrics."""

    def __init__(self, metrics: Metrics) -> None:
        self._app = make_asgi_app(metrics.registry)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


def metrics_app(metrics: Metrics) -> ASGIApp:
    """An app that answers GET at `/metrics`, and nothing else."""
    return Router([Route("/metrics", _MetricsApp(metrics), methods=["GET"])])
