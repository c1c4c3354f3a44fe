"""What the host of the repository and pre-commit read: forms of issues, the security policy, the hook."""

import re
import shlex
from pathlib import Path

import pytest
import yaml

from inspector.cli import main
from inspector.commands.options import Command
from inspector.commands.table import PROGRAM
from inspector.files.store import FIXTURES

ROOT = Path(__file__).parents[1]
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("[0-9]*.yml"))


def test_the_hook_finds_what_lint_finds(capsys: pytest.CaptureFixture[str]) -> None:
    [hook] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    data = FIXTURES / "lint" / "template-teaches-two-terminators.jsonl"
    names = ["a.jsonl", "data/a.jsonl.gz", str(data), "a.json", "package-lock.json", "a.jsonlx"]
    assert [bool(re.search(hook["files"], name)) for name in names] == [True, True, True, False, False, False]
    program, *words = shlex.split(hook["entry"])
    assert program == "harmony-inspector"
    assert main([*words, str(data)]) == 1
    assert "double_terminator" in capsys.readouterr().out


@pytest.mark.parametrize("form", FORMS, ids=lambda path: path.stem)
def test_a_form_asks_for_a_redacted_capture_and_its_commands_run(form: Path) -> None:
    fields = yaml.safe_load(form.read_text("utf-8"))["body"]
    ids = [field["id"] for field in fields]
    assert len(set(ids)) == len(ids)
    [capture] = [field for field in fields if field["id"] == "capture"]
    assert "harmony-inspector redact" in capture["attributes"]["description"]


@pytest.mark.parametrize("file", [*FORMS, ROOT / "SECURITY.md"], ids=lambda path: path.stem)
def test_the_commands_that_it_names_are_commands(file: Path) -> None:
    commands = re.findall(r"`harmony-inspector ([^`]+)`", file.read_text("utf-8"))
    assert commands
    for name, *words in map(shlex.split, commands):
        if name != "--version" and words:
            command = PROGRAM.load(name)
            assert isinstance(command, Command)
            command.parsed(name, words)
