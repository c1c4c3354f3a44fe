"""A matrix of odd upstreams: clients see no difference, captures accuse nobody wrongly."""

import gzip
import json
import zlib

import httpx
import pytest

from inspector.analysis.audit import Kind
from inspector.analysis.audit.verdict import Level
from inspector.inspection.inspection import inspect
from tests.support.answers import CHAT, DONE, SAID
from tests.support.raw_server import Answer, chunked, page, raw_server, sse, stream
from tests.support.upstreams import ask, tapped

WHOLE = b"".join([*SAID, DONE])
JSON = json.dumps({"object": "chat.completion", "choices": [{"index": 0, "message": {"content": "Hi"}}]})
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n"


def said(*pieces: bytes, end: bool = True, coding: str = "") -> Answer:
    return lambda _: stream(pieces, end=end, coding=coding)


def raw(*pieces: bytes) -> Answer:
    return lambda _: list(pieces)


def status(code: int, body: str = '{"error":{"message":"no"}}', kind: str = "application/json") -> Answer:
    return lambda _: [page(code, body, kind)]


def framed(body: bytes, extra: bytes = b"") -> Answer:
    return raw(HEAD + extra + b"content-length: %d\r\n\r\n" % len(body) + body)


PACKED = gzip.compress(WHOLE)
HALF = len(SAID[2]) // 2

WELL: dict[str, Answer] = {
    "whole": said(*SAID, DONE),
    "one chunk": said(WHOLE),
    "a byte a chunk": said(*(WHOLE[at : at + 1] for at in range(len(WHOLE)))),
    "cr lf": said(WHOLE.replace(b"\n", b"\r\n")),
    "cr": said(WHOLE.replace(b"\n", b"\r")),
    "byte order mark": said(b"\xef\xbb\xbf" + WHOLE),
    "comments": said(b": ping\n\n", *SAID, b": pong\n\n", DONE),
    "ids and retries": said(b"retry: 5\n\n", *(b"id: 7\n" + raw for raw in SAID), DONE),
    "named events": said(*(b"event: message\n" + raw for raw in SAID), DONE),
    "blank lines": said(b"\n\n\n", *SAID, b"\n\n\n", DONE),
    "no space after the colon": said(WHOLE.replace(b"data: ", b"data:")),
    "gzip": said(PACKED, coding="gzip"),
    "gzip in members": said(*(gzip.compress(raw) for raw in [*SAID, DONE]), coding="gzip"),
    "gzip in bytes": said(*(PACKED[at : at + 1] for at in range(len(PACKED))), coding="gzip"),
    "gzip with padding": said(PACKED, bytes(64), coding="gzip"),
    "gzip that is none": said(WHOLE, coding="gzip"),
    "deflate": said(zlib.compress(WHOLE), coding="deflate"),
    "identity": said(WHOLE, coding="identity"),
    "with a length": framed(WHOLE),
    "until it closes": raw(HEAD + b"\r\n" + WHOLE),
    "http 1.0": raw(HEAD.replace(b"1.1", b"1.0") + b"\r\n" + WHOLE),
    "the same header twice": framed(WHOLE, b"x-a: 1\r\nx-a: 2\r\nset-cookie: a\r\nset-cookie: b\r\n"),
    "trailers": raw(HEAD + b"transfer-encoding: chunked\r\n\r\n" + chunked(WHOLE) + b"0\r\nx-end: 1\r\n\r\n"),
    "early hints": raw(b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n", HEAD + b"\r\n" + WHOLE),
}
OTHER: dict[str, Answer] = {
    "br that nobody asked for": said(b"\x8b\x01\x80" + WHOLE[:40], coding="br"),
    "zstd that nobody asked for": said(b"\x28\xb5\x2f\xfd" + WHOLE[:40], coding="zstd"),
    "damaged gzip": said(gzip.compress(WHOLE * 50)[:-200] + b"\xff" * 100, coding="gzip"),
    "no end": said(*SAID),
    "two ends": said(*SAID, DONE, DONE),
    "cut between events": said(*SAID[:3], end=False),
    "cut inside an event": said(*SAID[:2], SAID[2][:HALF], end=False),
    "cut inside a length": raw(HEAD + b"content-length: 99999\r\n\r\n" + WHOLE),
    "an error in the stream": said(*SAID[:2], sse({"error": {"message": "dead", "code": 500}}), DONE),
    "no JSON": said(b"data: {\n\n", *SAID, DONE),
    "invalid UTF-8": said(b'data: {"x":"\xff\xfe"}\n\n', *SAID, DONE),
    "NUL bytes": said(b"data: \x00\n\n", *SAID, DONE),
    "a long event": said(b"data: " + b"x" * 2**20 + b"\n\n", *SAID, DONE),
    "nothing": said(),
    "an empty body": framed(b""),
    "not streamed": status(200, JSON),
    "a web page": status(200, "<html>hello</html>", "text/html"),
    "a stream called JSON": raw(HEAD.replace(b"text/event-stream", b"application/json") + b"\r\n" + WHOLE),
    "no type": raw(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n" + WHOLE),
    **{str(code): status(code) for code in (204, 307, 400, 401, 404, 422, 429, 500, 503)},
    "a gateway's page": status(502, "<html><h1>502</h1></html>", "text/html"),
    "an error as a stream": raw(HEAD.replace(b"200 OK", b"500 X") + b"\r\n" + WHOLE),
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
    came: list[bytes] = []
    with httpx.stream("POST", address + CHAT, json={"model": "m"}, timeout=20) as answer:
        try:
            came.extend(answer.iter_raw())
        except httpx.TransportError:
            return answer.status_code, answer.headers.get("content-type", ""), b"".join(came), True
    return answer.status_code, answer.headers.get("content-type", ""), b"".join(came), False


@pytest.mark.parametrize("mode", [*WELL, *OTHER])
def test_clients_see_no_difference_and_captures_accuse_nobody_wrongly(mode: str) -> None:
    answer = WELL.get(mode) or OTHER[mode]
    with (
        raw_server({CHAT: answer}) as server,
        tapped(server.address) as (address, kept),
        tapped(server.address, add_token_ids=True) as (asking, kept_with_ids),
    ):
        direct = outcome(server.address)
        assert outcome(address) == direct
        inspection = inspect(kept.capture())
        with_ids = outcome(asking)
        inspection_with_ids = inspect(kept_with_ids.capture())
    assert with_ids[0] == direct[0]
    assert with_ids[3] == direct[3]
    if mode not in MISLABELLED:
        assert b'"token_ids": [' not in with_ids[2]
    assert inspection_with_ids.verdict.level == inspection.verdict.level
    if mode in WELL:
        assert (inspection.verdict.level, inspection.findings) == (Level.CLEAN, [])
    if not direct[3] and mode not in {"no end", "nothing", "an empty body", "no type", "204", "307"}:
        assert Kind.DISCONNECTED not in {finding.kind for finding in inspection.findings}


@pytest.mark.parametrize("mode", BROKEN)
def test_what_is_no_answer_is_told_in_a_sentence(mode: str) -> None:
    with raw_server({CHAT: BROKEN[mode]}) as server, tapped(server.address) as (address, kept):
        answer = ask(address, {"model": "m"})
        capture = kept.capture()
    assert answer.status_code == 502
    message = answer.json()["error"]["message"]
    assert server.address in message
    assert capture.end is not None
    assert capture.end.detail == message
