"""What goes wrong behind the tap: clients see what they would have seen, and a capture says it."""

import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from inspector.analysis.audit import Kind
from inspector.capture.capture import Capture, ClosedBy, EventKind
from inspector.inspection.inspection import inspect
from tests.support.answers import CHAT, DONE_EVENT, STREAM_EVENTS, answering, certificate
from tests.support.listening import free_port
from tests.support.raw_server import chunked, page, raw_server, sse, stream
from tests.support.upstreams import ask, tapped

STREAM_BYTES = b"".join([*STREAM_EVENTS, DONE_EVENT])


def kinds(capture: Capture) -> set[Kind]:
    return {finding.kind for finding in inspect(capture).findings}


def cut_short(address: str, body: dict[str, Any] | None = None) -> bytes:
    """What comes before the connection breaks."""
    received: list[bytes] = []
    with httpx.stream("POST", f"{address}{CHAT}", json=body or {}, timeout=20) as answer:
        assert answer.status_code == 200
        with pytest.raises(httpx.RemoteProtocolError):
            received.extend(answer.iter_raw())
    return b"".join(received)


def refused(address: str) -> str:
    """The sentence that the tap itself answers with."""
    answer = ask(address, {"model": "m"})
    assert answer.status_code == 502
    error = answer.json()["error"]
    assert (error["type"], error["code"]) == ("UpstreamError", 502)
    return str(error["message"])


def test_an_upstream_that_is_not_there() -> None:
    with tapped(f"http://127.0.0.1:{free_port()}") as (address, sink):
        sentence = refused(address)
        capture = sink.capture()
        assert httpx.get(f"{address}/v1/models").status_code == 502
    assert "connection refused at http://127.0.0.1:" in sentence
    assert capture.end is not None
    assert capture.end.cut
    assert capture.end.detail == sentence
    assert capture.header.request == {"model": "m"}
    assert kinds(capture) == {Kind.DISCONNECTED}


def test_an_upstream_whose_certificate_is_not_trusted(tmp_path: Path) -> None:
    key, chain = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain, key)
    with raw_server(answering([*STREAM_EVENTS, DONE_EVENT]), tls=context) as server:
        with tapped(server.address) as (address, sink):
            assert "TLS certificate" in refused(address)
            assert sink.capture().events == []
        with tapped(server.address, verify=str(chain)) as (address, sink):
            assert ask(address, {}).content == STREAM_BYTES
            assert kinds(sink.capture()) == set()


def test_an_upstream_that_speaks_something_else() -> None:
    with (
        raw_server({CHAT: lambda _: [b"SSH-2.0-OpenSSH_9.2\r\n\r\n"]}) as server,
        tapped(server.address) as (at, _),
    ):
        assert "does not speak HTTP" in refused(at)


def test_an_upstream_that_closes_without_an_answer() -> None:
    with raw_server({CHAT: lambda _: []}) as server, tapped(server.address) as (address, sink):
        assert "closed the connection without a response" in refused(address)
        assert sink.capture().header.status is None


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, '{"error":"Unauthorized"}', "application/json"),
        (404, '{"error":{"message":"The model `m` does not exist.","code":404}}', "application/json"),
        (500, '{"error":{"message":"EngineCore died","code":500}}', "application/json"),
        (502, "<html><h1>502 Bad Gateway</h1></html>", "text/html"),
    ],
)
def test_an_error_before_the_stream_passes_and_is_kept(status: int, body: str, kind: str) -> None:
    with (
        raw_server({CHAT: lambda _: [page(status, body, kind)]}) as server,
        tapped(server.address) as (address, sink),
    ):
        answer = ask(address, {"model": "m", "stream": True})
        capture = sink.capture()
    assert (answer.status_code, answer.text, answer.headers["content-type"]) == (status, body, kind)
    assert capture.header.status == status
    assert [(event.data, event.kind) for event in capture.events] == [(body, EventKind.BODY)]
    assert Kind.SERVER_ERROR in kinds(capture)


def test_an_error_in_the_stream_passes_and_is_kept() -> None:
    error = sse({"error": {"message": "EngineCore died", "type": "InternalServerError", "code": 500}})
    with (
        raw_server(answering([*STREAM_EVENTS[:2], error, DONE_EVENT])) as server,
        tapped(server.address) as (address, sink),
    ):
        assert ask(address, {}).content == b"".join([*STREAM_EVENTS[:2], error, DONE_EVENT])
        assert Kind.SERVER_ERROR in kinds(sink.capture())


def test_a_stall_is_passed_on_until_the_client_gives_up() -> None:
    def stalled(_: object) -> Iterator[bytes]:
        yield from stream(STREAM_EVENTS[:2], end=False)
        server.release.wait(120)
        for _ in range(100):  # a closed connection shows at a later write
            yield chunked(b": " + b"x" * 65536 + b"\n\n")

    with raw_server({CHAT: stalled}) as server, tapped(server.address) as (address, sink):
        received: list[bytes] = []
        with (
            pytest.raises(httpx.ReadTimeout),
            httpx.stream("POST", f"{address}{CHAT}", json={}, timeout=httpx.Timeout(20, read=0.3)) as answer,
        ):
            received.extend(answer.iter_raw())
        capture = sink.capture()
        server.release.set()
        assert server.client_gone.wait(120), "the upstream was not left"
    assert b"".join(received) == b"".join(STREAM_EVENTS[:2])
    assert len(capture.events) == 2
    assert capture.end is not None
    assert (capture.end.detail, capture.end.closed_by) == (
        "the client closed the connection",
        ClosedBy.CLIENT,
    )


def test_a_cut_between_events_is_passed_on() -> None:
    with (
        raw_server(answering(STREAM_EVENTS[:3], end=False)) as server,
        tapped(server.address) as (address, sink),
    ):
        assert cut_short(address) == b"".join(STREAM_EVENTS[:3])
        capture = sink.capture()
    assert len(capture.events) == 3
    assert capture.end is not None
    assert capture.end.cut
    assert "closed the connection in the middle of the response" in capture.end.detail
    assert Kind.DISCONNECTED in kinds(capture)


@pytest.mark.parametrize("add_token_ids", [False, True])
def test_a_cut_inside_an_event_is_passed_on(add_token_ids: bool) -> None:
    half = STREAM_EVENTS[2][: len(STREAM_EVENTS[2]) // 2]
    with (
        raw_server(answering([*STREAM_EVENTS[:2], half], end=False)) as server,
        tapped(server.address, add_token_ids=add_token_ids) as (address, sink),
    ):
        received = cut_short(address)
        capture = sink.capture()
    if not add_token_ids:
        assert received == b"".join([*STREAM_EVENTS[:2], half])
    assert [event.data for event in capture.events[:2]] == [raw[6:-2].decode() for raw in STREAM_EVENTS[:2]]
    assert Kind.DISCONNECTED in kinds(capture)


def test_a_missing_done_passes_and_is_found() -> None:
    with raw_server(answering(STREAM_EVENTS)) as server, tapped(server.address) as (address, sink):
        assert ask(address, {}).content == b"".join(STREAM_EVENTS)
        capture = sink.capture()
    assert capture.end is not None
    assert not capture.end.cut
    assert kinds(capture) == {Kind.PROTOCOL}
