"""`python -m inspector tap`, in a process of its own."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from inspector.files.store import load
from inspector.inspection.inspection import inspect
from tests.support.answers import CHAT, DONE_EVENT, STREAM_EVENTS, answering
from tests.support.listening import free_port
from tests.support.programs import bounded
from tests.support.raw_server import Answer, page, raw_server
from tests.support.upstreams import ask

ROOT = Path(__file__).parents[2]


def words(*options: str) -> list[str]:
    return [sys.executable, "-m", "inspector", "tap", *options]


@contextmanager
def command(*options: str, limit_kib: str = "unlimited") -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """`python -m inspector tap`: its address, and the process, which may write files up to a limit."""
    started = subprocess.Popen(
        ["bash", "-c", f'ulimit -f {limit_kib}; exec "$@"', "bash", *words("--port", "0", *options)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with bounded(started) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            match = re.match(r"(http://\S+)/v1 ->", line)
            assert match, line
            yield match[1], process
        finally:
            process.send_signal(signal.SIGINT)


def refusal(*options: str) -> str:
    """What the command says when it does not start."""
    completed = subprocess.run(
        words(*options), cwd=ROOT, capture_output=True, text=True, timeout=180, check=False
    )
    assert completed.returncode == 2
    assert completed.stderr.count("\n") == 1
    return completed.stderr


def test_the_command_records_and_ends_on_interrupt(tmp_path: Path) -> None:
    folder = tmp_path / "captures"
    with raw_server(answering([*STREAM_EVENTS, DONE_EVENT])) as server:
        options = ("--upstream", server.v1, "--out", str(folder), "--add-token-ids")
        with command(*options) as (address, process):
            passed = ask(address, {"model": "m"}).content
            process.send_signal(signal.SIGINT)
            _, stderr = process.communicate(timeout=20)
    assert b'"token_ids": null' in passed.replace(b":null", b": null")
    assert process.returncode == 0
    (file,) = folder.iterdir()
    assert f"{len(STREAM_EVENTS) + 1} events, complete" in stderr
    assert inspect(load(file)).findings == []
    assert load(file).header.request == {"model": "m"}
    assert server.bodies(CHAT) == [{"return_token_ids": True, "model": "m"}]


def test_a_full_disk_ends_the_recording_and_not_the_answer(tmp_path: Path) -> None:
    events = [STREAM_EVENTS[0], *[STREAM_EVENTS[1]] * 200, *STREAM_EVENTS[2:], DONE_EVENT]
    with raw_server(answering(events)) as server:
        options = ("--upstream", server.v1, "--out", str(tmp_path))
        with command(*options, limit_kib="8") as (address, process):
            assert ask(address, {}).content == b"".join(events)
            assert ask(address, {}).content == b"".join(events)
            process.send_signal(signal.SIGINT)
            _, stderr = process.communicate(timeout=20)
    assert stderr.count("recording stopped after") == 2
    assert "cannot be written" in stderr
    for file in tmp_path.iterdir():
        assert len(load(file).events) > 10


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    message = refusal("--upstream", "http://localhost:1", "--out", str(tmp_path / "file" / "x"))
    assert "cannot write captures there" in message


def test_a_port_that_is_taken_is_one_sentence(tmp_path: Path) -> None:
    with raw_server({}) as server:
        port = server.address.rpartition(":")[2]
        message = refusal("--upstream", "http://localhost:1", "--port", port, "--out", str(tmp_path))
    assert f"cannot listen on 127.0.0.1:{port}" in message


def test_two_upstreams_need_names(tmp_path: Path) -> None:
    upstreams = ("--upstream", "http://a:1", "--upstream", "http://b:1")
    assert "give each --upstream a unique name" in refusal(*upstreams, "--out", str(tmp_path))


def test_an_upstream_that_does_not_answer_is_said_at_the_start(tmp_path: Path) -> None:
    with command("--upstream", f"http://127.0.0.1:{free_port()}", "--out", str(tmp_path)) as (_, process):
        assert process.stdout is not None
        process.stdout.readline()
        line = process.stdout.readline()
    assert line.startswith("upstream serves no API yet")
    assert "connection refused" in line


def test_an_upstream_that_is_a_web_page_is_said_at_the_start(tmp_path: Path) -> None:
    login: dict[str, Answer] = {
        "/v1/models": lambda _: [page(200, "<!doctype html><p>Log in</p>", "text/html")]
    }
    with (
        raw_server(login) as server,
        command("--upstream", server.v1, "--out", str(tmp_path)) as (_, process),
    ):
        assert process.stdout is not None
        process.stdout.readline()
        line = process.stdout.readline()
    assert f"{server.v1}/models did not return an API response (a web page, not JSON)" in line
