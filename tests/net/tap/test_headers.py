"""Headers, content codings and keys on their way through the tap."""

import gzip
import json
import zlib

import httpx
import pytest
import zstandard

from tests.support.listening import listening
from tests.support.upstreams import CHUNKS, SSE, Echo, ask, sent, tapped


def test_headers_of_one_connection_stay_on_it_and_none_is_added() -> None:
    echo = Echo(
        headers=[
            (b"connection", b"x-hop"),
            (b"x-hop", b"1"),
            (b"set-cookie", b"a=1"),
            (b"set-cookie", b"b=2"),
        ]
    )
    headers = {
        "authorization": "Bearer k",
        "connection": "x-mine",
        "x-mine": "1",
        "te": "trailers",
        "x-kept": "2",
    }
    with listening(echo) as up, tapped(up) as (address, _):
        answer = httpx.get(f"{address}/v1/models", headers=headers)
        second = httpx.get(f"{address}/v1/models", headers={"user-agent": "mine"})
        host = up.removeprefix("http://")
    assert "x-hop" not in answer.headers
    assert answer.headers.get_list("set-cookie") == ["a=1", "b=2"]
    assert "x-mine" not in sent(echo)
    assert "te" not in sent(echo)
    assert sent(echo)["authorization"] == "Bearer k"
    assert sent(echo)["x-kept"] == "2"
    assert second.status_code == 200
    assert set(sent(echo, 1)) == {"host", "accept", "accept-encoding", "user-agent"}
    assert sent(echo, 1)["host"] == host


def coded(coding: str) -> list[bytes]:
    if coding == "gzip":
        packer = zlib.compressobj(wbits=31)
        return [packer.compress(chunk) + packer.flush(zlib.Z_SYNC_FLUSH) for chunk in CHUNKS] + [
            packer.flush()
        ]
    packer = zlib.compressobj()
    return [packer.compress(chunk) + packer.flush(zlib.Z_SYNC_FLUSH) for chunk in CHUNKS] + [packer.flush()]


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_coded_streams_pass_as_they_are_and_are_kept_decoded(coding: str) -> None:
    pieces = coded(coding)
    echo = Echo(pieces, headers=[*SSE, (b"content-encoding", coding.encode())])
    with listening(echo) as up, tapped(up) as (address, sink):
        with httpx.stream("POST", f"{address}/v1/chat/completions", json={}) as answer:
            assert answer.headers["content-encoding"] == coding
            assert b"".join(answer.iter_raw()) == b"".join(pieces)
        assert [json.loads(event.data)["n"] for event in sink.capture().events] == [0, 1, 2]


def test_a_gzipped_body_passes_as_it_is_and_is_kept_decoded() -> None:
    body = gzip.compress(b'{"choices":[]}')
    echo = Echo([body], headers=[(b"content-type", b"application/json"), (b"content-encoding", b"gzip")])
    with listening(echo) as up, tapped(up) as (address, sink):
        with httpx.stream("POST", f"{address}/v1/chat/completions", json={}) as answer:
            assert b"".join(answer.iter_raw()) == body
        assert [event.data for event in sink.capture().events] == ['{"choices":[]}']


def test_codings_that_cannot_be_read_are_not_asked_for_where_answers_are_kept() -> None:
    echo = Echo()
    headers = {"accept-encoding": "zstd, gzip;q=0.8, br, *"}
    with listening(echo) as up, tapped(up) as (address, _):
        ask(address, {}, **headers)
        httpx.get(f"{address}/v1/models", headers=headers)
    assert sent(echo)["accept-encoding"] == "gzip;q=0.8"
    assert sent(echo, 1)["accept-encoding"] == "zstd, gzip;q=0.8, br, *"


def test_a_coding_that_nobody_asked_for_still_passes() -> None:
    body = zstandard.compress(b"data: [DONE]\n\n")
    echo = Echo([body], headers=[*SSE, (b"content-encoding", b"zstd")])
    with listening(echo) as up, tapped(up) as (address, sink):
        with httpx.stream("POST", f"{address}/v1/chat/completions", json={}) as answer:
            assert b"".join(answer.iter_raw()) == body
        assert sink.capture().header.status == 200
