"""Audited streams as OpenTelemetry spans: what they say, and that a real OTLP receiver gets them."""

import signal
from dataclasses import replace
from pathlib import Path
from threading import Event as Flag
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.trace import SpanKind, StatusCode, format_span_id, format_trace_id
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from inspector.capture.capture import Capture
from inspector.capture.errors import InspectorError
from inspector.cli import main
from inspector.fleet.watch import Keep, Retention, Watch
from inspector.fleet.watch.canary import Canary
from inspector.fleet.watch.spans import SPANS_VARIABLE, Spans, configured_spans, emit, span_of
from inspector.inspection.inspection import inspect
from inspector.net.client.address import Server
from inspector.net.client.request import LiveRequest
from inspector.protocol.wire.stream import loads
from tests.support.builtin import CAPTURES, COMPLETE_CHAT, RESPONSES, TOOL
from tests.support.counting_metrics import CountingMetrics
from tests.support.listening import listening


class Receiver:
    """A collector: keeps the spans that are posted to it."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.services: set[str] = set()
        self.schemas: set[str] = set()
        self.received = Flag()
        self.app = Starlette(routes=[Route("/v1/traces", self._receive, methods=["POST"])])

    async def _receive(self, request: Request) -> Response:
        request_message = ExportTraceServiceRequest.FromString(await request.body())
        for resource in request_message.resource_spans:
            self.services |= {
                attribute.value.string_value
                for attribute in resource.resource.attributes
                if attribute.key == "service.name"
            }
            for scope in resource.scope_spans:
                self.schemas.add(scope.schema_url)
                self.spans += scope.spans
        self.received.set()
        return Response(b"", media_type="application/x-protobuf")


def finished(name: str) -> Any:
    """The span of a built-in capture, as the SDK hands it to an exporter."""
    return exported(CAPTURES[name])


def exported(capture: Capture) -> Any:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    emit(span_of(inspect(capture)), provider.get_tracer("test"))
    [span] = exporter.get_finished_spans()
    return span


def test_a_span_follows_the_conventions_and_its_events_are_the_findings() -> None:
    span = finished(TOOL)
    capture = CAPTURES[TOOL]
    model = capture.header.model
    assert span.name == f"chat {model}"
    assert span.kind is SpanKind.CLIENT
    assert span.status.status_code is StatusCode.UNSET
    assert span.attributes["gen_ai.operation.name"] == "chat"
    assert span.attributes["gen_ai.provider.name"] == "vllm"
    assert span.attributes["gen_ai.request.model"] == model
    assert span.attributes["gen_ai.request.stream"] is True
    assert span.attributes["gen_ai.request.max_tokens"] == 1500
    assert span.attributes["gen_ai.response.finish_reasons"] == ("tool_calls",)
    assert span.attributes["gen_ai.usage.output_tokens"] == 32
    assert span.attributes["gen_ai.response.time_to_first_chunk"] == capture.events[0].at_s
    assert span.attributes["harmony_inspector.verdict"] == "error"
    assert span.attributes["harmony_inspector.cause"] == "chat-stream-multi-channel-chunk"
    assert [event.name for event in span.events] == ["harmony_inspector.finding"] * 3
    assert [event.attributes["harmony_inspector.finding.kind"] for event in span.events] == [
        "misrouted",
        "dropped",
        "invalid_tool_arguments",
    ]
    assert capture.end is not None
    assert capture.end.at_s is not None
    assert (span.end_time - span.start_time) / 1e9 == pytest.approx(capture.end.at_s)
    assert all(span.start_time <= event.timestamp <= span.end_time for event in span.events)
    assert "weather" not in span.to_json()


def test_a_span_is_a_child_of_the_requests_span_or_linked_to_it_if_that_is_not_sampled() -> None:
    trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    for flags, child in (("01", True), ("00", False)):
        capture = CAPTURES[TOOL]
        header = replace(capture.header, traceparent=f"00-{trace}-{parent}-{flags}")
        span = exported(replace(capture, header=header))
        context = span.parent if child else span.links[0].context
        assert (format_trace_id(context.trace_id), format_span_id(context.span_id)) == (trace, parent)
        assert (format_trace_id(span.context.trace_id) == trace) is child
        assert len(span.links) == int(not child)
    zeros = replace(CAPTURES[TOOL].header, traceparent=f"00-{'0' * 32}-{'0' * 16}-01")
    span = exported(replace(CAPTURES[TOOL], header=zeros))
    assert (span.parent, span.links) == (None, ())


@pytest.mark.parametrize("name", [TOOL, RESPONSES, "completions-unexpected-token-200002-vllm-0.13.0"])
def test_a_span_has_the_id_of_the_response_and_only_names_of_its_schema(name: str) -> None:
    span = finished(name)
    data = loads(CAPTURES[name].events[0].data)
    assert isinstance(data, dict)
    assert span.attributes["gen_ai.response.id"] == data.get("response", data)["id"]
    names = [key for key in span.attributes if key.startswith("gen_ai.")]
    assert [key for key in names if key not in list(vars(gen_ai_attributes).values())] == []


@pytest.mark.parametrize(
    ("name", "error"),
    [
        (RESPONSES, None),
        ("responses-disconnected-vllm-0.13.0", "disconnected"),
        ("chat-unknown-role-vllm-0.13.0", "server_error"),
    ],
)
def test_a_failed_response_is_an_error(name: str, error: str | None) -> None:
    span = finished(name)
    assert span.attributes.get("error.type") == error
    assert (span.status.status_code is StatusCode.ERROR) == (error is not None)


def test_what_a_client_asks_cannot_keep_a_span_from_being_sent() -> None:
    capture = CAPTURES[TOOL]
    request = {**capture.header.request, "seed": 10**30, "n": 10**30, "max_tokens": -(10**20), "top_k": 5}
    header = replace(capture.header, request=request, model="half a pair \ud800" + "m" * 1000)
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    emit(span_of(inspect(replace(capture, header=header))), provider.get_tracer("test"))
    span = encode_spans(exporter.get_finished_spans()).resource_spans[0].scope_spans[0].spans[0]
    assert span.name.startswith("chat half a pair ?m")
    assert len(span.name) < 300
    keys = {attribute.key for attribute in span.attributes}
    assert "gen_ai.request.top_k" in keys
    assert not keys & {"gen_ai.request.seed", "gen_ai.request.choice.count", "gen_ai.request.max_tokens"}


def test_a_collector_gets_a_span_of_each_audited_response(playback: str, tmp_path: Path) -> None:
    receiver, metrics = Receiver(), CountingMetrics()
    with listening(receiver.app) as collector:
        spans = Spans(collector, addresses={"canary": playback})
        watch = Watch(metrics, Retention(tmp_path, Keep.FAILING), spans=spans)
        requests = [LiveRequest(model=name, prompt="hi") for name in (COMPLETE_CHAT, TOOL)]
        Canary(Server(base_url=playback), requests, tmp_path, watch, metrics).once()
        metrics.wait(2)
        watch.close()
    assert receiver.services == {"harmony-inspector"}
    assert receiver.schemas == {"https://opentelemetry.io/schemas/1.44.0"}
    span_attributes = [
        {attribute.key: attribute.value for attribute in span.attributes} for span in receiver.spans
    ]
    assert {attributes["harmony_inspector.verdict"].string_value for attributes in span_attributes} == {
        "clean",
        "error",
    }
    assert {attributes["server.port"].int_value for attributes in span_attributes} == {
        int(playback.rsplit(":", 1)[1])
    }
    [stored] = [attributes for attributes in span_attributes if "harmony_inspector.capture" in attributes]
    assert (tmp_path / stored["harmony_inspector.capture"].string_value).is_file()
    assert sum(len(span.events) for span in receiver.spans) == 3


def test_the_standard_variables_name_the_collector_and_the_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    receiver = Receiver()
    with listening(receiver.app) as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector)
        monkeypatch.setenv("OTEL_SERVICE_NAME", "mine")
        spans = Spans()
        spans.audited("up", span_of(inspect(CAPTURES[COMPLETE_CHAT])))
        spans.close()
    assert receiver.services == {"mine"}
    assert len(receiver.spans) == 1


def test_mistakes_are_told_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InspectorError, match="invalid OTLP address"):
        Spans("localhost:4318")
    words = ["canary", "--base-url", "http://127.0.0.1:1", "--model", "m", "--out", str(tmp_path)]
    assert main(words) == 2
    assert "--metrics PORT, --otel" in capsys.readouterr().err
    monkeypatch.setitem(__import__("sys").modules, "opentelemetry.sdk.resources", None)
    with pytest.raises(InspectorError, match=r"harmony-inspector\[otel\]"):
        Spans()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_environment_says_where_the_dashboard_sends_spans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SPANS_VARIABLE, raising=False)
    assert configured_spans({}) is None
    receiver = Receiver()
    with listening(receiver.app) as at:
        monkeypatch.setenv(SPANS_VARIABLE, at)
        spans = configured_spans({"up": "http://server:8000/v1"})
        assert spans is not None
        spans.audited("up", span_of(inspect(CAPTURES[TOOL])))
        spans.close()
    [span] = receiver.spans
    assert {attribute.key: attribute.value.string_value for attribute in span.attributes}[
        "server.address"
    ] == "server"
    monkeypatch.setenv(SPANS_VARIABLE, "collector:4318")
    with pytest.raises(InspectorError, match=f"{SPANS_VARIABLE}: invalid OTLP address"):
        configured_spans({})
