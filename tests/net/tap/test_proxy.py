"""The tap between real clients and real servers: what passes, and what stays out."""

import asyncio
import socket

import httpx
import openai
import pytest

from inspector.analysis.reading import read
from inspector.capture.capture import Endpoint, EventKind
from inspector.capture.errors import InspectorError
from inspector.inspection.inspection import inspect
from inspector.net.client.address import Server
from inspector.net.tap import Upstream
from inspector.protocol.wire.endpoints import spec_of
from tests.support.builtin import CAPTURES, COMPLETE_CHAT, RESPONSES, TEXT
from tests.support.listening import listening
from tests.support.upstreams import Echo, Flood, raw, sent, tapped


@pytest.mark.parametrize("name", CAPTURES)
@pytest.mark.parametrize("streamed", [True, False])
def test_every_answer_passes_byte_for_byte_and_becomes_a_capture(
    playback: str, name: str, streamed: bool
) -> None:
    path = spec_of(CAPTURES[name].header.endpoint).full_path
    body = {
        "model": name,
        "stream": streamed,
        "stream_options": {"include_usage": True},
        "return_token_ids": True,
        "skip_special_tokens": False,
    }
    with tapped(playback) as (address, sink):
        direct, through = raw(f"{playback}{path}", body), raw(f"{address}{path}", body)
        assert direct == through
        capture = sink.capture()
    assert capture.header.endpoint is CAPTURES[name].header.endpoint
    assert capture.header.request == body
    assert capture.header.status == direct[0]
    if streamed:
        assert [event.data for event in capture.events] == [event.data for event in CAPTURES[name].events]
        assert [finding.kind for finding in inspect(capture).findings] == [
            finding.kind for finding in inspect(CAPTURES[name]).findings
        ]
    else:
        assert [event.kind for event in capture.events] == [EventKind.BODY]


def test_the_openai_client_runs_unchanged(playback: str) -> None:
    with (
        tapped(playback) as (address, sink),
        openai.OpenAI(base_url=f"{address}/v1", api_key="sk-secret-of-mine") as client,
    ):
        assert {model.id for model in client.models.list()} >= set(CAPTURES)
        stream = client.chat.completions.create(
            model=COMPLETE_CHAT, messages=[], stream=True, extra_body={"return_token_ids": True}
        )
        text = "".join(chunk.choices[0].delta.content or "" for chunk in stream)
        answer = client.responses.create(model=RESPONSES, input="x")
        first, second = sink.capture(0), sink.capture(1)
    assert text == answer.output_text == TEXT
    assert inspect(first).findings == []
    assert (first.header.endpoint, second.header.endpoint) == (Endpoint.CHAT, Endpoint.RESPONSES)
    assert first.header.source == "tap up"


def test_the_async_client_runs_unchanged(playback: str) -> None:
    async def talk(address: str) -> str:
        async with openai.AsyncOpenAI(base_url=f"{address}/v1", api_key="k") as client:
            stream = await client.chat.completions.create(model=COMPLETE_CHAT, messages=[], stream=True)
            return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

    with tapped(playback) as (address, sink):
        assert asyncio.run(talk(address)) == TEXT
        assert read(sink.capture()).choice.delivered().content == TEXT


def test_method_path_query_and_body_reach_the_upstream_as_they_were_sent() -> None:
    echo = Echo()
    with listening(echo) as up, tapped(up) as (address, sink):
        url = httpx.URL(address).copy_with(raw_path=b"/tap/up/v1/files/a%2Fb%20c?x=%20+&y=%C3%A9&z")
        answer = httpx.request("PATCH", url, content=b"\x00\xff raw", headers={"x-mine": "1"})
        assert answer.text == "ok"
        assert sink.headers == []
    scope = echo.scopes[0]
    assert scope["method"] == "PATCH"
    assert scope["raw_path"] == b"/v1/files/a%2Fb%20c"
    assert scope["query_string"] == b"x=%20+&y=%C3%A9&z"
    assert echo.bodies == [b"\x00\xff raw"]
    assert sent(echo)["x-mine"] == "1"


def test_the_upstream_is_never_chosen_from_outside() -> None:
    echo = Echo()
    with listening(echo) as up, tapped(up) as (address, _):
        at = httpx.URL(address)
        for headers in (
            {"host": "example.com"},
            {"x-forwarded-host": "example.com", "forwarded": "host=example.com"},
        ):
            assert httpx.get(f"{address}/v1/models", headers=headers).text == "ok"
        for path in (b"/tap/up//example.com/x", b"/tap/up/@example.com/x", b"/tap/up/http://example.com/x"):
            assert httpx.get(at.copy_with(raw_path=path)).text == "ok"
        for path in (b"/tap/other/v1/models", b"/v1/models"):
            assert httpx.get(at.copy_with(raw_path=path)).status_code == 404
    assert len(echo.scopes) == 5
    assert {sent(echo, number)["host"] for number in range(5)} == {up.removeprefix("http://")}


@pytest.mark.parametrize(
    "path", ["/v1/../admin", "/v1/%2e%2e/admin", "/v1/..%2fadmin", "/v1/%2E./x", "/v1/..%5cadmin"]
)
def test_paths_that_climb_are_refused(path: str) -> None:
    echo = Echo()
    with listening(echo) as up, tapped(f"{up}/gateway/v1") as (address, _):
        host, port = address.removeprefix("http://").partition("/")[0].split(":")
        assert exchange(host, int(port), f"GET /tap/up{path} HTTP/1.1").startswith(b"HTTP/1.1 400")
        assert httpx.get(f"{address}/v1/models").text == "ok"
    assert [scope["raw_path"] for scope in echo.scopes] == [b"/gateway/v1/models"]


def exchange(host: str, port: int, first_line: str) -> bytes:
    """The head of an answer to a request that no client library sends."""
    with socket.create_connection((host, port), timeout=20) as connection:
        connection.sendall(f"{first_line}\r\nhost: x\r\nconnection: close\r\n\r\n".encode())
        return connection.recv(4096)


def test_redirects_are_the_clients_business() -> None:
    echo = Echo(status=307, headers=[(b"location", b"http://example.com/v1/models")])
    with listening(echo) as up, tapped(up) as (address, _):
        answer = httpx.get(f"{address}/v1/models")
    assert (answer.status_code, answer.headers["location"]) == (307, "http://example.com/v1/models")
    assert len(echo.scopes) == 1


def test_the_upstream_waits_for_a_slow_client() -> None:
    flood = Flood()
    with (
        listening(flood) as up,
        tapped(up) as (address, _),
        httpx.stream("POST", f"{address}/v1/chat/completions", json={}),
    ):
        assert flood.left.wait(120), "the upstream was never held back"
    assert flood.sent_bytes < 64 * 2**20


def test_eight_streams_at_once_lose_nothing(playback: str) -> None:
    async def final_answer(client: openai.AsyncOpenAI) -> str:
        stream = await client.chat.completions.create(
            model=COMPLETE_CHAT, messages=[], stream=True, extra_body={"return_token_ids": True}
        )
        return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

    async def all_of_them(address: str) -> list[str]:
        async with openai.AsyncOpenAI(base_url=f"{address}/v1", api_key="k") as client:
            return await asyncio.gather(*(final_answer(client) for _ in range(8)))

    with tapped(playback) as (address, sink):
        assert asyncio.run(all_of_them(address)) == [TEXT] * 8
        captures = [sink.capture(number) for number in range(8)]
    assert all(inspect(capture).findings == [] for capture in captures)


@pytest.mark.parametrize("name", ["", "a/b", "..", "a b", "é", "-x"])
def test_an_upstream_has_a_name_that_an_address_can_hold(name: str) -> None:
    with pytest.raises(InspectorError, match="invalid upstream name"):
        Upstream(name=name, server=Server(base_url="http://localhost:1"))


TARGETS = [
    b"/v1/files/a#b",
    b"/v1/files?x=#y",
    b'/v1/"<x>{y}`|^\\',
    b"/v1/a%0Ab%00c",
    b"/v1/%ff%ed%a0%80",
    b"/v1/a[b]~!$&'()*+,;=:@",
    b'/v1/x?a="<>{}`|&b=%ED%A0%80',
]


@pytest.mark.parametrize("target", TARGETS, ids=ascii)
def test_odd_targets_reach_the_upstream_byte_for_byte(target: bytes) -> None:
    echo = Echo()
    with listening(echo) as up, tapped(up) as (address, _):
        host, port = address.removeprefix("http://").partition("/")[0].split(":")
        with socket.create_connection((host, int(port)), timeout=20) as connection:
            head = b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            connection.sendall(b"GET /tap/up" + target + head)
            assert connection.recv(4096).startswith(b"HTTP/1.1 200")
    (scope,) = echo.scopes
    path, _, query = target.partition(b"?")
    assert (scope["raw_path"], scope["query_string"]) == (path, query)


def test_a_length_beside_chunks_does_not_count() -> None:
    echo = Echo()
    with listening(echo) as up, tapped(up) as (address, _):
        host, port = address.removeprefix("http://").partition("/")[0].split(":")
        with socket.create_connection((host, int(port)), timeout=20) as connection:
            connection.sendall(
                b"POST /tap/up/v1/files HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                b"Content-Length: 50\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"
            )
            status = connection.recv(4096).split(b" ")[1]
    assert status in {b"200", b"400"}  # a server may refuse such a request, as RFC 9112 allows
    assert echo.bodies in ([b"hi"], [])
