"""The tap between real clients and real servers: what passes, what is kept, and what is not."""

import asyncio
import gzip
import json
import socket
import threading
import zlib
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
import zstandard
from starlette.applications import Starlette
from starlette.types import Receive, Scope, Send

from inspector.capture import Capture, Endpoint, Event, EventKind
from inspector.client.address import Server
from inspector.client.recorder import Sink
from inspector.errors import InspectorError, StoreError
from inspector.inspection import inspect
from inspector.playback import Settings, playback_routes
from inspector.reading import read
from inspector.store import builtin, load
from inspector.tap import FolderSink, Tap, Upstream, tap_routes
from tests.listening import Kept, listening

CAPTURES = {row.name: load(row.path)[0] for row in builtin()}
CHATS = [name for name, one in CAPTURES.items() if one.header.endpoint is Endpoint.CHAT]
WHOLE = "chat-whole-one-token-per-step-vllm-0.13.0"
RESPONSES = "responses-whole-vllm-0.14.1"
TEXT = "Hello there! 👋🏽 How can I help?"


@pytest.fixture(scope="module")
def playback() -> Iterator[str]:
    routes = playback_routes(lambda: CAPTURES, prefix="", settings=Settings(speed=float("inf")))
    with listening(Starlette(routes=routes)) as at:
        yield at


@contextmanager
def tapped(
    upstream: str, *, add_token_ids: bool = False, sink: Sink | None = None, verify: bool | str = True
) -> Iterator[tuple[str, Kept]]:
    """A tap before a server: its address, and what it keeps."""
    kept = Kept()
    server = Server(base_url=upstream, verify=verify)
    one = Upstream(name="up", server=server, add_token_ids=add_token_ids)
    tap = Tap(one, sink or kept)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await tap.aclose()

    with listening(Starlette(routes=tap_routes([tap]), lifespan=lifespan)) as at:
        yield f"{at}/tap/up", kept


class Echo:
    """An upstream that keeps what reaches it and answers with what it is told."""

    def __init__(
        self,
        pieces: Sequence[bytes] = (b"ok",),
        *,
        status: int = 200,
        headers: Sequence[tuple[bytes, bytes]] = ((b"content-type", b"text/plain"),),
        pause: Callable[[], Any] | None = None,
        version: str = "0.99.0",
    ) -> None:
        self.version = version
        self.owned_by = "vllm"
        self.pieces = pieces
        self.status = status
        self.headers = list(headers)
        self.pause = pause
        self.scopes: list[Scope] = []
        self.bodies: list[bytes] = []
        self.left = threading.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if scope["path"].endswith("/version"):
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": json.dumps({"version": self.version}).encode()})
            return
        if scope["path"].endswith("/models"):
            models = {"data": [{"id": "m", "owned_by": self.owned_by}]}
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": json.dumps(models).encode()})
            return
        body = b""
        while (message := await receive())["type"] == "http.request":
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        self.scopes.append(scope)
        self.bodies.append(body)
        await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
        for piece in self.pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        if self.pause is not None:
            while (await receive())["type"] != "http.disconnect":
                pass
            self.left.set()
            return
        await send({"type": "http.response.body", "body": b"", "more_body": False})


SSE = ((b"content-type", b"text/event-stream; charset=utf-8"),)


class Flood(Echo):
    """Sends as fast as it may; stops counting where back-pressure stops it."""

    block = b": " + b"x" * 65532 + b"\n\n"

    @property
    def sent_bytes(self) -> int:
        return len(self.bodies) * len(self.block)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await super().__call__(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": 200, "headers": list(SSE)})
        for _ in range(4000):
            try:
                async with asyncio.timeout(3):
                    await send({"type": "http.response.body", "body": self.block, "more_body": True})
            except TimeoutError:
                self.left.set()
                return
            self.bodies.append(b"")


def sent(echo: Echo, number: int = 0) -> dict[str, str]:
    """Headers of a request as the upstream got them."""
    return {name.decode(): content.decode("latin-1") for name, content in echo.scopes[number]["headers"]}


def ask(address: str, body: dict[str, Any], **headers: str) -> httpx.Response:
    return httpx.post(f"{address}/v1/chat/completions", json=body, headers=headers, timeout=20)


# -- what passes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CAPTURES)
@pytest.mark.parametrize("streamed", [True, False])
def test_every_answer_passes_byte_for_byte_and_becomes_a_capture(
    playback: str, name: str, streamed: bool
) -> None:
    paths = {
        Endpoint.CHAT: "/v1/chat/completions",
        Endpoint.RESPONSES: "/v1/responses",
        Endpoint.COMPLETIONS: "/v1/completions",
    }
    path = paths[CAPTURES[name].header.endpoint]
    body = {
        "model": name,
        "stream": streamed,
        "stream_options": {"include_usage": True},
        "return_token_ids": True,
        "skip_special_tokens": False,
    }
    with tapped(playback) as (address, kept):
        direct, through = raw(f"{playback}{path}", body), raw(f"{address}{path}", body)
        assert direct == through
        capture = kept.capture()
    assert capture.header.endpoint is CAPTURES[name].header.endpoint
    assert capture.header.request == body
    assert capture.header.status == direct[0]
    if streamed:
        assert [event.data for event in capture.events] == [event.data for event in CAPTURES[name].events]
        assert [one.kind for one in inspect(capture).findings] == [
            one.kind for one in inspect(CAPTURES[name]).findings
        ]
    else:
        assert [event.kind for event in capture.events] == [EventKind.BODY]


def raw(url: str, body: dict[str, Any]) -> tuple[int, bytes, bool]:
    """Status, undecoded bytes, and whether the connection broke."""
    came: list[bytes] = []
    status = 0
    try:
        with httpx.stream("POST", url, json=body, timeout=20) as answer:
            status = answer.status_code
            came.extend(answer.iter_raw())
    except httpx.RemoteProtocolError:
        return status, b"".join(came), True
    return status, b"".join(came), False


def test_the_openai_client_runs_unchanged(playback: str) -> None:
    with (
        tapped(playback) as (address, kept),
        openai.OpenAI(base_url=f"{address}/v1", api_key="sk-secret-of-mine") as client,
    ):
        assert {model.id for model in client.models.list()} >= set(CAPTURES)
        stream = client.chat.completions.create(
            model=WHOLE, messages=[], stream=True, extra_body={"return_token_ids": True}
        )
        text = "".join(chunk.choices[0].delta.content or "" for chunk in stream)
        answer = client.responses.create(model=RESPONSES, input="x")
        first, second = kept.capture(0), kept.capture(1)
    assert text == answer.output_text == TEXT
    assert inspect(first).findings == []
    assert (first.header.endpoint, second.header.endpoint) == (Endpoint.CHAT, Endpoint.RESPONSES)
    assert first.header.source == "tap up"


def test_the_async_client_runs_unchanged(playback: str) -> None:
    async def talk(address: str) -> str:
        async with openai.AsyncOpenAI(base_url=f"{address}/v1", api_key="k") as client:
            stream = await client.chat.completions.create(model=WHOLE, messages=[], stream=True)
            return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

    with tapped(playback) as (address, kept):
        assert asyncio.run(talk(address)) == TEXT
        assert read(kept.capture()).choice.delivered().content == TEXT


def test_method_path_query_and_body_reach_the_upstream_as_they_were_sent() -> None:
    echo = Echo()
    with listening(echo) as up, tapped(up) as (address, kept):
        url = httpx.URL(address).copy_with(raw_path=b"/tap/up/v1/files/a%2Fb%20c?x=%20+&y=%C3%A9&z")
        answer = httpx.request("PATCH", url, content=b"\x00\xff raw", headers={"x-mine": "1"})
        assert answer.text == "ok"
        assert kept.headers == []
    scope = echo.scopes[0]
    assert scope["method"] == "PATCH"
    assert scope["raw_path"] == b"/v1/files/a%2Fb%20c"
    assert scope["query_string"] == b"x=%20+&y=%C3%A9&z"
    assert echo.bodies == [b"\x00\xff raw"]
    assert sent(echo)["x-mine"] == "1"


def test_a_long_upload_passes_without_being_held() -> None:
    echo = Echo()
    pieces = [b"x" * 65536] * 200

    with listening(echo) as up, tapped(up) as (address, _):
        httpx.post(f"{address}/v1/audio", content=iter(pieces)).raise_for_status()
    assert len(echo.bodies[0]) == 65536 * 200


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE", "OPTIONS"])
def test_requests_without_a_body_stay_without_one(method: str) -> None:
    echo = Echo(headers=[(b"content-length", b"2"), (b"x-theirs", b"1")])
    with listening(echo) as up, tapped(up) as (address, _):
        answer = httpx.request(method, f"{address}/v1/models")
        assert answer.status_code == 200
        assert answer.headers["x-theirs"] == "1"
        assert answer.headers["content-length"] == "2"
    assert "content-length" not in sent(echo)
    assert "transfer-encoding" not in sent(echo)


def test_headers_of_one_connection_stay_on_it_and_none_is_added() -> None:
    echo = Echo(
        headers=[
            (b"connection", b"x-hop"),
            (b"x-hop", b"1"),
            (b"set-cookie", b"a=1"),
            (b"set-cookie", b"b=2"),
        ]
    )
    asked = {
        "authorization": "Bearer k",
        "connection": "x-mine",
        "x-mine": "1",
        "te": "trailers",
        "x-kept": "2",
    }
    with listening(echo) as up, tapped(up) as (address, _):
        answer = httpx.get(f"{address}/v1/models", headers=asked)
        again = httpx.get(f"{address}/v1/models", headers={"user-agent": "mine"})
        host = up.removeprefix("http://")
    assert "x-hop" not in answer.headers
    assert answer.headers.get_list("set-cookie") == ["a=1", "b=2"]
    assert "x-mine" not in sent(echo)
    assert "te" not in sent(echo)
    assert sent(echo)["authorization"] == "Bearer k"
    assert sent(echo)["x-kept"] == "2"
    assert again.status_code == 200
    assert set(sent(echo, 1)) == {"host", "accept", "accept-encoding", "user-agent"}
    assert sent(echo, 1)["host"] == host


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


# -- content codings --------------------------------------------------------------------------------

PIECES = [f"data: {json.dumps({'choices': [], 'n': number})}\n\n".encode() for number in range(3)]


def coded(coding: str) -> list[bytes]:
    if coding == "gzip":
        packer = zlib.compressobj(wbits=31)
        return [packer.compress(one) + packer.flush(zlib.Z_SYNC_FLUSH) for one in PIECES] + [packer.flush()]
    packer = zlib.compressobj()
    return [packer.compress(one) + packer.flush(zlib.Z_SYNC_FLUSH) for one in PIECES] + [packer.flush()]


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_coded_streams_pass_as_they_are_and_are_kept_decoded(coding: str) -> None:
    pieces = coded(coding)
    echo = Echo(pieces, headers=[*SSE, (b"content-encoding", coding.encode())])
    with listening(echo) as up, tapped(up) as (address, kept):
        with httpx.stream("POST", f"{address}/v1/chat/completions", json={}) as answer:
            assert answer.headers["content-encoding"] == coding
            assert b"".join(answer.iter_raw()) == b"".join(pieces)
        assert [json.loads(event.data)["n"] for event in kept.capture().events] == [0, 1, 2]


def test_a_gzipped_body_passes_as_it_is_and_is_kept_decoded() -> None:
    body = gzip.compress(b'{"choices":[]}')
    echo = Echo([body], headers=[(b"content-type", b"application/json"), (b"content-encoding", b"gzip")])
    with listening(echo) as up, tapped(up) as (address, kept):
        with httpx.stream("POST", f"{address}/v1/chat/completions", json={}) as answer:
            assert b"".join(answer.iter_raw()) == body
        assert [event.data for event in kept.capture().events] == ['{"choices":[]}']


def test_codings_that_cannot_be_read_are_not_asked_for_where_answers_are_kept() -> None:
    echo = Echo()
    wanted = {"accept-encoding": "zstd, gzip;q=0.8, br, *"}
    with listening(echo) as up, tapped(up) as (address, _):
        ask(address, {}, **wanted)
        httpx.get(f"{address}/v1/models", headers=wanted)
    assert sent(echo)["accept-encoding"] == "gzip;q=0.8"
    assert sent(echo, 1)["accept-encoding"] == "zstd, gzip;q=0.8, br, *"


def test_a_coding_that_nobody_asked_for_still_passes() -> None:
    body = zstandard.compress(b"data: [DONE]\n\n")
    echo = Echo([body], headers=[*SSE, (b"content-encoding", b"zstd")])
    with listening(echo) as up, tapped(up) as (address, kept):
        with httpx.stream("POST", f"{address}/v1/chat/completions", json={}) as answer:
            assert b"".join(answer.iter_raw()) == body
        assert kept.capture().header.status == 200


# -- keys -------------------------------------------------------------------------------------------


def test_keys_pass_through_and_are_stored_nowhere(tmp_path: Path) -> None:
    keys = ["sk-bearer-0123456789", "key-0123456789", "cookie-0123456789", "mcp-bearer-0123456789"]
    request = {
        "model": "m",
        "stream": True,
        "tools": [
            {"type": "mcp", "server_url": "http://x", "headers": {"Authorization": f"Bearer {keys[3]}"}}
        ],
    }
    echoed = f"data: {json.dumps({'you': 'sent', 'all': keys, 'tools': request['tools']})}\n\n".encode()
    echo = Echo([echoed], headers=SSE)
    sink = FolderSink(tmp_path)
    with listening(echo) as up, tapped(up, sink=sink) as (address, _):
        answer = httpx.post(
            f"{address}/v1/responses?api_key={keys[1]}",
            json=request,
            headers={
                "Authorization": f"Bearer {keys[0]}",
                "Api-Key": keys[1],
                "Cookie": f"session={keys[2]}",
            },
        )
        assert answer.content == echoed
    assert sent(echo)["authorization"] == f"Bearer {keys[0]}"
    assert json.loads(echo.bodies[0]) == request
    (file,) = tmp_path.iterdir()
    text = file.read_text()
    assert not [key for key in keys if key in text]
    assert "[redacted]" in text
    assert load(file)[0].header.request["model"] == "m"


def test_a_key_in_an_error_page_is_not_stored() -> None:
    page = b'{"error":{"message":"Incorrect API key provided: sk-bearer-0123456789"}}'
    echo = Echo([page], status=401, headers=[(b"content-type", b"application/json")])
    with listening(echo) as up, tapped(up) as (address, kept):
        assert ask(address, {}, authorization="Bearer sk-bearer-0123456789").content == page
        capture = kept.capture()
    assert capture.header.status == 401
    assert capture.events[0].data == page.decode().replace("sk-bearer-0123456789", "[redacted]")


# -- back-pressure and leaving ----------------------------------------------------------------------


def test_a_client_that_leaves_closes_the_connection_to_the_upstream() -> None:
    echo = Echo([b"data: 1\n\n"], headers=SSE, pause=lambda: None)
    with listening(echo) as up, tapped(up) as (address, kept):
        with httpx.stream("POST", f"{address}/v1/chat/completions", json={}) as answer:
            assert next(answer.iter_raw()) == b"data: 1\n\n"
        assert echo.left.wait(20), "the upstream did not notice"
        capture = kept.capture()
    assert [event.data for event in capture.events] == ["1"]
    assert capture.end is not None
    assert (capture.end.cut, capture.end.detail) == (True, "the client closed the connection")


def test_a_client_that_leaves_before_the_answer_begins_is_noticed_too() -> None:
    class Prefill(Echo):
        async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http" and scope["method"] == "POST":
                reached.set()
                while (await receive())["type"] != "http.disconnect":
                    pass
                self.left.set()
            else:
                await super().__call__(scope, receive, send)

    reached = threading.Event()
    echo = Prefill()

    async def leave(address: str) -> None:
        async with httpx.AsyncClient() as client:
            asking = asyncio.create_task(client.post(f"{address}/v1/chat/completions", json={}))
            await asyncio.to_thread(reached.wait, 20)
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)

    with listening(echo) as up, tapped(up) as (address, kept):
        asyncio.run(leave(address))
        assert echo.left.wait(20), "the upstream did not notice"
        capture = kept.capture()
    assert capture.events == []
    assert capture.header.status is None
    assert capture.end is not None
    assert capture.end.cut


def test_the_upstream_waits_for_a_slow_client() -> None:
    flood = Flood()
    with (
        listening(flood) as up,
        tapped(up) as (address, _),
        httpx.stream("POST", f"{address}/v1/chat/completions", json={}),
    ):
        assert flood.left.wait(30), "the upstream was never held back"
    assert flood.sent_bytes < 64 * 2**20


# -- many at once, big ones -------------------------------------------------------------------------


def test_eight_streams_at_once_lose_nothing(playback: str) -> None:
    async def one(client: openai.AsyncOpenAI) -> str:
        stream = await client.chat.completions.create(
            model=WHOLE, messages=[], stream=True, extra_body={"return_token_ids": True}
        )
        return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

    async def all_of_them(address: str) -> list[str]:
        async with openai.AsyncOpenAI(base_url=f"{address}/v1", api_key="k") as client:
            return await asyncio.gather(*(one(client) for _ in range(8)))

    with tapped(playback) as (address, kept):
        assert asyncio.run(all_of_them(address)) == [TEXT] * 8
        captures = [kept.capture(number) for number in range(8)]
    assert all(inspect(capture).findings == [] for capture in captures)


def test_ten_megabytes_in_one_event_pass_and_are_kept() -> None:
    big = json.dumps({"choices": [{"index": 0, "delta": {"content": "x" * 10_000_000}}]}).encode()
    whole = b"data: " + big + b"\n\ndata: [DONE]\n\n"
    echo = Echo([whole[at : at + 100_000] for at in range(0, len(whole), 100_000)], headers=SSE)
    with listening(echo) as up, tapped(up) as (address, kept):
        assert ask(address, {"stream": True}).content == whole
        capture = kept.capture()
    assert [len(event.data) for event in capture.events] == [len(big), 6]


# -- settings ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", "a/b", "..", "a b", "é", "-x"])
def test_an_upstream_has_a_name_that_an_address_can_hold(name: str) -> None:
    with pytest.raises(InspectorError, match="an upstream cannot be called"):
        Upstream(name=name, server=Server(base_url="http://localhost:1"))


def test_a_folder_that_cannot_be_written_is_refused_before_anything_passes(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="captures cannot be written there"):
        FolderSink(tmp_path / "file" / "captures")


def test_the_version_of_the_upstream_is_kept_once_it_is_known() -> None:
    echo = Echo([b"data: [DONE]\n\n"], headers=SSE)
    with listening(echo) as up, tapped(up) as (address, kept):
        versions = set()
        for number in range(50):
            ask(address, {})
            versions.add(kept.capture(number).header.server_version)
            if "0.99.0" in versions:
                break
    assert "0.99.0" in versions


def test_a_sink_that_fails_does_not_end_the_answer(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Kept):
        def event(self, run: str, event: Event) -> None:
            raise RuntimeError(f"no room for {event.data} in {run}")

    echo = Echo(PIECES, headers=SSE)
    with listening(echo) as up, tapped(up, sink=Broken()) as (address, _):
        assert ask(address, {}).content == b"".join(PIECES)
    assert "recording stopped" in caplog.text


def captures_in(folder: Path) -> list[Capture]:
    return [load(path)[0] for path in sorted(folder.iterdir())]


def test_a_folder_holds_one_file_an_answer(playback: str, tmp_path: Path) -> None:
    said: list[str] = []
    with tapped(playback, sink=FolderSink(tmp_path / "new" / "folder", say=said.append)) as (address, _):
        for name in (WHOLE, RESPONSES):
            path = "responses" if name == RESPONSES else "chat/completions"
            httpx.post(f"{address}/v1/{path}", json={"model": name, "stream": True})
    found = {capture.header.endpoint: capture for capture in captures_in(tmp_path / "new" / "folder")}
    assert set(found) == {Endpoint.CHAT, Endpoint.RESPONSES}
    assert read(found[Endpoint.CHAT]).choice.delivered().content == TEXT
    assert len(said) == 2
    assert all("events, whole" in line for line in said)
