"""`python -m inspector record`."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from starlette.applications import Starlette

from inspector.cli import main
from inspector.files.store import load
from inspector.net.client.address import Server
from inspector.net.client.server_info import list_models
from inspector.net.playback import playback_routes
from tests.support.answers import DONE_EVENT, STREAM_EVENTS, answering
from tests.support.command import inspector
from tests.support.listening import free_port, listening
from tests.support.raw_server import Answer, raw_server, sse, stream

_RECORD = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (700, 700))
from inspector.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
def test_a_full_disk_ends_the_recording_in_one_sentence_with_whole_lines(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    with raw_server(answering([*STREAM_EVENTS, DONE_EVENT])) as server:
        completed = subprocess.run(
            [
                *(sys.executable, "-B", "-c", _RECORD, "record", "--base-url", server.v1),
                *("--model", "m", "--prompt", "Hello", "--out", str(out)),
            ],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
    assert completed.returncode == 2
    assert completed.stderr.count("\n") == 1
    assert f"{out}: cannot be written" in completed.stderr
    capture = load(out)
    assert capture.header.model == "m"
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 700


def test_background_is_for_responses_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.jsonl"
    command = ["record", "--base-url", "http://127.0.0.1:1", "--model", "m", "--prompt", "Hi", "--background"]
    assert main([*command, "--out", str(out)]) == 2
    assert "--background needs --endpoint responses" in capsys.readouterr().err
    assert not out.exists()


def test_record_takes_a_background_stream_up_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def event(number: int, kind: str, **members: object) -> bytes:
        return f"event: {kind}\n".encode() + sse({"type": kind, "sequence_number": number, **members})

    began = event(0, "response.created", response={"id": "resp_1", "status": "in_progress"})
    completed_event = event(
        1, "response.completed", response={"id": "resp_1", "status": "completed", "output": []}
    )
    answers: dict[str, Answer] = {
        "/v1/responses": lambda _: stream([began], end=False),
        "/v1/responses/resp_1": lambda _: stream([completed_event]),
    }
    out = tmp_path / "out.jsonl"
    with raw_server(answers) as server:
        command = ["record", "--base-url", server.v1, "--model", "m", "--prompt", "Hi", "--out", str(out)]
        assert main([*command, "--endpoint", "responses", "--background"]) == 0
        [body] = server.bodies("/v1/responses")
    assert body["background"] is True
    assert "2 events" in capsys.readouterr().out
    assert len(load(out).events) == 2


def test_nothing_stands_in_the_way_of_the_next_try_to_record(tmp_path: Path) -> None:
    nobody = f"http://127.0.0.1:{free_port()}"
    words = ("record", "--base-url", nobody, "--model", "m", "--prompt", "p", "--out", tmp_path / "x.jsonl")
    completed = inspector(*words)
    assert (completed.returncode, len(completed.stderr.splitlines())) == (2, 1)
    assert b"connection refused" in completed.stderr
    assert list(tmp_path.iterdir()) == []


def test_without_a_model_the_first_of_the_server_is_asked(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    captures = {"whole": load("fixtures/chat-whole-vllm-0.14.1.jsonl")}
    with listening(Starlette(routes=playback_routes(lambda: captures, prefix=""))) as address:
        assert main(["record", "--base-url", address, "--prompt", "Hi", "--out", str(out)]) in {0, 1}
        assert [load(out).header.model] == list_models(Server(base_url=address))[:1]
