"""The docs are true: commands and pages are described, generated parts are current, examples run."""

import re
import shlex
from pathlib import Path

import pytest

from inspector.cli import main, parser
from tools.make_grammar import grammar_table
from tools.make_kinds import kinds_table

ROOT = Path(__file__).parent.parent
DOCS = sorted((ROOT / "docs").glob("*.md"))


def commands() -> list[str]:
    (subparsers,) = [action for action in parser()._actions if action.choices]
    assert subparsers.choices is not None
    return sorted(subparsers.choices)


def test_the_grammar_in_the_docs_is_the_grammar_in_the_code() -> None:
    text = (ROOT / "docs" / "harmony.md").read_text(encoding="utf-8")
    shown = text.split("<!-- grammar -->")[1].split("<!-- /grammar -->")[0].strip()
    assert shown == grammar_table()


def test_the_kinds_in_the_docs_are_the_kinds_in_the_code() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    shown = text.split("<!-- kinds -->")[1].split("<!-- /kinds -->")[0].strip()
    assert shown == kinds_table(), "python -m tools.make_kinds prints the table"


@pytest.mark.parametrize("command", commands())
def test_every_command_is_described_and_has_help_with_an_example(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    described = "".join(path.read_text(encoding="utf-8") for path in [ROOT / "README.md", *DOCS])
    assert f"python -m inspector {command}" in described
    with pytest.raises(SystemExit) as stopped:
        main([command, "--help"])
    assert stopped.value.code == 0
    assert f"python -m inspector {command}" in capsys.readouterr().out


PAGES = sorted(set((ROOT / "pages").glob("*.py")) - {ROOT / "pages" / "frame.py"})


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_every_page_is_described(page: Path) -> None:
    described = "".join(path.read_text(encoding="utf-8") for path in [ROOT / "README.md", *DOCS])
    assert f"{page.stem.capitalize()} page" in described or f"{page.stem.capitalize()}**" in described


def examples() -> list[tuple[str, str]]:
    """`$ python -m inspector ...` lines of console blocks, and the output shown under each."""
    found = []
    for path in [ROOT / "README.md", *DOCS]:
        for block in re.findall(r"```console\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL):
            for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, _, output = part.partition("\n")
                found.append((command, output))
    return found


@pytest.mark.parametrize(("command", "output"), examples(), ids=lambda text: text[:60])
def test_examples_print_what_the_docs_show(
    command: str, output: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    words = shlex.split(command)
    assert words[:3] == ["python", "-m", "inspector"], "console blocks show our commands"
    main(words[3:])
    printed = capsys.readouterr().out
    for line in output.rstrip().splitlines():
        if line != "...":
            assert line in printed
