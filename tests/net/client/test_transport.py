import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import openai
import pytest

from inspector.capture.capture import ClosedBy, End, Endpoint, EventKind, Header
from inspector.files.store import load
from inspector.inspection.inspection import inspect
from inspector.net.client.transport import FileSink, async_recording_client, recording_client
from tests.support.raw_server import RawRequest, page, raw_server, sse, stream
from tests.support.streams import chat

CAPTURE = chat(
    [
        ("<|channel|>final<|message|>", {"role": "assistant"}),
        ("Hello", {"content": "Hello"}),
        ("<|return|>", {}),
    ]
)
PIECES = [sse(event.data) for event in CAPTURE.events]
CHAT = "/v1/chat/completions"
ASK = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
SECRET = "sk-very-secret"


def test_the_sync_openai_client_runs_unchanged_and_leaves_captures(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    with (
        raw_server({CHAT: lambda _: stream(PIECES)}) as server,
        recording_client(out) as http,
        openai.OpenAI(base_url=server.v1, api_key=SECRET, http_client=http) as client,
    ):
        for _ in range(2):
            chunks = list(
                client.chat.completions.create(
                    model="m", messages=[{"role": "user", "content": "Hi"}], stream=True
                )
            )
    assert [chunk.choices[0].delta.content for chunk in chunks] == [None, "Hello", None]
    for path in (out, tmp_path / "out-2.jsonl"):
        capture = load(path)
        assert [event.data for event in capture.events] == [event.data for event in CAPTURE.events]
        assert capture.header.status == 200
        assert capture.end is not None
        assert not capture.end.cut
        assert SECRET not in path.read_text()
        assert inspect(capture).verdict.level == "clean"


def test_the_async_openai_client_runs_unchanged_and_leaves_captures(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"

    async def ask(address: str) -> list[str | None]:
        async with (
            async_recording_client(out) as http,
            openai.AsyncOpenAI(base_url=address, api_key=SECRET, http_client=http) as client,
        ):
            answer = await client.chat.completions.create(
                model="m", messages=[{"role": "user", "content": "Hi"}], stream=True
            )
            return [chunk.choices[0].delta.content async for chunk in answer]

    with raw_server({CHAT: lambda _: stream(PIECES)}) as server:
        assert asyncio.run(ask(server.v1)) == [None, "Hello", None]
    capture = load(out)
    assert [event.data for event in capture.events] == [event.data for event in CAPTURE.events]
    assert inspect(capture).verdict.level == "clean"


def test_unstreamed_answers_are_kept_whole_and_other_requests_not_at_all(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    response_body = {
        "id": "1",
        "choices": [{"index": 0, "message": {"content": "Hello"}, "finish_reason": "stop"}],
    }
    models = {"object": "list", "data": [{"id": "m", "object": "model", "created": 0, "owned_by": "vllm"}]}
    with (
        raw_server(
            {
                CHAT: lambda _: [page(200, json.dumps(response_body), "application/json")],
                "/v1/models": lambda _: [page(200, json.dumps(models), "application/json")],
            }
        ) as server,
        recording_client(out) as http,
        openai.OpenAI(base_url=server.v1, api_key=SECRET, http_client=http) as client,
    ):
        assert [model.id for model in client.models.list()] == ["m"]
        answer = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Hi"}])
    assert answer.choices[0].message.content == "Hello"
    capture = load(out)
    assert [(event.kind, json.loads(event.data)) for event in capture.events] == [
        (EventKind.BODY, response_body)
    ]
    assert not (tmp_path / "out-2.jsonl").exists()


def test_clients_of_one_path_each_take_the_next_number(tmp_path: Path) -> None:
    """Several tests that run at once, each with a client of its own."""

    def ask(address: str) -> None:
        start.wait()
        with recording_client(tmp_path / "out.jsonl") as http:
            for _ in range(5):
                http.post(f"{address}/chat/completions", json=ASK)

    start = threading.Barrier(8)
    with raw_server({CHAT: lambda _: stream(PIECES)}) as server, ThreadPoolExecutor(8) as clients:
        list(clients.map(ask, [server.v1] * 8))
    files = list(tmp_path.iterdir())
    assert len(files) == 40
    assert all(load(file).end is not None for file in files)


def test_a_name_that_is_taken_is_passed_over_although_nothing_seems_to_be_there(tmp_path: Path) -> None:
    """As where another client opened the file a moment ago."""
    (tmp_path / "out.jsonl").symlink_to(tmp_path / "nothing")
    sink = FileSink(tmp_path / "out.jsonl")
    run = sink.opened(Header(endpoint=Endpoint.CHAT))
    sink.ended(run, End(at_s=1.0, cut=False))
    assert load(tmp_path / "out-2.jsonl").end is not None


def test_a_client_that_leaves_early_has_an_early_end(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"

    def endless(_: RawRequest) -> object:
        yield from stream(PIECES[:2], end=False)
        while not server.release.wait(0.01):
            yield b"4\r\n: \n\n\r\n"

    with raw_server({CHAT: endless}) as server, recording_client(out) as http:  # type: ignore[dict-item]
        with http.stream("POST", f"{server.v1}/chat/completions", json=ASK) as answer:
            next(answer.iter_lines())
        assert server.client_gone.wait(120)
    capture = load(out)
    assert capture.end is not None
    assert capture.end.cut
    assert (capture.end.detail, capture.end.closed_by) == (
        "the client closed the connection",
        ClosedBy.CLIENT,
    )


def test_a_disk_that_refuses_does_not_disturb_the_program(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        raw_server({CHAT: lambda _: stream(PIECES)}) as server,
        recording_client(tmp_path / "no such folder" / "out.jsonl") as http,
    ):
        answer = http.post(f"{server.v1}/chat/completions", json=ASK)
    assert answer.text == b"".join(PIECES).decode()
    [message] = caplog.messages
    assert "cannot be written" in message


def test_failures_reach_the_program_and_the_capture(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    with (
        raw_server({CHAT: lambda _: stream(PIECES[:2], end=False)}) as server,
        recording_client(out) as http,
        pytest.raises(httpx.RemoteProtocolError),
    ):
        http.post(f"{server.v1}/chat/completions", json=ASK)
    capture = load(out)
    assert len(capture.events) == 2
    assert capture.end is not None
    assert capture.end.detail.startswith("RemoteProtocolError: peer closed connection")
