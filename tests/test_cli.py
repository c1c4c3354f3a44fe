"""The command line contract, run as scripts run it: in a process of its own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from inspector.lab.process import free_port
from inspector.store import save
from tests.support.streams import chat
from tests.test_verdict import GOOD, LEAK

ROOT = Path(__file__).parent.parent


def inspector(*words: str | Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "inspector", *map(str, words)]
    return subprocess.run(command, input=stdin, capture_output=True, cwd=ROOT, timeout=60, check=False)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("captures")
    made = {"good": chat(GOOD), "leak": chat(LEAK), "cut": chat(GOOD[:1], finish="length")}
    paths = {}
    for name, capture in made.items():
        paths[name] = folder / f"{name}.jsonl"
        save(capture, paths[name])
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    paths["picture"] = folder / "picture.png"
    return paths


@pytest.mark.parametrize(
    ("file", "options", "code"),
    [
        ("good", [], 0),
        ("leak", [], 1),
        ("leak", ["--fail-on", "never"], 0),
        ("cut", [], 0),
        ("cut", ["--fail-on", "warning"], 1),
        ("picture", [], 2),
    ],
)
def test_the_exit_code_says_what_was_found(
    files: dict[str, Path], file: str, options: list[str], code: int
) -> None:
    assert inspector("audit", files[file], *options).returncode == code


def test_one_file_gives_an_object_and_several_an_array(files: dict[str, Path]) -> None:
    assert (
        json.loads(inspector("audit", files["leak"], "--json").stdout)["findings"][0]["kind"] == "misrouted"
    )
    both = json.loads(inspector("audit", files["leak"], files["good"], "--json").stdout)
    assert [len(row["findings"]) for row in both] == [1, 0]


def test_standard_input_is_read(files: dict[str, Path]) -> None:
    done = inspector("audit", "-", "--json", stdin=files["good"].read_bytes())
    assert json.loads(done.stdout)["tokens"]["count"] == 14


def test_what_cannot_be_read_is_one_line_and_the_other_files_are_still_read(files: dict[str, Path]) -> None:
    done = inspector("audit", files["picture"], files["good"])
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert b"picture.png" in done.stderr
    assert b"CLEAN" in done.stdout


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    done = inspector("tokens", tmp_path / "nowhere.jsonl")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("doctor --base-url http://[::1", "is no server address"),
        ("doctor --base-url http://user:pass@[::1", "an address with a password in it"),
        ("tokens fixtures/responses-whole-vllm-0.14.1.jsonl", "vLLM sends none with Responses"),
        ("tokens fixtures/logs/vllm-0.14.1.log.gz", "`python -m inspector diagnose` reads it"),
        ("compare a.jsonl b.jsonl --runs 3", "--runs is for --ask"),
        ("compare --left a.jsonl --right b.jsonl --prompt Hi", "--prompt is for --ask"),
        (
            "record --base-url h --model m --messages README.md --out x.jsonl",
            "README.md: the messages are no",
        ),
        ("record --base-url h --model m --prompt p --out x.jsonl --and-truth ./x.jsonl", "another one"),
    ],
)
def test_a_mistake_is_told_in_one_line_that_says_what_to_do(words: str, told: str) -> None:
    done = inspector(*words.split())
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert told in done.stderr.decode()
    assert b"pass" not in done.stderr.replace(b"password", b"")


@pytest.mark.parametrize("words", ["play --port 65536", "tap --upstream h --captures c --port x"])
def test_a_port_that_is_none_is_told(words: str) -> None:
    done = inspector(*words.split())
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith(b"is no port; it is a number from 0 to 65535")


def test_a_time_that_is_none_is_told() -> None:
    for seconds in ("0", "-5", "nan", "inf", "soon"):
        done = inspector("doctor", "--base-url", "h", f"--timeout={seconds}")
        assert done.returncode == 2
        assert done.stderr.splitlines()[-1].endswith(b"is no time; it is a number of seconds above 0")


def test_nothing_stands_in_the_way_of_the_next_try_to_record(tmp_path: Path) -> None:
    nobody = f"http://127.0.0.1:{free_port()}"
    words = ("record", "--base-url", nobody, "--model", "m", "--prompt", "p", "--out", tmp_path / "x.jsonl")
    done = inspector(*words)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert b"nothing answers" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_tokens_prints_a_row_a_token(files: dict[str, Path]) -> None:
    rows = json.loads(inspector("tokens", files["good"], "--json").stdout)
    assert len(rows) == 14
    assert {"index", "id", "text", "state", "message", "channel", "event", "arrival_s"} <= set(rows[0])
    shown = inspector("tokens", files["good"]).stdout.decode()
    assert len(shown.splitlines()) == 15


def test_a_terminal_gets_no_control_characters_from_a_model(tmp_path: Path) -> None:
    steps = [("<|channel|>final<|message|>\x1b[31m\u202e\x07", {"content": "other"}), ("<|return|>", {})]
    save(chat(steps), tmp_path / "hostile.jsonl")
    for command in ("audit", "tokens"):
        printed = inspector(command, tmp_path / "hostile.jsonl").stdout.decode()
        assert not set(printed) & {"\x1b", "\u202e", "\x07"}


def test_truth_from_outside_takes_the_place_of_ids(files: dict[str, Path], tmp_path: Path) -> None:
    save(chat(LEAK, with_ids=False), tmp_path / "no-ids.jsonl")
    assert json.loads(inspector("audit", tmp_path / "no-ids.jsonl", "--json").stdout)["generated"] is None
    done = inspector("audit", tmp_path / "no-ids.jsonl", "--truth", files["leak"], "--json")
    row = json.loads(done.stdout)
    assert row["evidence"] == "given ids"
    assert [finding["kind"] for finding in row["findings"]] == ["misrouted"]


def test_a_reader_that_stops_early_is_no_error(files: dict[str, Path]) -> None:
    command = f"{sys.executable} -m inspector tokens {files['good']} | head -1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, cwd=ROOT, timeout=60, check=False
    )
    assert done.stderr == b""
