"""`compare --ask`: one prompt to two servers from the command line."""

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from inspector.cli import main
from inspector.files.store import load
from tests.support.answers import CHAT, DONE_EVENT, STREAM_EVENTS
from tests.support.listening import free_port
from tests.support.programs import bounded
from tests.support.raw_server import Answer, RawRequest, RawServer, page, raw_server, stream

COMPLETE: dict[str, Answer] = {CHAT: lambda _: stream([*STREAM_EVENTS, DONE_EVENT])}
EMPTIED: dict[str, Answer] = {
    CHAT: lambda _: stream(
        [
            *STREAM_EVENTS[:3],
            STREAM_EVENTS[3].replace(b'"content": "Hi"', b'"role": "assistant"'),
            *STREAM_EVENTS[4:],
            DONE_EVENT,
        ]
    )
}
"""The token of the answer comes, its text does not."""


def ask(left: RawServer | str, right: RawServer | str, *words: str | Path) -> int:
    addresses = [server if isinstance(server, str) else server.v1 for server in (left, right)]
    options = ["--model", "openai/gpt-oss-20b", "--prompt", "Hello", *map(str, words)]
    return main(["compare", "--ask", *addresses, *options])


def test_the_answers_are_compared_as_two_captures_are(capsys: pytest.CaptureFixture[str]) -> None:
    with raw_server(COMPLETE) as left, raw_server(EMPTIED) as right:
        assert ask(left, right) == 1
    printed = capsys.readouterr().out
    assert printed.startswith("The tokens are the same; only the right server lost 1 token of the answer")


def test_the_same_from_both_is_no_failure(capsys: pytest.CaptureFixture[str]) -> None:
    with raw_server(COMPLETE) as left, raw_server(COMPLETE) as right:
        assert ask(left, right, "--json") == 0
    assert json.loads(capsys.readouterr().out)["outcome"] == "same"


def test_captures_are_kept_in_the_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with raw_server(COMPLETE) as left, raw_server(COMPLETE) as right:
        assert ask(left, right, "--runs", "2", "--out", tmp_path / "kept") == 0
    paths = list((tmp_path / "kept").glob("*.jsonl"))
    assert len(paths) == 4
    assert all(len(load(path).events) == len(STREAM_EVENTS) + 1 for path in paths)
    assert str(paths[0]) in capsys.readouterr().out


def test_several_runs_are_told_by_rate_with_the_test_and_a_row_a_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with raw_server(COMPLETE) as left, raw_server(EMPTIED) as right:
        assert ask(left, right, "--runs", "5", "--json") == 1
        report = json.loads(capsys.readouterr().out)
        assert (report["left_failed"], report["right_failed"], report["more_than_chance"]) == (0, 5, True)
        assert [(row["side"], row["run"], row["errors"]) for row in report["runs"]] == [
            *(("left", number, 0) for number in range(1, 6)),
            *(("right", number, 1) for number in range(1, 6)),
        ]
        assert ask(left, right, "--runs", "5") == 1
    printed = capsys.readouterr().out
    assert "right: 5 of 5 runs (100%). The difference is statistically significant (Fisher's exact" in printed
    assert "p = 0.0079" in printed
    assert printed.count("the server lost 1 token of the answer") == 5


def test_a_side_that_is_not_there_is_told_and_the_other_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    with raw_server(COMPLETE) as left:
        assert ask(left, f"http://127.0.0.1:{free_port()}") == 2
    printed = capsys.readouterr()
    assert printed.err.startswith("inspector: Right: connection refused at http://127.0.0.1:")
    assert "left   1  clean" in printed.out
    assert "right" not in printed.out


def test_an_error_page_of_one_side_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    broken: dict[str, Answer] = {
        CHAT: lambda _: [page(500, '{"error": {"message": "out"}}', "application/json")]
    }
    with raw_server(broken) as left, raw_server(COMPLETE) as right:
        assert ask(left, right) == 2
    printed = capsys.readouterr()
    assert "Left: " in printed.err
    assert "failed (HTTP 500: out)" in printed.err
    assert "right  1  clean" in printed.out


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--ask", "a:1", "b:1", "--prompt", "x"], "--ask needs --model NAME"),
        (["--ask", "a:1", "b:1", "--model", "m"], "--ask needs --prompt TEXT or --messages FILE"),
        (["--ask", "a:1", "b:1", "--model", "m", "--prompt", "x", "--runs", "0"], "choose 1 to 50"),
        (["a.jsonl", "b.jsonl", "--ask", "a:1", "b:1"], "remove the file names"),
    ],
)
def test_what_cannot_be_asked_is_said(
    words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *words]) == 2
    assert complaint in capsys.readouterr().err


@pytest.mark.parametrize("runs", ["1", "2"])
def test_what_is_stopped_by_hand_is_never_called_the_same(runs: str) -> None:
    asked = threading.Semaphore(0)

    def stalls(_: RawRequest) -> Iterator[bytes]:
        yield from stream(STREAM_EVENTS[:3], end=False)
        asked.release()
        server.release.wait(120)

    with raw_server({CHAT: stalls}) as server:
        words = ["compare", "--ask", server.v1, server.v1, "--model", "m", "--prompt", "x", "--runs", runs]
        program = subprocess.Popen(
            [sys.executable, "-m", "inspector", *words],
            cwd=Path(__file__).parents[2],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        with bounded(program):
            for _ in range(2 * int(runs)):
                assert asked.acquire(timeout=30)
            program.send_signal(signal.SIGINT)
            _, err = program.communicate(timeout=30)
    assert program.returncode == 2
    assert b"stopped by you" in err
    assert b"Traceback" not in err


def test_what_cannot_be_determined_is_not_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    message = {"role": "assistant", "content": "Hi"}
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "openai/gpt-oss-20b",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
    }
    path = tmp_path / "body.json"
    path.write_text(json.dumps(body))
    assert main(["compare", str(path), str(path)]) == 2
    assert "It is unknown whether the tokens are the same" in capsys.readouterr().out
