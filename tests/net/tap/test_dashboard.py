"""The tap on the dashboard's own port: the real app in a process of its own, before real servers."""

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import httpx
import openai
import pytest
from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send

from inspector.analysis.reading import read
from inspector.capture.capture import Capture
from inspector.capture.errors import InspectorError
from inspector.files.store import load
from inspector.inspection.inspection import inspect
from inspector.net.playback import PlaybackSettings, playback_routes
from inspector.net.runs.registry import Registry
from inspector.net.tap import DashboardTap, parse_upstreams
from tests.support.builtin import CAPTURES, COMPLETE_CHAT, RESPONSES, TEXT
from tests.support.dashboard import dashboard
from tests.support.listening import MemorySink, free_port, listening
from tests.support.loops import LOOPS
from tests.support.upstreams import SSE, Echo, Flood, raw, sent

ROOT = Path(__file__).parents[3]
VARIABLE = "HARMONY_INSPECTOR_UPSTREAMS"


class Switch:
    """An upstream that is another one in each test."""

    def __init__(self) -> None:
        self.app: ASGIApp = Echo()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self.app(scope, receive, send)


@dataclass
class DashboardWithTap:
    """A dashboard with a tap, and what is behind and beside it."""

    at: str
    switch: Switch
    direct: str
    playback: str
    captures: Path

    @property
    def tap(self) -> str:
        return f"{self.at}/tap/up"

    def files(self) -> set[Path]:
        return set(self.captures.glob("*.jsonl"))

    def feed(self, file: Path) -> Iterator[tuple[str, dict[str, object]]]:
        """What a browser reads of the run that writes this file, to its end."""
        name = ""
        with httpx.stream("GET", f"{self.at}/inspector/runs/{file.stem}/feed", timeout=180) as answer:
            assert answer.status_code == 200
            for line in answer.iter_lines():
                if line.startswith("event: "):
                    name = line.removeprefix("event: ")
                elif line.startswith("data: "):
                    yield name, json.loads(line.removeprefix("data: "))

    def ended(self, file: Path) -> Capture:
        """The capture in a file, once its run has ended."""
        for name, _ in self.feed(file):
            if name == "end":
                break
        return load(file)


@pytest.fixture(scope="module", params=LOOPS)
def dashboard_with_tap(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DashboardWithTap]:
    """On both event loops: on uvloop, which is there beside vLLM, the tap once sent no response."""
    captures = tmp_path_factory.mktemp("dashboard_with_tap") / "captures"
    routes = playback_routes(lambda: CAPTURES, prefix="", settings=PlaybackSettings(speed=float("inf")))
    switch = Switch()
    with ExitStack() as stack:
        played = stack.enter_context(listening(Starlette(routes=routes)))
        direct = stack.enter_context(listening(switch))
        upstreams = f"up={direct} played={played}/v1 asked+ids={played}"
        at = stack.enter_context(dashboard(captures, upstreams, loop=request.param))
        yield DashboardWithTap(at, switch, direct, played, captures)


# -- what passes, what is kept ----------------------------------------------------------------------


def test_the_openai_client_runs_unchanged_and_each_answer_is_a_live_run_with_a_capture(
    dashboard_with_tap: DashboardWithTap,
) -> None:
    before = dashboard_with_tap.files()
    with openai.OpenAI(
        base_url=f"{dashboard_with_tap.at}/tap/played/v1", api_key="sk-secret-of-mine"
    ) as client:
        assert {model.id for model in client.models.list()} >= set(CAPTURES)
        stream = client.chat.completions.create(
            model=COMPLETE_CHAT, messages=[], stream=True, extra_body={"return_token_ids": True}
        )
        text = "".join(chunk.choices[0].delta.content or "" for chunk in stream)
        answer = client.responses.create(model=RESPONSES, input="x")
    assert text == answer.output_text == TEXT
    new = dashboard_with_tap.files() - before
    captures = {capture.header.endpoint.value: capture for capture in map(dashboard_with_tap.ended, new)}
    assert set(captures) == {"chat", "responses"}
    assert inspect(captures["chat"]).findings == []
    assert captures["chat"].header.source == "tap played"
    assert not [file for file in new if "sk-secret-of-mine" in file.read_text()]


def test_token_ids_are_asked_for_where_the_mark_says_so(dashboard_with_tap: DashboardWithTap) -> None:
    before = dashboard_with_tap.files()
    with openai.OpenAI(base_url=f"{dashboard_with_tap.at}/tap/asked/v1", api_key="k") as client:
        stream = client.chat.completions.create(model=COMPLETE_CHAT, messages=[], stream=True)
        chunks = [chunk.model_dump() for chunk in stream]
    assert chunks
    assert not [chunk for chunk in chunks for choice in chunk["choices"] if choice.get("token_ids")]
    (file,) = dashboard_with_tap.files() - before
    assert list(read(dashboard_with_tap.ended(file)).choice.tokens.ids) == list(
        read(CAPTURES[COMPLETE_CHAT]).choice.tokens.ids
    )


def test_a_run_is_shown_while_it_streams(dashboard_with_tap: DashboardWithTap) -> None:
    payloads = [event.data.encode() for event in CAPTURES[COMPLETE_CHAT].events[:6]]
    dashboard_with_tap.switch.app = Echo(
        [b"data: " + payload + b"\n\n" for payload in payloads], headers=SSE, pause=lambda: None
    )
    before = dashboard_with_tap.files()
    with httpx.stream(
        "POST", f"{dashboard_with_tap.tap}/v1/chat/completions", json={"stream": True}
    ) as answer:
        received = b""
        for piece in answer.iter_raw():
            received += piece
            if received.count(b"\n\n") == len(payloads):
                break
        (file,) = dashboard_with_tap.files() - before
        name, grown = next(dashboard_with_tap.feed(file))
    assert name == "grow"
    assert grown["ids"]
    capture = dashboard_with_tap.ended(file)
    assert len(capture.events) == len(payloads)
    assert capture.end is not None
    assert capture.end.detail == "the client closed the connection"


@pytest.mark.parametrize("coding", ["gzip", "identity"])
def test_bytes_and_headers_are_those_of_the_upstream(
    dashboard_with_tap: DashboardWithTap, coding: str
) -> None:
    """The dashboard compresses its own answers; those of the tap are somebody else's."""
    body = json.dumps({"choices": [], "long": "x" * 5000}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"date", b"Mon, 01 Jan 2024 00:00:00 GMT"),
        (b"server", b"theirs"),
        (b"x-theirs", b"1"),
    ]
    dashboard_with_tap.switch.app = Echo([body], headers=headers)
    with httpx.stream(
        "POST", f"{dashboard_with_tap.tap}/v1/chat/completions", json={}, headers={"accept-encoding": coding}
    ) as answer:
        assert b"".join(answer.iter_raw()) == body
        names = [name.lower() for name in answer.headers]
    assert "content-encoding" not in names
    assert "set-cookie" not in names
    assert answer.headers["x-theirs"] == "1"
    assert len(answer.headers.get_list("date")) == len(answer.headers.get_list("server")) == 1


@pytest.mark.parametrize("streamed", [True, False])
def test_a_played_answer_is_the_same_through_the_port(
    dashboard_with_tap: DashboardWithTap, streamed: bool
) -> None:
    body = {"model": COMPLETE_CHAT, "stream": streamed, "return_token_ids": True}
    path = "/v1/chat/completions"
    assert raw(f"{dashboard_with_tap.at}/tap/played{path}", body) == raw(
        f"{dashboard_with_tap.playback}{path}", body
    )


def test_paths_reach_the_upstream_as_they_were_sent(dashboard_with_tap: DashboardWithTap) -> None:
    dashboard_with_tap.switch.app = echo = Echo()
    url = httpx.URL(dashboard_with_tap.tap).copy_with(raw_path=b"/tap/up/v1/files//a%2Fb%20c?x=%20+&y=%C3%A9")
    assert httpx.request("PATCH", url, content=b"\x00\xff").text == "ok"
    assert (echo.scopes[0]["raw_path"], echo.scopes[0]["query_string"]) == (
        b"/v1/files//a%2Fb%20c",
        b"x=%20+&y=%C3%A9",
    )
    assert echo.bodies == [b"\x00\xff"]


# -- back-pressure and leaving ----------------------------------------------------------------------


def test_a_client_that_leaves_closes_the_connection_to_the_upstream(
    dashboard_with_tap: DashboardWithTap,
) -> None:
    dashboard_with_tap.switch.app = echo = Echo([b"data: 1\n\n"], headers=SSE, pause=lambda: None)
    with httpx.stream("POST", f"{dashboard_with_tap.tap}/v1/chat/completions", json={}) as answer:
        assert next(answer.iter_raw()) == b"data: 1\n\n"
    assert echo.left.wait(120), "the upstream did not notice"


def test_the_upstream_waits_for_a_slow_client(dashboard_with_tap: DashboardWithTap) -> None:
    dashboard_with_tap.switch.app = flood = Flood()
    with httpx.stream("POST", f"{dashboard_with_tap.tap}/v1/chat/completions", json={}):
        assert flood.left.wait(120), "the upstream was never held back"
    assert flood.sent_bytes < 64 * 2**20


def test_a_folder_that_cannot_be_written_keeps_the_run_in_memory_and_disturbs_no_client(
    dashboard_with_tap: DashboardWithTap, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("not a folder")
    registry = Registry(tmp_path / "file" / "captures")
    tap = DashboardTap(parse_upstreams(f"played={dashboard_with_tap.playback}"), registry)
    body = {"model": COMPLETE_CHAT, "stream": True, "return_token_ids": True}
    path = "/v1/chat/completions"
    with listening(Starlette(middleware=tap.middleware, lifespan=tap.lifespan)) as at:
        assert raw(f"{at}/tap/played{path}", body) == raw(f"{dashboard_with_tap.playback}{path}", body)
    [run] = registry.runs()
    assert registry.wait(run, 120)
    assert "choose another folder" in run.trouble
    assert inspect(run.capture()).findings == []
    assert not run.own


# -- no open proxy, nothing for web pages -----------------------------------------------------------


def test_only_named_upstreams_are_reached(dashboard_with_tap: DashboardWithTap) -> None:
    dashboard_with_tap.switch.app = echo = Echo()
    host = httpx.URL(dashboard_with_tap.direct).netloc.decode()
    for path in (b"other/v1/models", host.encode() + b"/v1/models", b"", b"/v1", b"UP/v1/models"):
        url = httpx.URL(dashboard_with_tap.at).copy_with(raw_path=b"/tap/" + path)
        answer = httpx.post(url, headers={"host": host})
        assert answer.status_code == 404, path
        assert "there is /tap/up/v1, /tap/played/v1, /tap/asked/v1" in answer.json()["error"]["message"]
    assert echo.scopes == []
    assert httpx.get(f"{dashboard_with_tap.tap}/v1/models", headers={"host": "localhost"}).text == "ok"
    assert sent(echo)["host"] == host


@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://example.com"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "same-origin"},
    ],
)
def test_web_pages_are_refused_although_the_upstream_lets_them_read(
    dashboard_with_tap: DashboardWithTap, method: str, headers: dict[str, str]
) -> None:
    """A vLLM answers with `access-control-allow-origin: *`, and a tap passes headers on."""
    dashboard_with_tap.switch.app = echo = Echo(headers=[(b"access-control-allow-origin", b"*")])
    answer = httpx.request(method, f"{dashboard_with_tap.tap}/v1/models", headers=headers)
    assert answer.status_code == 403
    assert not [name for name in answer.headers if name.startswith("access-control")]
    assert "web pages may not use the tap" in answer.json()["error"]["message"]
    assert echo.scopes == []


def test_an_answer_may_be_looked_at_in_the_address_bar(dashboard_with_tap: DashboardWithTap) -> None:
    dashboard_with_tap.switch.app = Echo()
    headers = {"sec-fetch-site": "none", "sec-fetch-mode": "navigate"}
    assert httpx.get(f"{dashboard_with_tap.tap}/v1/models", headers=headers).text == "ok"


def test_websockets_do_not_pass(dashboard_with_tap: DashboardWithTap) -> None:
    host, port = dashboard_with_tap.at.removeprefix("http://").split(":")
    for name in ("up", "other"):
        with socket.create_connection((host, int(port)), timeout=20) as connection:
            connection.sendall(
                f"GET /tap/{name}/v1/realtime HTTP/1.1\r\nhost: {host}\r\nconnection: Upgrade\r\n"
                "upgrade: websocket\r\nsec-websocket-version: 13\r\n"
                "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
            )
            assert connection.recv(4096).startswith(b"HTTP/1.1 403")


# -- settings ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("http://localhost:8000", "does not name an upstream; write name=http://host:8000"),
        ("a=", "does not name an upstream"),
        ("=http://localhost", "invalid upstream name ''"),
        ("../a=http://localhost", "does not name an upstream"),
        ("é=http://localhost", "invalid upstream name 'é'"),
        ("a=http://x b=http://y a=http://z", "a is named twice"),
        ("a+idz=http://x", "a has the mark +idz; known are +ids and +insecure"),
        ("a=ftp://x", "invalid server address: 'ftp://x'"),
        ("a=http://me:hunter2@x", "an address with a password in it"),
        ("me:hunter2@x", "does not name an upstream"),
    ],
)
def test_what_is_wrong_with_the_upstreams_is_one_sentence(text: str, words: str) -> None:
    with pytest.raises(InspectorError) as raised:
        parse_upstreams(text)
    message = str(raised.value)
    assert message.startswith(f"{VARIABLE}: ")
    assert words in message
    assert "hunter2" not in message
    assert "--api-key" not in message
    assert "\n" not in message


def test_upstreams_have_names_addresses_and_marks() -> None:
    plain, marked = parse_upstreams(" a=localhost:8000  b+ids+insecure=https://x:1/gateway/v1?q=1 ")
    assert (plain.name, plain.server.v1) == ("a", "http://localhost:8000/v1")
    assert (plain.add_token_ids, plain.server.verify) == (False, True)
    assert (marked.name, marked.server.v1) == ("b", "https://x:1/gateway/v1")
    assert (marked.add_token_ids, marked.server.verify) == (True, False)
    assert parse_upstreams("") == ()


def test_without_upstreams_there_is_no_tap() -> None:
    assert DashboardTap((), MemorySink()).middleware == []


def test_a_value_that_cannot_be_read_ends_the_start_with_one_sentence() -> None:
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(free_port())]
    completed = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, VARIABLE: "localhost:8000"},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert completed.returncode == 1
    assert completed.stderr.splitlines()[-1].startswith(
        f"{VARIABLE}: 'localhost:8000' does not name an upstream"
    )
    assert "Traceback" not in completed.stderr


def test_the_connections_to_the_upstream_are_closed_when_the_dashboard_ends() -> None:
    closed = threading.Event()

    def answer_and_keep_open(waiting: socket.socket) -> None:
        connection, _ = waiting.accept()
        with connection:
            assert connection.recv(4096).startswith(b"GET /health ")
            connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
            if connection.recv(1) == b"":
                closed.set()

    with socket.create_server(("127.0.0.1", 0)) as waiting:
        threading.Thread(target=answer_and_keep_open, args=(waiting,), daemon=True).start()
        tap = DashboardTap(parse_upstreams(f"up=127.0.0.1:{waiting.getsockname()[1]}"), MemorySink())
        with listening(Starlette(middleware=tap.middleware, lifespan=tap.lifespan)) as at:
            assert httpx.get(f"{at}/tap/up/health").status_code == 200
            assert not closed.is_set()
        assert closed.wait(120), "the connection stayed open"
