"""What becomes of an answer in a capture: no keys, no disturbance of the client."""

import gzip
import json
import threading
from pathlib import Path

import httpx
import pytest

from inspector.capture.capture import Event
from inspector.files.store import load
from inspector.net.tap import FolderSink
from tests.support.listening import MemorySink, listening
from tests.support.raw_server import Answer, page, raw_server, stream
from tests.support.upstreams import CHUNKS, SSE, Echo, ask, sent, tapped

TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


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
    assert load(file).header.request["model"] == "m"


@pytest.mark.parametrize(
    ("sent_header", "kept_header"),
    [(TRACEPARENT, TRACEPARENT), (f"{TRACEPARENT}-more", None), ("my secret", None)],
)
def test_the_trace_context_is_stored_if_it_is_one(
    tmp_path: Path, sent_header: str, kept_header: str | None
) -> None:
    echo = Echo(CHUNKS, headers=SSE)
    with listening(echo) as up, tapped(up, sink=FolderSink(tmp_path)) as (address, _):
        ask(address, {}, traceparent=sent_header)
    assert sent(echo)["traceparent"] == sent_header
    (file,) = tmp_path.iterdir()
    assert load(file).header.traceparent == kept_header
    assert (sent_header in file.read_text()) is (kept_header is not None)


def test_a_key_in_an_error_page_is_not_stored() -> None:
    page = b'{"error":{"message":"Incorrect API key provided: sk-bearer-0123456789"}}'
    echo = Echo([page], status=401, headers=[(b"content-type", b"application/json")])
    with listening(echo) as up, tapped(up) as (address, sink):
        assert ask(address, {}, authorization="Bearer sk-bearer-0123456789").content == page
        capture = sink.capture()
    assert capture.header.status == 401
    assert capture.events[0].data == page.decode().replace("sk-bearer-0123456789", "[redacted]")


def test_ten_megabytes_in_one_event_pass_and_are_kept() -> None:
    big = json.dumps({"choices": [{"index": 0, "delta": {"content": "x" * 10_000_000}}]}).encode()
    stream_bytes = b"data: " + big + b"\n\ndata: [DONE]\n\n"
    echo = Echo([stream_bytes[at : at + 100_000] for at in range(0, len(stream_bytes), 100_000)], headers=SSE)
    with listening(echo) as up, tapped(up) as (address, sink):
        assert ask(address, {"stream": True}).content == stream_bytes
        capture = sink.capture()
    assert [len(event.data) for event in capture.events] == [len(big), 6]


@pytest.mark.parametrize(
    "body", [b'[{"model":"m"}, "ask", {"api_key":"sk-key-0123456789"}]', b'"ask"', b"7", b"null"]
)
def test_a_request_of_any_json_passes_and_its_answer_is_kept(body: bytes) -> None:
    page = b'{"error":{"message":"Input should be an object","input":["ask"],"key":"sk-key-0123456789"}}'
    echo = Echo([page], status=400, headers=[(b"content-type", b"application/json")])
    with listening(echo) as up, tapped(up) as (address, sink):
        answer = httpx.post(f"{address}/v1/chat/completions", content=body)
        assert (answer.status_code, answer.content) == (400, page)
        capture = sink.capture()
    assert echo.bodies == [body]
    assert (capture.header.status, capture.header.request) == (400, {})
    clean = page.decode().replace("sk-key-0123456789", "[redacted]") if b"sk-key" in body else page.decode()
    assert [event.data for event in capture.events] == [clean]


def test_the_version_of_the_upstream_is_kept_once_it_is_known() -> None:
    echo = Echo([b"data: [DONE]\n\n"], headers=SSE)
    with listening(echo) as up, tapped(up) as (address, sink):
        versions = set()
        for number in range(50):
            ask(address, {})
            versions.add(sink.capture(number).header.server_version)
            if "0.99.0" in versions:
                break
    assert "0.99.0" in versions


def test_a_sink_that_fails_does_not_end_the_answer(caplog: pytest.LogCaptureFixture) -> None:
    class EventFailingSink(MemorySink):
        def event(self, run: str, event: Event) -> None:
            raise RuntimeError(f"no room for {event.data} in {run}")

    echo = Echo(CHUNKS, headers=SSE)
    with listening(echo) as up, tapped(up, sink=EventFailingSink()) as (address, _):
        assert ask(address, {}).content == b"".join(CHUNKS)
    assert "recording stopped" in caplog.text


@pytest.mark.slow
def test_other_clients_are_served_while_packed_bytes_are_recorded() -> None:
    packed = gzip.compress(b"data: 1\n\n" * 400_000)
    answers: dict[str, Answer] = {
        "/v1/chat/completions": lambda _: stream([packed], coding="gzip"),
        "/v1/models": lambda _: [page(200, "{}", "application/json")],
    }
    served, recorded = 0, threading.Event()
    with raw_server(answers) as server, tapped(server.address) as (address, sink):

        def bomb() -> None:
            with httpx.stream("POST", f"{address}/v1/chat/completions", json={}, timeout=120) as answer:
                assert b"".join(answer.iter_raw()) == packed
            recorded.set()

        client = threading.Thread(target=bomb)
        client.start()
        while not recorded.is_set():
            assert httpx.get(f"{address}/v1/models", timeout=180).status_code == 200
            served += 1
        client.join()
        assert len(sink.capture(timeout_s=60).events) == 400_000
    assert served >= 3, "one recording held up all other clients"
