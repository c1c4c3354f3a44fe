"""Recording scripts from a server: captures, errors, interruptions."""

from collections.abc import Callable, Iterable

import pytest

from harmony_lab.process import free_port
from harmony_lab.recording import Target, record, server_version
from inspector.capture.capture import Capture, Endpoint, EventKind
from inspector.capture.errors import LabError
from inspector.matrix.scripts import named
from tests.support.raw_server import RawRequest, page, raw_server, sse, stream

Answer = Callable[[RawRequest], Iterable[bytes]]

PLAIN, TOOL, TURN = named(["plain", "tool_call", "turn_python_unstreamed"])
CHAT = "/v1/chat/completions"


def hello(_asked: RawRequest) -> Iterable[bytes]:
    return stream([sse({"choices": [{"delta": {"content": "Hi"}}]}), b": ping\n\n", sse("[DONE]")])


def kept_from(answers: dict[str, Answer], targets: list[Target]) -> dict[Target, Capture]:
    captures: dict[Target, Capture] = {}
    with raw_server(answers) as server:
        record(server.address, targets, stream_interval=3, keep=captures.__setitem__)
    return captures


def test_record_keeps_the_stream_and_the_lab_header() -> None:
    target = Target(Endpoint.CHAT, PLAIN)
    capture = kept_from({CHAT: hello}, [target])[target]
    assert [event.data for event in capture.events] == [
        '{"choices": [{"delta": {"content": "Hi"}}]}',
        "ping",
        "[DONE]",
    ]
    assert [event.kind for event in capture.events] == [EventKind.SSE, EventKind.COMMENT, EventKind.SSE]
    header = capture.header
    assert (header.endpoint, header.status, header.server_version) == (Endpoint.CHAT, 200, "0.99.0")
    assert header.script == PLAIN.sampled
    assert header.extra == {"lab": {"script": "plain", "stream_interval": 3}}
    assert header.request["messages"][0]["content"].endswith("[[script plain]]")
    assert header.request["return_token_ids"] is True
    assert capture.end is not None
    assert not capture.end.cut


def test_record_sends_each_endpoint_its_body() -> None:
    with raw_server({}) as server:
        targets = [Target(endpoint, TOOL) for endpoint in TOOL.endpoints]
        record(server.address, targets, stream_interval=1, keep=lambda _target, _capture: None)
        bodies = {request.path: request.body for request in server.asked if request.body}
    assert bodies[CHAT]["tools"][0]["function"]["name"] == "get_weather"
    assert bodies["/v1/responses"]["tools"][0]["name"] == "get_weather"
    assert bodies["/v1/responses"]["input"].endswith("[[script tool_call]]")
    assert bodies["/v1/completions"]["prompt"][-2:] == [200006, 173781]
    assert bodies["/v1/completions"]["skip_special_tokens"] is False


def test_record_unstreamed_response() -> None:
    target = Target(Endpoint.RESPONSES, TURN)
    body: dict[str, Answer] = {"/v1/responses": lambda _: [page(200, '{"output": []}', "application/json")]}
    [event] = kept_from(body, [target])[target].events
    assert (event.kind, event.data) == (EventKind.BODY, '{"output": []}')


def test_record_broken_connection() -> None:
    target = Target(Endpoint.CHAT, PLAIN)
    broken: dict[str, Answer] = {CHAT: lambda _: stream([sse({"choices": []})], end=False)}
    capture = kept_from(broken, [target])[target]
    assert len(capture.events) == 1
    assert capture.end is not None
    assert capture.end.cut
    assert "peer closed connection" in capture.end.detail


def test_record_http_error() -> None:
    target = Target(Endpoint.CHAT, PLAIN)
    refused: dict[str, Answer] = {
        CHAT: lambda _: [page(500, '{"error": {"message": "boom"}}', "application/json")]
    }
    capture = kept_from(refused, [target])[target]
    assert capture.header.status == 500
    assert capture.events[0].kind is EventKind.BODY


def test_record_interrupted_keeps_finished_captures() -> None:
    captures: list[str] = []

    def keep(target: Target, _capture: Capture) -> None:
        if len(captures) == 3:
            raise KeyboardInterrupt
        captures.append(target.script.name)

    targets = [Target(Endpoint.CHAT, script) for script in named([]) if Endpoint.CHAT in script.endpoints]
    with raw_server({CHAT: hello}) as server:
        with pytest.raises(KeyboardInterrupt):
            record(server.address, targets, stream_interval=1, keep=keep, jobs=2)
        sent = len(server.bodies(CHAT))
    assert len(captures) == 3
    assert sent < len(targets)


def test_record_without_server() -> None:
    with pytest.raises(LabError, match="does not return a vLLM version"):
        server_version(f"http://127.0.0.1:{free_port()}")
