"""Audited streams as OpenTelemetry spans, by the conventions for generative AI; findings as their events.

A span holds no text of a prompt or a response. `span_of` runs where the audit runs; `Spans` needs the SDK
(the extra `otel`).
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from inspector.analysis.audit import Finding
from inspector.analysis.audit.kinds import KINDS, FindingSide
from inspector.analysis.reading import Reading
from inspector.capture.capture import EventKind
from inspector.capture.errors import InspectorError
from inspector.capture.formats import in_utf8
from inspector.capture.version import __version__
from inspector.inspection.inspection import Examined
from inspector.issues import Cause
from inspector.protocol.wire.stream import loads, token_count

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer


SPANS_VARIABLE: Final = "HARMONY_INSPECTOR_OTEL"
"""Environment variable: where the dashboard's own tap sends spans; see `configured_spans`."""

_PREFIX: Final = "harmony_inspector"
_SCHEMA: Final = "https://opentelemetry.io/schemas/1.44.0"
"""The semantic conventions whose names are used here."""
_RESOURCE: Final = "OTEL_RESOURCE_ATTRIBUTES"
_FINDINGS_AT_MOST: Final = 100
"""Events of one span; the SDK keeps 128."""
_NAME_AT_MOST: Final = 200
_INT64: Final = 2**63
"""Limit of integers in a span; larger ones make the exporter drop it."""
_REQUEST: Final = {
    "max_tokens": "gen_ai.request.max_tokens",
    "max_completion_tokens": "gen_ai.request.max_tokens",
    "max_output_tokens": "gen_ai.request.max_tokens",
    "temperature": "gen_ai.request.temperature",
    "top_p": "gen_ai.request.top_p",
    "top_k": "gen_ai.request.top_k",
    "seed": "gen_ai.request.seed",
    "frequency_penalty": "gen_ai.request.frequency_penalty",
    "presence_penalty": "gen_ai.request.presence_penalty",
}
_USAGE: Final = {
    "prompt_tokens": "gen_ai.usage.input_tokens",
    "input_tokens": "gen_ai.usage.input_tokens",
    "completion_tokens": "gen_ai.usage.output_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
}

Value = str | int | float | bool | Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanEvent:
    """A finding."""

    name: str
    at_s: float | None
    """Seconds from the request; None if unknown."""
    attributes: Mapping[str, Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanData:
    """The content of a span; small, because it is sent between processes."""

    name: str
    started_s: float | None
    """Unix time of the request; None if the capture has none."""
    duration_s: float
    attributes: Mapping[str, Value]
    events: tuple[SpanEvent, ...]
    error: str
    """Value of `error.type` of a response that failed; empty for one that did not."""
    traceparent: str = ""
    """Trace context of the request; empty if it had none."""


def span_of(examined: Examined) -> SpanData:
    """The span of an audited response."""
    reading = examined.reading
    request = reading.header.request
    operation = "chat" if reading.spec.parsed else "text_completion"
    model = reading.header.model or request.get("model")
    model = in_utf8(model, _NAME_AT_MOST) if isinstance(model, str) else ""
    error = _error(examined)
    return SpanData(
        name=f"{operation} {model}".rstrip(),
        started_s=_started(reading.header.started_at),
        duration_s=_duration(reading),
        attributes=dict(_attributes(examined, operation, model, error)),
        events=tuple(
            _event(reading, finding, cause)
            for finding, cause in zip(
                examined.findings[:_FINDINGS_AT_MOST], examined.causes[:_FINDINGS_AT_MOST], strict=True
            )
        ),
        error=error,
        traceparent=reading.header.traceparent or "",
    )


def _attributes(examined: Examined, operation: str, model: str, error: str) -> Iterator[tuple[str, Value]]:
    reading = examined.reading
    request, stream = reading.header.request, reading.stream
    yield "gen_ai.operation.name", operation
    yield "gen_ai.provider.name", reading.engine.name
    if model:
        yield "gen_ai.request.model", model
    yield "gen_ai.request.stream", not stream.bodies
    if isinstance(count := request.get("n"), int) and 1 < count < _INT64:
        yield "gen_ai.request.choice.count", count
    for key, name in _REQUEST.items():
        value = request.get(key)
        if isinstance(value, float) or (type(value) is int and -_INT64 <= value < _INT64):
            yield name, value
    if response_id := _response_id(reading):
        yield "gen_ai.response.id", in_utf8(response_id, _NAME_AT_MOST)
    if stream.model is not None:
        yield "gen_ai.response.model", in_utf8(stream.model, _NAME_AT_MOST)
    reasons = [
        in_utf8(choice.finish_reason, _NAME_AT_MOST)
        for choice in reading.choices
        if choice.finish_reason is not None
    ]
    if reasons:
        yield "gen_ai.response.finish_reasons", reasons
    for key, name in _USAGE.items():
        if (counted := token_count((stream.usage or {}).get(key))) is not None and counted < _INT64:
            yield name, counted
    first = next((event.at_s for event in reading.events if event.at_s is not None), None)
    if first is not None and not stream.bodies:
        yield "gen_ai.response.time_to_first_chunk", first
    if error:
        yield "error.type", error
    yield f"{_PREFIX}.endpoint", str(reading.header.endpoint)
    yield f"{_PREFIX}.verdict", str(examined.verdict.level)
    yield f"{_PREFIX}.outcome", str(examined.verdict.outcome)
    yield f"{_PREFIX}.evidence", str(reading.choice.evidence)
    yield f"{_PREFIX}.tokens", reading.token_count
    if reading.server_version:
        yield f"{_PREFIX}.server_version", in_utf8(reading.server_version, _NAME_AT_MOST)
    if examined.cause is not None and examined.cause.id:
        yield f"{_PREFIX}.cause", examined.cause.id


def _response_id(reading: Reading) -> str:
    """The `id` of the response, which its first event has, on Responses inside of `response`."""
    data = next((event.data for event in reading.events if event.kind is not EventKind.COMMENT), "")
    first = loads(data)
    response = first.get("response", first) if isinstance(first, dict) else None
    response_id = response.get("id") if isinstance(response, dict) else None
    return response_id if isinstance(response_id, str) else ""


def _event(reading: Reading, finding: Finding, cause: Cause | None) -> SpanEvent:
    facts: dict[str, Value | None] = {
        "kind": str(finding.kind),
        "severity": str(finding.severity),
        "code": str(finding.code),
        "field": finding.field,
        "delivered_in": finding.delivered_in,
        "token_start": finding.token_start,
        "token_end": finding.token_end,
        "choice": finding.choice,
        "cause": None if cause is None else cause.id or None,
    }
    return SpanEvent(
        name=f"{_PREFIX}.finding",
        at_s=None if finding.event_start is None else reading.arrival_s(finding.event_start),
        attributes={f"{_PREFIX}.finding.{key}": value for key, value in facts.items() if value is not None},
    )


def _error(examined: Examined) -> str:
    status = examined.reading.header.status
    if status is not None and status >= 400:
        return str(status)
    failed = next(
        (finding for finding in examined.findings if KINDS[finding.kind].side is FindingSide.ABORT), None
    )
    if failed is not None:
        return str(failed.kind)
    return "server_error" if examined.reading.stream.errors else ""


def _started(text: str | None) -> float | None:
    try:
        started = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return (started if started.tzinfo is not None else started.replace(tzinfo=UTC)).timestamp()


def _duration(reading: Reading) -> float:
    times = [event.at_s for event in reading.events[-1:]]
    if reading.end is not None:
        times.append(reading.end.at_s)
    return max((at_s for at_s in times if at_s is not None), default=0.0)


def emit(span_data: SpanData, tracer: "Tracer") -> None:
    """Hand a span to a tracer of the OpenTelemetry SDK.

    Its parent is the request's span. If that trace is not sampled, the span begins a new one with a link to
    it: as a child it would not be sampled either, and no damage would be exported.
    """
    from opentelemetry.trace import (  # noqa: PLC0415 -- an extra
        Link,
        SpanKind,
        Status,
        StatusCode,
        get_current_span,
    )
    from opentelemetry.trace.propagation.tracecontext import (  # noqa: PLC0415 -- an extra
        TraceContextTextMapPropagator,
    )

    started_s = span_data.started_s
    if started_s is None:
        started_s = datetime.now(UTC).timestamp() - span_data.duration_s
    start = _nanoseconds(started_s)
    context = None
    links: list[Link] = []
    if span_data.traceparent:
        context = TraceContextTextMapPropagator().extract({"traceparent": span_data.traceparent})
        parent = get_current_span(context).get_span_context()
        if not parent.trace_flags.sampled:
            links = [Link(parent)] if parent.is_valid else []
            context = None
    span = tracer.start_span(
        span_data.name,
        context=context,
        kind=SpanKind.CLIENT,
        attributes=span_data.attributes,
        links=links,
        start_time=start,
    )
    for event in span_data.events:
        at_s = span_data.duration_s if event.at_s is None else event.at_s
        span.add_event(event.name, event.attributes, timestamp=start + _nanoseconds(at_s))
    if span_data.error:
        span.set_status(Status(StatusCode.ERROR))
    span.end(start + _nanoseconds(span_data.duration_s))


def _nanoseconds(seconds: float) -> int:
    return round(seconds * 1e9)


class Spans:
    """Sends spans by OTLP over HTTP, as the standard `OTEL_*` variables say, or to `endpoint`, a collector.

    Raises InspectorError without the extra `otel`, or for an invalid address.
    """

    def __init__(self, endpoint: str = "", *, addresses: Mapping[str, str] | None = None) -> None:
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415 -- an extra
                OTLPSpanExporter,
            )
            from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 -- an extra
            from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 -- an extra
            from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415 -- an extra
        except ImportError as error:
            raise InspectorError(
                'OpenTelemetry is not installed; pip install "harmony-inspector[otel]"'
                ", in a checkout pip install -r requirements-otel.txt"
            ) from error
        if endpoint and not endpoint.startswith(("http://", "https://")):
            raise InspectorError(
                f"invalid OTLP address: {endpoint[:80]!r}; pass for example http://localhost:4318"
            )
        path = "" if urlsplit(endpoint).path.rstrip("/").endswith("/v1/traces") else "/v1/traces"
        target: dict[str, Any] = {"endpoint": endpoint.rstrip("/") + path} if endpoint else {}
        named = "OTEL_SERVICE_NAME" in os.environ or "service.name=" in os.environ.get(_RESOURCE, "")
        resource = Resource.create({} if named else {"service.name": "harmony-inspector"})
        self._provider = TracerProvider(resource=resource)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(**target)))
        self._tracer = self._provider.get_tracer(_PREFIX, __version__, schema_url=_SCHEMA)
        self._addresses = dict(addresses or {})

    def audited(self, upstream: str, span_data: SpanData, *, capture: str = "") -> None:
        """Send the span of an audited stream; `capture` names its file, empty where it was not kept."""
        attributes = {**span_data.attributes, f"{_PREFIX}.upstream": upstream}
        if capture:
            attributes[f"{_PREFIX}.capture"] = capture
        address = urlsplit(self._addresses.get(upstream, ""))
        if address.hostname:
            attributes["server.address"] = address.hostname
            attributes["server.port"] = address.port or (443 if address.scheme == "https" else 80)
        emit(replace(span_data, attributes=attributes), self._tracer)

    def close(self) -> None:
        """Send the pending spans."""
        self._provider.shutdown()


def configured_spans(addresses: Mapping[str, str]) -> Spans | None:
    """Spans to the collector that the environment names, with `1` to that of the standard `OTEL_*` variables.

    None where it names none. `addresses` are those of the servers, by name. Raises InspectorError as `Spans`.
    """
    endpoint = os.environ.get(SPANS_VARIABLE, "").strip()
    try:
        return Spans("" if endpoint == "1" else endpoint, addresses=addresses) if endpoint else None
    except InspectorError as error:
        raise InspectorError(f"{SPANS_VARIABLE}: {error}") from error
