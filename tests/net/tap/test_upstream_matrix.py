"""A matrix of odd upstreams: clients see no difference, captures accuse nobody wrongly."""

import gzip
import json
import zlib

import httpx
import pytest

from inspector.analysis.audit import Kind
from inspector.analysis.audit.verdict import Level
from inspector.inspection.inspection import inspect
from tests.support.answers import CHAT, DONE_EVENT, STREAM_EVENTS
from tests.support.raw_server import Answer, chunked, page, raw_server, sse, stream
from tests.support.upstreams import ask, tapped

STREAM = b"".join([*STREAM_EVENTS, DONE_EVENT])
JSON = json.dumps({"object": "chat.completion", "choices": [{"index": 0, "message": {"content": "Hi"}}]})
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n"


def streamed(*pieces: bytes, end: bool = True, coding: str = "") -> Answer:
    return lambda _: stream(pieces, end=end, coding=coding)


def raw(*pieces: bytes) -> Answer:
    return lambda _: list(pieces)


def status(code: int, body: str = '{"error":{"message":"no"}}', kind: str = "application/json") -> Answer:
    return lambda _: [page(code, body, kind)]


def framed(body: bytes, extra: bytes = b"") -> Answer:
    return raw(HEAD + extra + b"content-length: %d\r\n\r\n" % len(body) + body)


PACKED = gzip.compress(STREAM)
HALF = len(STREAM_EVENTS[2]) // 2

VALID: dict[str, Answer] = {
    "whole": streamed(*STREAM_EVENTS, DONE_EVENT),
    "one chunk": streamed(STREAM),
    "a byte a chunk": streamed(*(STREAM[at : at + 1] for at in range(len(STREAM)))),
    "cr lf": streamed(STREAM.replace(b"\n", b"\r\n")),
    "cr": streamed(STREAM.replace(b"\n", b"\r")),
    "byte order mark": streamed(b"\xef\xbb\xbf" + STREAM),
    "comments": streamed(b": ping\n\n", *STREAM_EVENTS, b": pong\n\n", DONE_EVENT),
    "ids and retries": streamed(b"retry: 5\n\n", *(b"id: 7\n" + raw for raw in STREAM_EVENTS), DONE_EVENT),
    "named events": streamed(*(b"event: message\n" + raw for raw in STREAM_EVENTS), DONE_EVENT),
    "blank lines": streamed(b"\n\n\n", *STREAM_EVENTS, b"\n\n\n", DONE_EVENT),
    "no space after the colon": streamed(STREAM.replace(b"data: ", b"data:")),
    "gzip": streamed(PACKED, coding="gzip"),
    "gzip in members": streamed(*(gzip.compress(raw) for raw in [*STREAM_EVENTS, DONE_EVENT]), coding="gzip"),
    "gzip in bytes": streamed(*(PACKED[at : at + 1] for at in range(len(PACKED))), coding="gzip"),
    "gzip with padding": streamed(PACKED, bytes(64), coding="gzip"),
    "gzip that is none": streamed(STREAM, coding="gzip"),
    "deflate": streamed(zlib.compress(STREAM), coding="deflate"),
    "identity": streamed(STREAM, coding="identity"),
    "with a length": framed(STREAM),
    "until it closes": raw(HEAD + b"\r\n" + STREAM),
    "http 1.0": raw(HEAD.replace(b"1.1", b"1.0") + b"\r\n" + STREAM),
    "the same header twice": framed(STREAM, b"x-a: 1\r\nx-a: 2\r\nset-cookie: a\r\nset-cookie: b\r\n"),
    "trailers": raw(
        HEAD + b"transfer-encoding: chunked\r\n\r\n" + chunked(STREAM) + b"0\r\nx-end: 1\r\n\r\n"
    ),
    "early hints": raw(b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n", HEAD + b"\r\n" + STREAM),
}
UNUSUAL: dict[str, Answer] = {
    "br that nobody asked for": streamed(b"\x8b\x01\x80" + STREAM[:40], coding="br"),
    "zstd that nobody asked for": streamed(b"\x28\xb5\x2f\xfd" + STREAM[:40], coding="zstd"),
    "damaged gzip": streamed(gzip.compress(STREAM * 50)[:-200] + b"\xff" * 100, coding="gzip"),
    "no end": streamed(*STREAM_EVENTS),
    "two ends": streamed(*STREAM_EVENTS, DONE_EVENT, DONE_EVENT),
    "cut between events": streamed(*STREAM_EVENTS[:3], end=False),
    "cut inside an event": streamed(*STREAM_EVENTS[:2], STREAM_EVENTS[2][:HALF], end=False),
    "cut inside a length": raw(HEAD + b"content-length: 99999\r\n\r\n" + STREAM),
    "an error in the stream": streamed(
        *STREAM_EVENTS[:2], sse({"error": {"message": "dead", "code": 500}}), DONE_EVENT
    ),
    "no JSON": streamed(b"data: {\n\n", *STREAM_EVENTS, DONE_EVENT),
    "invalid UTF-8": streamed(b'data: {"x":"\xff\xfe"}\n\n', *STREAM_EVENTS, DONE_EVENT),
    "NUL bytes": streamed(b"data: \x00\n\n", *STREAM_EVENTS, DONE_EVENT),
    "a long event": streamed(b"data: " + b"x" * 2**20 + b"\n\n", *STREAM_EVENTS, DONE_EVENT),
    "nothing": streamed(),
    "an empty body": framed(b""),
    "not streamed": status(200, JSON),
    "a web page": status(200, "<html>hello</html>", "text/html"),
    "a stream called JSON": raw(HEAD.replace(b"text/event-stream", b"application/json") + b"\r\n" + STREAM),
    "no type": raw(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n" + STREAM),
    **{str(code): status(code) for code in (204, 307, 400, 401, 404, 422, 429, 500, 503)},
    "a gateway's page": status(502, "<html><h1>502</h1></html>", "text/html"),
    "an error as a stream": raw(HEAD.replace(b"200 OK", b"500 X") + b"\r\n" + STREAM),
}
MISLABELLED = {"gzip that is none", "a stream called JSON", "no type"}
"""Streams whose headers say that they are something else pass as they are, ids and all."""
BROKEN: dict[str, Answer] = {
    "closed at once": raw(),
    "another protocol": raw(b"SSH-2.0-OpenSSH_9.2\r\n\r\n"),
    "half a status line": raw(b"HTTP/1.1 20"),
    "half of the headers": raw(b"HTTP/1.1 200 OK\r\ncontent-type: text/ev"),
    "an endless header": raw(b"HTTP/1.1 200 OK\r\nx: " + b"y" * 200_000 + b"\r\n\r\n"),
}


def outcome(address: str) -> tuple[int, str, bytes, bool]:
    """Status, type and bytes of the answer as they come, and whether it breaks off."""
    received: list[bytes] = []
    with httpx.stream("POST", address + CHAT, json={"model": "m"}, timeout=20) as answer:
        try:
            received.extend(answer.iter_raw())
        except httpx.TransportError:
            return answer.status_code, answer.headers.get("content-type", ""), b"".join(received), True
    return answer.status_code, answer.headers.get("content-type", ""), b"".join(received), False


@pytest.mark.parametrize("mode", [*VALID, *UNUSUAL])
def test_clients_see_no_difference_and_captures_accuse_nobody_wrongly(mode: str) -> None:
    answer = VALID.get(mode) or UNUSUAL[mode]
    with (
        raw_server({CHAT: answer}) as server,
        tapped(server.address) as (address, sink),
        tapped(server.address, add_token_ids=True) as (asking, kept_with_ids),
    ):
        direct = outcome(server.address)
        assert outcome(address) == direct
        inspection = inspect(sink.capture())
        with_ids = outcome(asking)
        inspection_with_ids = inspect(kept_with_ids.capture())
    assert with_ids[0] == direct[0]
    assert with_ids[3] == direct[3]
    if mode not in MISLABELLED:
        assert b'"token_ids": [' not in with_ids[2]
    assert inspection_with_ids.verdict.level == inspection.verdict.level
    if mode in VALID:
        assert (inspection.verdict.level, inspection.findings) == (Level.CLEAN, [])
    if not direct[3] and mode not in {"no end", "nothing", "an empty body", "no type", "204", "307"}:
        assert Kind.DISCONNECTED not in {finding.kind for finding in inspection.findings}


@pytest.mark.parametrize("mode", BROKEN)
def test_what_is_no_answer_is_told_in_a_sentence(mode: str) -> None:
    with raw_server({CHAT: BROKEN[mode]}) as server, tapped(server.address) as (address, sink):
        answer = ask(address, {"model": "m"})
        capture = sink.capture()
    assert answer.status_code == 502
    message = answer.json()["error"]["message"]
    assert server.address in message
    assert capture.end is not None
    assert capture.end.detail == message
