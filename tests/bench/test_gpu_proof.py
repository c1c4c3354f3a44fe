"""`bench.gpu_proof` with the built-in server in place of vLLM, started by it and running already; no GPU."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette

from bench.gpu_proof import main
from inspector import cli
from inspector.net.playback import PlaybackSettings, playback_routes
from inspector.protocol.harmony.vocab import encode
from tests.support.builtin import CAPTURES, GROUND, TOOL
from tests.support.listening import listening
from tests.support.raw_server import Answer, raw_server, sse, stream
from tests.support.streams import CLEAN, chat

PLAY = f"{sys.executable} -m inspector play --speed inf --port {{port}}"
SHORT = ("--streams", "2", "--requests", "6", "--seconds", "60")


def rows(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "rows.jsonl").read_text().splitlines()]


def playing(speed: str) -> Starlette:
    settings = PlaybackSettings().changed({"speed": speed})
    return Starlette(routes=playback_routes(lambda: CAPTURES, prefix="", settings=settings))


def test_servers_are_started_one_after_the_other_and_a_failure_is_a_row(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    servers = ["0.14.1", "0.14.1 --no-async-scheduling"]
    main([*servers, "--command", PLAY, "--model", TOOL, "--out", str(out), "--endpoint", "chat", *SHORT])
    measured, failed = rows(out)
    assert (measured["server"], measured["endpoint"], measured["streams"]) == ("0.14.1", "chat", 2)
    assert measured["probe"]["total"]["damaged"] == measured["probe"]["total"]["requests"] == 6
    assert measured["probe"]["tokens_per_s"] > 0
    assert measured["probe"]["tokens_per_event"] > 1
    assert failed["server"] == servers[1]
    assert failed["command"].endswith(" --no-async-scheduling")
    assert "unrecognized arguments: --no-async-scheduling" in failed["trouble"]
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("0.14.1, chat, 2: 6 of 6 checked responses were silently damaged: 100% (95% ")
    assert f"Cause: {measured['probe']['causes'][0]['id']} (6)." in first
    assert second == f"{servers[1]}: {failed['trouble']}"
    assert (out / "0.14.1" / "server.log").exists()
    saved = next((out / "0.14.1" / "chat-2" / "captures").iterdir())
    assert cli.main(["audit", str(saved)]) == 1


def test_a_running_server_is_followed_live(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--model", GROUND, "--out", str(tmp_path / "out"), "--endpoint", "completions", *SHORT]
    with listening(playing("inf")) as address:
        main(["--base-url", f"{address}/v1", *words])
        [row] = rows(tmp_path / "out")
        live = row["live"]
        assert live["tokens"] > 0
        assert live["lag_p50_s"] <= live["lag_p95_s"]
        assert (live["lost_by_server"], live["lost_by_us"], live["failures"]) == (0, 0, [])
        assert "command" not in row
        with pytest.raises(SystemExit):
            main(["--base-url", f"{address}/v1", *words])
    assert "File exists" in capsys.readouterr().err


def test_tokens_that_a_server_counts_and_does_not_send_are_its_loss(tmp_path: Path) -> None:
    sent = sum(len(encode(text)) for text, _ in CLEAN)
    events = chat(CLEAN, usage=sent + 3).events
    answers: dict[str, Answer] = {
        "/v1/chat/completions": lambda _: stream(sse(event.data) for event in events)
    }
    with raw_server(answers) as server:
        main(
            [
                "--base-url",
                server.v1,
                "--model",
                "m",
                "--out",
                str(tmp_path / "out"),
                "--endpoint",
                "chat",
                *SHORT,
            ]
        )
    [row] = rows(tmp_path / "out")
    assert (row["live"]["tokens"], row["live"]["lost_by_server"], row["live"]["lost_by_us"]) == (
        2 * sent,
        6,
        0,
    )


def test_a_server_that_hangs_ends_its_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--model", TOOL, "--endpoint", "chat", "--streams", "2", "--seconds", "0.2"]
    with listening(playing("0.001")) as address:
        main(["--base-url", f"{address}/v1", *words, "--out", str(tmp_path / "out")])
    assert "running, chat, 2: No request has ended. 2 responses did not end. " in capsys.readouterr().out


def test_braces_of_a_command_may_be_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = "import sys; sys.exit(f'Error: {sys.argv[1:]}')"
    command = f"""{sys.executable} -c "{code}" {{model}} {{port}} '{{"a": {{}}}}'"""
    main(["1.0", "--command", command, "--model", "a b", "--out", str(tmp_path / "out")])
    assert """'{"a": {}}']""" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["1.0", "--command", "vllm 'serve", "--out", str(tmp_path / "other")])
    assert "No closing quotation" in capsys.readouterr().err
