"""What all commands keep to: one line for a mistake, no control characters, no noise in a pipe."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from inspector.cli import main
from inspector.files.store import save
from tests.support.command import ROOT, inspector
from tests.support.streams import chat


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("doctor --base-url http://[::1", "invalid server address"),
        ("doctor --base-url http://user:pass@[::1", "an address with a password in it"),
        ("doctor --base-url http://1.2.3.999:8000", "invalid server address"),
        ("tokens fixtures/responses-text-swallowed-vllm-0.32.0.jsonl", "Responses has none"),
        ("tokens fixtures/logs/vllm-0.14.1.log.gz", "read this log with `python -m inspector diagnose`"),
        ("audit http://localhost:8000/v1", "record --base-url http://localhost:8000/v1 --prompt"),
        ("tokens localhost:8000", "record --base-url localhost:8000 --prompt"),
        ("diagnose nowhere.log", "nowhere.log: no such file; check the name"),
        ("tokens chat-tool-call-leak-vllm-0.14", "is named chat-tool-call-leak-vllm-0.14.1"),
        ("compare a.jsonl b.jsonl --runs 3", "--runs is only valid with --ask"),
        ("compare --left a.jsonl --right b.jsonl --prompt Hi", "--prompt is only valid with --ask"),
        (
            "record --base-url h --model m --messages README.md --out x.jsonl",
            "README.md: invalid JSON in messages",
        ),
        (
            "record --base-url h --model m --prompt p --out x.jsonl --and-truth ./x.jsonl",
            "same file as --out",
        ),
    ],
)
def test_user_errors_are_one_line_with_a_fix(words: str, sentence: str) -> None:
    completed = inspector(*words.split())
    assert (completed.returncode, len(completed.stderr.splitlines())) == (2, 1)
    assert sentence in completed.stderr.decode()
    assert b"pass" not in completed.stderr.replace(b"password", b"")


def test_a_fix_names_the_program_as_it_was_called(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["/usr/bin/harmony-inspector", "audit", "http://localhost:8000"])
    assert main() == 2
    assert "record a response there: harmony-inspector record --base-url" in capsys.readouterr().err


@pytest.mark.parametrize("words", ["play --port 65536", "tap --upstream h --out c --port x"])
def test_invalid_port_is_an_error(words: str) -> None:
    completed = inspector(*words.split())
    assert completed.returncode == 2
    assert completed.stderr.splitlines()[-1].endswith(b"(expected 0 to 65535)")


def test_invalid_timeout_is_an_error() -> None:
    for seconds in ("0", "-5", "nan", "inf", "soon"):
        completed = inspector("doctor", "--base-url", "h", f"--timeout={seconds}")
        assert completed.returncode == 2
        assert completed.stderr.splitlines()[-1].endswith(b"expected a positive number of seconds")


def test_a_terminal_gets_no_control_characters_from_a_model(tmp_path: Path) -> None:
    steps = [("<|channel|>final<|message|>\x1b[31m\u202e\x07", {"content": "other"}), ("<|return|>", {})]
    save(chat(steps), tmp_path / "hostile.jsonl")
    for command in ("audit", "tokens"):
        printed = inspector(command, tmp_path / "hostile.jsonl").stdout.decode()
        assert not set(printed) & {"\x1b", "\u202e", "\x07"}


def test_closed_pipe_is_no_error(files: dict[str, Path]) -> None:
    command = f"{sys.executable} -m inspector tokens {files['good']} | head -1"
    completed = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, cwd=ROOT, timeout=180, check=False
    )
    assert completed.stderr == b""


def test_a_text_in_place_of_a_file_is_given_back_as_a_command() -> None:
    text = "Unexpected token 200002 while expecting start token 200006 isn't 'here'"
    completed = inspector("diagnose", text)
    assert (completed.returncode, len(completed.stderr.splitlines())) == (2, 1)
    command = completed.stderr.decode().partition("standard input: ")[2].strip()
    echo = command.removesuffix("| python -m inspector diagnose")
    echoed = subprocess.run(["bash", "-c", echo], capture_output=True, text=True, check=True)
    assert echoed.stdout == f"{text}\n"


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("audit", "fixtures/chat-tool-call-leak-vllm-0.14.1.jsonl"),
        ("diagnose", "fixtures/logs/vllm-0.13.0.log.gz"),
        ("lint", "fixtures/lint/evaluation-of-raw-harmony.jsonl"),
        ("rollout", "fixtures/rollout/tool-loops.jsonl"),
    ],
)
def test_json_lines_have_one_shape(command: str, file: str) -> None:
    completed = inspector(command, file, "--jsonl")
    [line] = completed.stdout.splitlines()
    assert json.loads(line) == json.loads(inspector(command, file, "--json").stdout)
    unread = inspector(command, "missing", "--jsonl")
    [row] = map(json.loads, unread.stdout.splitlines())
    assert row.keys() == {"file", "unreadable"}
    assert (unread.returncode, row["file"]) == (2, "missing")
    assert unread.stderr.decode() == f"inspector: {row['unreadable']}\n"
    if command in {"audit", "lint"}:
        rows = [
            json.loads(line) for line in inspector(command, "missing", file, "--jsonl").stdout.splitlines()
        ]
        assert sorted("unreadable" in row for row in rows) == [False, True]
        assert json.loads(inspector(command, "missing", file, "--json").stdout) == [json.loads(line)]


@pytest.mark.parametrize("command", ["audit", "tokens", "diagnose"])
def test_a_built_in_capture_is_given_by_its_name(command: str) -> None:
    name = "chat-tool-call-leak-vllm-0.14.1"
    path = f"fixtures/{name}.jsonl"
    by_name, by_path = (inspector(command, file, "--json").stdout.decode() for file in (name, path))
    assert by_name == by_path.replace(path, name)
