"""`python -m inspector probe` against the built-in server and against servers that fail."""

import csv
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from starlette.applications import Starlette

from inspector.cli import main
from inspector.net.playback import PlaybackSettings, playback_routes
from tests.support.answers import CHAT, counted
from tests.support.builtin import CAPTURES, COMPLETE_CHAT, TOOL
from tests.support.listening import listening
from tests.support.programs import bounded
from tests.support.raw_server import Answer, page, raw_server


@pytest.fixture(scope="module")
def playback() -> Iterator[str]:
    fast = PlaybackSettings().changed({"speed": "inf"})
    with listening(Starlette(routes=playback_routes(lambda: CAPTURES, prefix="", settings=fast))) as address:
        yield f"{address}/v1"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Runs of the tests leave nothing in the checkout."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def probe(address: str, *words: str, model: str = COMPLETE_CHAT) -> int:
    arguments = ["probe", "--base-url", address, "--model", model, "--quiet", *words]
    return main([*arguments, *([] if {"--prompts", "--script"} & set(words) else ["--prompt", "Hello"])])


def test_a_lossy_server_is_exit_code_1_with_the_sentence_first(
    playback: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = folder / "out"
    exports = [f"--{name}={folder / name}" for name in ("csv", "junit", "sarif")]
    assert (
        probe(playback, "--concurrency", "2", "--repeat", "3", "--out", str(out), *exports, model=TOOL) == 1
    )
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "6 of 6 checked responses were silently damaged: 100% (95% interval 61% to 100%)."
    assert any(line.startswith("cause: Text of an engine step that spans two messages") for line in lines)
    [first] = [line for line in lines if "damaged-chat-2-00001.jsonl: The server leaked 2" in line]
    assert main(["audit", first.strip().partition(": ")[0]]) == 1
    with (folder / "csv").open() as file:
        assert [row["result"] for row in csv.DictReader(file)] == ["damaged"] * 6
    assert len(ElementTree.parse(folder / "junit").getroot()[0]) == 6  # noqa: S314 -- our own file
    assert json.loads((folder / "sarif").read_text())["runs"][0]["results"]


def test_a_sound_server_is_exit_code_0_and_its_bound_is_said(
    playback: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert probe(playback, "--requests", "20", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["sentence"] == (
        "No silent loss in 20 checked responses: the loss rate is at most 16% (95% confidence)."
    )
    assert report["total"]["damaged_rate"] == {"count": 0, "of": 20, "rate": 0.0, "low": 0.0} | {
        "high": pytest.approx(0.161, abs=0.001)
    }
    assert {times["name"] for times in report["times"]} >= {"first token", "analysis", "final"}
    assert Path(report["folder"]).parent.name == "captures"


def test_what_fails_is_by_choice(playback: str) -> None:
    broken: dict[str, Answer] = {CHAT: lambda _: iter([page(500, "{}", "application/json")])}
    with raw_server(broken) as server:
        codes = [
            probe(server.v1, "--requests", "2", "--fail-on", at) for at in ("damaged", "failed", "never")
        ]
    assert codes == [0, 1, 0]
    swallowed = "responses-text-swallowed-vllm-0.32.0"
    words = ("--requests", "2", "--endpoint", "responses")
    codes = [probe(playback, *words, "--fail-on", level, model=swallowed) for level in ("failed", "unknown")]
    assert codes == [0, 1]


def test_two_servers_are_compared(playback: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "probe",
        "--against",
        playback,
        playback,
        "--model",
        COMPLETE_CHAT,
        TOOL,
        "--prompt",
        "Hi",
        "--quiet",
    ]
    assert main([*words, "--requests", "8"]) == 1
    assert "The difference in damaged responses is statistically significant" in capsys.readouterr().out


def test_only_a_worse_server_fails_where_that_is_asked(
    playback: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--prompt", "Hi", "--quiet", "--requests", "8", "--fail-on", "worse"]
    codes = [
        main(["probe", "--against", playback, playback, "--model", *models, *words])
        for models in ((COMPLETE_CHAT, TOOL), (TOOL, COMPLETE_CHAT), (TOOL, TOOL))
    ]
    assert codes == [1, 0, 0]
    capsys.readouterr()
    assert probe(playback, *words) == 2
    assert "--fail-on worse compares two servers" in capsys.readouterr().err


def test_key_and_address_come_from_the_environment_and_prompts_are_built_in(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    answers, _ = counted(3)
    with raw_server(answers) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.v1)
        monkeypatch.setenv("OPENAI_API_KEY", "secret-of-the-environment")
        assert main(["probe", "--model", "m", "--requests", "3", "--quiet", "--json", "--out", "out"]) == 0
        bodies = server.bodies(CHAT)
        keys = {asked.headers.get("authorization") for asked in server.asked}
    assert len({json.dumps(body["messages"]) for body in bodies}) == 3
    assert all(body["tools"] for body in bodies)
    assert keys == {"Bearer secret-of-the-environment"}
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["probe", "--help"])
    assert "secret-of" not in capsys.readouterr().out
    assert not [path for path in folder.rglob("*.json*") if "secret-of" in path.read_text()]


def test_prompts_come_from_files_and_a_second_call_goes_on(
    playback: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "prompts.jsonl").write_text('"One"\n[{"role": "user", "content": "Two"}]\n"One"\n')
    words = ("--prompts", "prompts.jsonl", "--out", "out")
    assert probe(playback, *words, "--budget", "3requests") == 0
    assert probe(playback, *words, "--budget", "5requests", "--budget", "1h", "--json") == 0
    output = capsys.readouterr().out
    assert json.loads(output[output.index("\n{") :])["total"]["requests"] == 5
    labels = [json.loads(line)["prompt"] for line in (folder / "out" / "rows.jsonl").read_text().splitlines()]
    assert sorted(labels) == ["One", "One", "One (2)", "prompt 2", "prompt 2"]
    assert probe(playback, "--prompt", "Another", "--out", "out", "--requests", "1") == 2
    assert "contains a probe with other requests" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--share", "0.5"), "--share needs --rate"),
        (("--sweep", "--rate", "3"), "--sweep and --rate exclude each other"),
        (("--sweep", "--concurrency", "3"), "leave out --concurrency"),
        (("--rate", "3", "--repeat", "3"), "use --requests with --rate"),
        (("--requests", "3", "--repeat", "3"), "--repeat and --requests exclude each other"),
        (("--json", "--csv", "-"), "can go to standard output"),
        (("--model", "a", "b"), "--model has 2 names for 1 servers"),
        (("--script", "no_such"), "no script named no_such"),
        (("--script", "plain", "no_such"), "no script named no_such"),
    ],
)
def test_options_that_do_not_fit_are_one_sentence(
    playback: str, words: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert probe(playback, *words) == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize("words", [("--budget", "5"), ("--budget", "xh"), ("--control", "2")])
def test_amounts_that_are_none_are_errors_of_the_command_line(words: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit):
        probe("http://localhost:1/v1", *words)


def test_one_ctrl_c_ends_it_with_the_result_of_what_was_done(folder: Path) -> None:
    answers, count = counted(20)
    with raw_server(answers) as server:
        command = [sys.executable, "-m", "inspector", "probe", "--base-url", server.v1, "--model", "m"]
        command += ["--prompt", "Hi", "--requests", "100000", "--out", "out", "--quiet"]
        started = subprocess.Popen(
            command,
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        with bounded(started) as running:
            assert count.wait(60)
            running.send_signal(signal.SIGINT)
            out, err = running.communicate(timeout=30)
    assert running.returncode == 2, err
    assert err == ""
    assert out.startswith("No silent loss in ")
    assert "Stopped by you; requests in flight were dropped and are not counted." in out


def test_an_unknown_model_ends_the_probe_at_its_first_response(
    playback: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert probe(playback, "--prompt", "Hi", "--requests", "200", "--out", "out", model="no-such-model") == 2
    printed = capsys.readouterr()
    assert "does not serve the model 'no-such-model'" in printed.err
    assert len(list(Path("out/captures").iterdir())) < 20
