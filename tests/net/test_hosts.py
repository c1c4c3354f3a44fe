"""Which hosts are answered: the check itself, and a matrix of Host and Origin over the real dashboard."""

import asyncio
import base64
import json
import socket
from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from inspector.net.hosts import HOSTS_VARIABLE, TrustedHosts
from pages.ui.modules import DIGEST
from tests.support.dashboard import dashboard
from tests.support.listening import listening
from tests.support.upstreams import Echo

EVIL = "rebound.example"


def answered(host: str, **settings: Any) -> bool:
    """Whether an app that listens with these settings answers to a host."""
    app = TrustedHosts(PlainTextResponse("ok"), **settings)
    answer = TestClient(app, base_url="http://x").get("/", headers={b"host": host.encode("latin-1")})
    assert answer.status_code in {200, 403}
    assert (answer.text == "ok") is (answer.status_code == 200)
    return answer.status_code == 200


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:8501", "localhost.", "127.0.0.1:1", "[::1]:8501", "[0:0:0:0:0:0:0:1]"]
)
def test_loopback_names_are_always_answered(host: str) -> None:
    assert answered(host)
    assert answered(host, bound=["10.0.0.7"])


@pytest.mark.parametrize(
    "host",
    [
        EVIL,
        f"{EVIL}:8501",
        "localhost.rebound.example",
        "127.0.0.1.rebound.example",
        "xlocalhost",
        "localhost:x",
        "localhost@rebound.example",
        "localhost/../rebound.example",
        "localhost, rebound.example",
        "[::1",
        "::1",
        "10.0.0.7",
        "0.0.0.0",
        "2130706433",
        "",
        "\xe9",
        "*",
        "*.example",
    ],
)
def test_other_hosts_are_refused(host: str) -> None:
    assert not answered(host, bound=["127.0.0.1"])
    assert not answered(host, bound=["127.0.0.1"], also=["lab.test", "*.internal.test"])


def test_the_bound_address_and_allowed_names_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    assert answered("10.0.0.7:80", bound=["10.0.0.7"])
    assert answered("box.local", bound=["Box.local"])
    assert answered("a.internal.test", also=["*.internal.test"])
    assert not answered("internal.test", also=["*.internal.test"])
    monkeypatch.setenv(HOSTS_VARIABLE, "one.test  two.test")
    assert answered("two.test:443")
    assert not answered("three.test")


@pytest.mark.parametrize("bound", ["", "0.0.0.0", "::", "[::]"])
def test_an_address_in_numbers_is_answered_where_all_addresses_are_bound(bound: str) -> None:
    assert answered("192.168.1.5:8501", bound=[bound])
    assert answered("[fd00::5]", bound=[bound])
    assert not answered(EVIL, bound=[bound])


@pytest.mark.parametrize("setting", ["--allow-host ", f"{HOSTS_VARIABLE}="])
def test_the_refusal_names_the_setting_and_quotes_nothing_that_acts(setting: str) -> None:
    app = TrustedHosts(Starlette(), setting=setting)
    client = TestClient(app, base_url="http://x")
    response = client.get("/", headers={"host": "dash.example:80"})
    odd = client.get("/", headers={b"host": b"<script>\x9b\xe9"})
    assert response.text.endswith(f"{setting}dash.example\n")
    assert odd.text.endswith(f"{setting}NAME\n")
    assert odd.text.isascii()
    assert odd.headers["content-type"].startswith("text/plain")
    assert odd.headers["x-content-type-options"] == "nosniff"


# -- the dashboard ----------------------------------------------------------------------------------

ROUTES = [
    ("GET", "/"),
    ("GET", "/replay"),
    ("GET", "/favicon.png"),
    ("GET", "/static/none.js"),
    ("GET", "/app/static/none"),
    ("GET", "/media/none"),
    ("GET", "/component/none"),
    ("GET", "/_stcore/health"),
    ("GET", "/_stcore/host-config"),
    ("GET", "/_stcore/metrics"),
    ("PUT", "/_stcore/upload_file/a/b"),
    ("GET", f"/inspector/modules/{DIGEST}/ui/dom.js"),
    ("GET", "/inspector/runs/none/feed"),
    ("GET", "/playback/v1/models"),
    ("GET", "/playback/version"),
    ("GET", "/playback/control"),
    ("PUT", "/playback/control"),
    ("DELETE", "/playback/control"),
    ("POST", "/playback/v1/chat/completions"),
    ("GET", "/tap/up/v1/models"),
    ("POST", "/tap/up/v1/chat/completions"),
    ("GET", "/tap/none"),
    ("OPTIONS", "/"),
]
ORIGINS = [None, "null", f"http://{EVIL}", "http://127.0.0.1"]


@dataclass
class Running:
    address: str
    upstream: Echo

    def ask(self, method: str, path: str, **headers: str | None) -> tuple[int, str]:
        """Status and body; a header of None is not sent."""
        connection = HTTPConnection(self.address, timeout=30)
        connection.putrequest(method, path, skip_host=True)
        for name, content in {**headers, "content-length": "2", "content-type": "application/json"}.items():
            if content is not None:
                connection.putheader(name, content)
        connection.endheaders(b"{}")
        answer = connection.getresponse()
        response = answer.status, answer.read().decode("utf-8", "replace")
        connection.close()
        return response

    def upgrade(self, host: str, origin: str | None) -> int:
        """The status of an attempt to open Streamlit's websocket."""
        name, port = self.address.split(":")
        key = base64.b64encode(b"0" * 16).decode()
        origin_header = "" if origin is None else f"Origin: {origin}\r\n"
        with socket.create_connection((name, int(port)), timeout=30) as connection:
            connection.sendall(
                f"GET /_stcore/stream HTTP/1.1\r\nHost: {host}\r\n{origin_header}Connection: Upgrade\r\n"
                f"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n"
                "Sec-WebSocket-Protocol: streamlit\r\n\r\n".encode()
            )
            return int(connection.recv(4096).split()[1])


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    echo = Echo()
    folder = tmp_path_factory.mktemp("hosts")
    with (
        listening(echo) as upstream,
        dashboard(folder, f"up={upstream}", **{HOSTS_VARIABLE: "allowed.example"}) as address,
    ):
        yield Running(address.removeprefix("http://"), echo)


@pytest.mark.parametrize("origin", ORIGINS)
def test_no_route_of_the_dashboard_answers_to_another_host(running: Running, origin: str | None) -> None:
    before = len(running.upstream.scopes)
    hosts = [EVIL, f"{EVIL}:{running.address.rpartition(':')[2]}", "127.0.0.1.nip.example", None]
    odd = []
    for host in hosts:
        for method, path in ROUTES:
            try:
                status, body = running.ask(method, path, host=host, origin=origin)
            except ConnectionError:
                assert host is None, (method, path)
                continue
            refused = status == 403 and HOSTS_VARIABLE in body
            # Without any Host the server itself may refuse before an app sees the request, and close the
            # connection before it has read the body.
            if not refused and not (host is None and status == 400):
                odd.append((host, method, path, status, body[:80]))
        if host is not None and running.upgrade(host, origin) != 403:
            odd.append((host, "websocket", "", 0, ""))
    assert odd == []
    assert len(running.upstream.scopes) == before
    assert json.loads(running.ask("GET", "/playback/control", host="localhost")[1])["speed"] == 1.0


def test_a_body_is_read_before_its_request_is_refused() -> None:
    order: list[str] = []
    parts = [b"a" * 1000, b"b" * 1000, b""]

    async def receive() -> dict[str, object]:
        order.append("body")
        part = parts.pop(0)
        return {"type": "http.request", "body": part, "more_body": bool(parts)}

    async def send(message: MutableMapping[str, object]) -> None:
        order.append(str(message["type"]))

    scope = {"type": "http", "method": "POST", "path": "/", "headers": [(b"host", EVIL.encode())]}
    asyncio.run(TrustedHosts(Echo())(scope, receive, send))
    assert order == ["body"] * 3 + ["http.response.start", "http.response.body"]


def test_the_dashboard_answers_to_its_own_and_to_allowed_hosts(running: Running) -> None:
    odd = []
    for host in (running.address, "localhost", "[::1]:8501", "allowed.example"):
        for method, path in ROUTES:
            status, body = running.ask(method, path, host=host)
            if HOSTS_VARIABLE in body or status >= 500:
                odd.append((host, method, path, status))
        if running.upgrade(host, f"http://{host}") != 101:
            odd.append((host, "websocket", "", 0))
    assert odd == []


def test_a_foreign_origin_reaches_neither_the_websocket_nor_the_tap(running: Running) -> None:
    assert running.upgrade(running.address, f"http://{EVIL}") == 403
    status, body = running.ask("GET", "/tap/up/v1/models", host=running.address, origin=f"http://{EVIL}")
    assert (status, "web pages may not use the tap" in body) == (403, True)
