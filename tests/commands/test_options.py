"""Options of commands: what is said of mistakes, older spellings, and what shells complete."""

import subprocess
from argparse import SUPPRESS
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from inspector.cli import main
from inspector.commands.canary import COMMAND as CANARY
from inspector.commands.options import Command, Options, flag, option, required
from inspector.commands.program import Program
from inspector.commands.record import COMMAND as RECORD
from inspector.commands.shared import Number, Share
from inspector.commands.table import PROGRAM
from inspector.commands.tap import COMMAND as TAP
from tests.support.command import ROOT


@pytest.mark.parametrize(
    ("words", "usage", "hint"),
    [
        ("audit x --fail-no never", "inspector audit [-h]", "--fail-no never; did you mean --fail-on?"),
        ("audit --jsno", "inspector audit [-h]", "did you mean --json?"),
        ("tokens x --zzz", "inspector tokens [-h]", "unrecognized arguments: --zzz"),
        ("tap --captrues x", "inspector tap [-h]", "did you mean --out?"),
        ("audti x", "inspector audit [-h]", "no command 'audti'; did you mean audit?"),
        ("audit x --fail-on erorr", "inspector audit [-h]", "invalid choice: 'erorr'; did you mean error?"),
        ("completion zzz", "inspector completion [-h]", "(choose from bash, zsh, fish)"),
        ("lab matrx", "inspector lab matrix [-h]", "no command 'matrx'; did you mean matrix?"),
        ("lba", "inspector lab [-h]", "no command 'lba'; did you mean lab?"),
        ("zzz", "inspector [-h]", "no command 'zzz' (choose from audit, "),
        ("--versoin", "inspector [-h]", "did you mean --version?"),
        ("", "inspector [-h]", "name a command; --help lists them"),
        ("lab", "inspector lab [-h]", "name a command; --help lists them"),
    ],
)
def test_a_mistake_is_answered_with_the_nearest_word_and_its_usage(
    words: str, usage: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(words.split())
    printed = capsys.readouterr().err
    assert stopped.value.code == 2
    assert usage in printed.splitlines()[0]
    assert hint in printed.splitlines()[-1]


def test_older_spellings_are_accepted_and_not_shown() -> None:
    for command, words in (
        (TAP, ["--upstream", "h"]),
        (CANARY, ["--base-url", "h", "--model", "m"]),
    ):
        for name in ("--out", "--captures", "--capt"):
            assert command.parsed("x", [*words, name, "folder"]).out == "folder"
        assert "captures DIR" not in command.parser("x").format_help()


class _Reached(Options, title="reached", about="where"):
    address: str = required("", "URL", one_of="place", environment="TEST_ADDRESS")
    pair: tuple[str, str] | None = option("two", None, "URL", one_of="place")


class _Given(_Reached, needs=("place",)):
    """Say what it does."""

    files: tuple[Path, ...] = option("", (), "FILE", positional=True)
    count: Number | None = option("how many", None)
    share: Share = option("which part", 0.5)
    names: tuple[str, ...] = option("", ())
    each: tuple[int, ...] = option("", (), repeatable=True)
    groups: tuple[tuple[str, ...], ...] = option("", (), repeatable=True)
    up_to: int | None = option("", None, bare=64)
    all: bool = flag("")
    hidden: str = option(SUPPRESS, "")


GIVEN = Command(_Given, lambda _: 0, "")


@pytest.mark.parametrize(
    ("words", "values"),
    [
        ("a b", {"files": (Path("a"), Path("b"))}),
        ("--count 3 --share 1", {"count": 3, "share": 1.0}),
        ("--names a b --names c", {"names": ("c",)}),
        ("--each 1 --each 2", {"each": (1, 2)}),
        ("--groups a b --groups c", {"groups": (("a", "b"), ("c",))}),
        ("--up-to", {"up_to": 64}),
        ("--up-to 3 --all --hidden x", {"up_to": 3, "all": True, "hidden": "x"}),
        ("--pair a b", {"pair": ("a", "b")}),
        ("--address here", {"address": "here"}),
    ],
)
def test_words_become_values_of_the_type(
    words: str, values: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_ADDRESS", "there")
    assert GIVEN.parsed("x", words.split()) == _Given(address=values.pop("address", "there"), **values)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("", "one of the arguments --address --pair is required"),
        ("--address a --pair b c", "argument --pair: not allowed with argument --address"),
        ("--pair a", "argument --pair: expected 2 arguments"),
        ("--pair a b --count x", "argument --count: invalid number: 'x' (expected 0 to 999999999)"),
        ("--pair a b --share 2", "argument --share: invalid share: '2' (expected a number from 0 to 1)"),
    ],
)
def test_wrong_words_are_an_error(words: str, sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        GIVEN.parsed("x", words.split())
    assert capsys.readouterr().err.endswith(f"x: error: {sentence}\n")


def test_a_glob_that_no_shell_expanded_is_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Globbed(Options):
        files: tuple[str, ...] = required("", "FILE", positional=True, globs=True)

    monkeypatch.chdir(tmp_path)
    for name in ("b.jsonl", "a.jsonl", "c[1].jsonl", "deep/d.jsonl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    globbed = Command(Globbed, lambda _: 0, "")
    for words, files in (
        (["[ab].jsonl", "x.jsonl"], ("a.jsonl", "b.jsonl", "x.jsonl")),
        (["c[1].jsonl"], ("c[1].jsonl",)),
        (["**/d*.jsonl", "-"], ("deep/d.jsonl", "-")),
        (["none*.jsonl"], ("none*.jsonl",)),
    ):
        assert globbed.parsed("x", words).files == files


HELP = """
Say what it does.

positional arguments:
  FILE

options:
  -h, --help            show this help message and exit
  --count N             how many
  --share SHARE         which part (default: 0.5)
  --names NAMES [NAMES ...]
  --each EACH
  --groups GROUPS [GROUPS ...]
  --up-to [UP_TO]
  --all
  --color WHEN          auto (default: on a terminal, unless NO_COLOR or
                        FORCE_COLOR is set), always or never

reached:
  where

  --address URL
  --pair URL URL        two
"""


def test_a_base_with_a_title_is_a_group_of_the_help(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    printed = GIVEN.parser("x").format_help()
    assert "[--all] (--address URL | --pair URL URL)" in printed
    assert printed.endswith(HELP)


def test_prose_of_the_help_is_as_wide_as_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    command = Command(_Given, lambda _: 0, f"example:\n  {'x' * 60}\n\n{'word ' * 12}more\nmore\n")
    monkeypatch.setenv("TEST_ADDRESS", "there")
    *_, example, code, empty, first, second = command.parser("x").format_help().splitlines()
    assert (example, code, empty) == ("example:", f"  {'x' * 60}", "")
    assert f"{first} {second}" == f"{'word ' * 12}more more"
    assert len(first) <= 40


def test_the_examples_of_the_installed_program_have_its_name() -> None:
    for parser in (PROGRAM.parser, *(PROGRAM.load(name).parser for name in ("audit", "scan", "completion"))):
        assert "python -m" not in parser("harmony-inspector x").format_help()
        assert "python -m inspector" in " ".join(parser("python -m inspector x").format_help().split())


def test_a_command_that_needs_one_of_two_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        RECORD.parsed("x", ["--base-url", "h", "--model", "m", "--out", "o"])
    assert "one of the arguments --prompt --messages is required" in capsys.readouterr().err


def options_of(program: Program) -> set[str]:
    """All options of all commands that the help names."""
    names = set[str]()
    for command in map(program.load, program.names):
        if isinstance(command, Program):
            names |= options_of(command)
        else:
            shown = [action for action in command.parser("x")._actions if action.help != SUPPRESS]
            names.update(name for action in shown for name in action.option_strings)
    return names


COMPLETE = """
source {script}
COMP_WORDS=(harmony-inspector {words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_shtab_harmony_inspector harmony-inspector "${{COMP_WORDS[COMP_CWORD]}}" "${{COMP_WORDS[COMP_CWORD-1]}}"
echo "${{COMPREPLY[@]}}"
"""


@pytest.mark.parametrize(
    ("words", "replies"),
    [
        ("au", "audit"),
        ("audit --fail", "--fail-on"),
        ("audit --fail-on ''", "error warning never"),
        ("audit fixtures/chat-whole-vllm", "fixtures/chat-whole-vllm-0.14.1.jsonl"),
        ("lab matrix --front", "--front-end"),
        ("scan --out fixtures/form", "fixtures/formats"),
        ("tap --capt", ""),
    ],
)
def test_bash_completes(words: str, replies: str, completion: Path) -> None:
    script = COMPLETE.format(script=completion, words=words)
    completed = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=ROOT, check=True)
    assert completed.stdout.strip() == replies


@pytest.fixture(scope="module")
def completion(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("completion") / "bash"
    with file.open("w") as script, redirect_stdout(script):
        assert main(["completion", "bash"]) == 0
    return file


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_every_option_is_in_the_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    options = options_of(PROGRAM)
    assert len(options) > 100
    assert [name for name in options if name.lstrip("-") not in script] == []
