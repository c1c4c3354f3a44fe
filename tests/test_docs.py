"""The docs are true: commands and pages are described, examples run."""

import re
import shlex
from collections.abc import Iterator
from glob import glob
from itertools import dropwhile
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette

from inspector.cli import main
from inspector.commands.options import Command
from inspector.commands.program import Program
from inspector.commands.table import PROGRAM
from inspector.files.store import builtin, load
from inspector.net.playback import PlaybackSettings, playback_routes
from tests.support.listening import listening

ROOT = Path(__file__).parent.parent
DOCS = sorted((ROOT / "docs").glob("*.md"))


PLAYED = "http://localhost:8001"
"""Where `play` serves the built-in captures in the docs."""


@pytest.fixture(scope="module")
def playback() -> Iterator[str]:
    """The same without its pauses."""
    captures = {fixture.name: load(fixture.path) for fixture in builtin()}
    routes = playback_routes(
        lambda: captures, prefix="", settings=PlaybackSettings().changed({"speed": "inf"})
    )
    with listening(Starlette(routes=routes)) as address:
        yield address


@pytest.fixture(autouse=True)
def captures_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Examples keep their captures outside the checkout."""
    monkeypatch.setenv("HARMONY_INSPECTOR_CAPTURES", str(tmp_path))


@pytest.mark.parametrize("command", PROGRAM.names)
def test_every_command_is_described_and_has_help_with_an_example(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    described = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert re.search(rf"^\| `{command}\b", described, re.MULTILINE)
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
    commands = []
    for path in [ROOT / "README.md", *DOCS]:
        for block in re.findall(r"```console\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL):
            for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, _, output = part.partition("\n")
                commands.append((command, output))
    return commands


def shows(output: str, printed: str) -> bool:
    """True when a documented output is the whole printed one; a line `...` stands for any number of lines."""
    lines = output.rstrip().split("\n")
    pattern = "".join(r"(?:.*\n)*?" if line == "..." else re.escape(f"{line}\n") for line in lines)
    return re.fullmatch(pattern, printed.rstrip() + "\n") is not None


def test_an_omission_in_the_docs_is_noticed_unless_they_say_so() -> None:
    printed = "one\ntwo\nthree\n"
    assert shows(printed, printed)
    assert shows("one\n...\n", printed)
    assert shows("...\ntwo\n...\n", printed)
    assert shows("one\n...\nthree\n", printed)
    assert not shows("one\nthree\n", printed)
    assert not shows("one\n", printed)
    assert not shows("two\n...\n", printed)
    assert not shows("...\nthree\n...\ntwo\n", printed)
    assert not shows("one\n...\nree\n", printed)


@pytest.mark.parametrize(("command", "output"), examples(), ids=lambda text: text[:60])
def test_examples_print_what_the_docs_show(
    command: str,
    output: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    playback: str,
) -> None:
    monkeypatch.chdir(ROOT)
    words = shlex.split(command)
    assert words[:3] == ["python", "-m", "inspector"], "console blocks show our commands"
    if words[3] == "library":  # its examples ask the scan that docs/scan.md begins with
        main(["scan", "fixtures/*.jsonl*", "--quiet"])
        capsys.readouterr()
    main([word.replace(PLAYED, playback) for word in words[3:]])
    printed = capsys.readouterr().out.replace(playback, PLAYED)
    assert shows(output, printed), f"the docs show\n{output}\nbut this is printed:\n{printed}"


def programs() -> list[tuple[str, str]]:
    """The Python blocks of the docs by page; those of pytest.md run in a pytest of their own."""
    return [
        (path.stem, block)
        for path in [ROOT / "README.md", *DOCS]
        if path.stem != "pytest"
        for block in re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)
    ]


@pytest.mark.parametrize(("page", "program"), programs(), ids=[page for page, _ in programs()])
def test_programs_in_the_docs_run(
    page: str, program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    exec(compile(program, f"docs/{page}.md", "exec"), {"__name__": page})  # noqa: S102 -- our own docs


LINKED = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "AGENTS.md",
    ROOT / "llms.txt",
    *sorted((ROOT / "skills").rglob("*.md")),
    *DOCS,
    *sorted((ROOT / "docs" / "findings").glob("*.md")),
]
LINKED += [
    ROOT / "lab" / "README.md",
    ROOT / "fixtures" / "README.md",
    ROOT / "monitoring" / "witness" / "README.md",
]


NOT_RUN = {
    "python -m inspector lab": "starts real servers: pytest lab/lab_tests -m vllm",
    "python -m inspector tap": "runs until it is stopped: tests/net/tap",
    "python -m inspector canary": "runs until it is stopped: tests/fleet/watch",
    "python -m inspector play": "runs until it is stopped; its server answers these blocks",
    "python -m inspector scan": "reads folders and an object store of the reader: tests/data/scan",
    "curl": "asks a server of the reader",
    "pip install": "installs from the index: .ci/run",
    "streamlit run": "runs until it is stopped: tests/browser",
    "pytest": "runs these tests: .ci/run",
    "python -m venv": ".ci/run",
    ".": "enters a virtual environment",
    "npm": ".ci/run",
    ".ci/coverage": ".ci/run",
    ".ci/run": "runs these tests",
    "git commit": "a commit of the reader",
    "docker": "needs Docker: tests/test_image.py",
    "hf": "needs an account",
    "export": "a variable for the commands below it",
    "python -m bench": "measures for minutes",
    "python -m tools": "needs files of the reader: tests/tools",
    "python -c": "reads what the lab prints",
    "python my_program.py": "the reader's program",
    "grep": "reads what a server prints",
    "vllm": "a vLLM with a GPU; pytest lab/lab_tests -m vllm starts real ones with these flags",
    "guidellm": "a benchmark that is not installed",
    "inspect eval": "a benchmark that is not installed",
    "promptfoo": "a benchmark that is not installed",
    "litellm": "a proxy that is not installed",
    "duckdb": "a program that is not installed",
}
"""How commands of `sh` blocks begin that are not run, and why; ours are parsed all the same."""


def shell_commands(text: str) -> Iterator[list[str]]:
    """The words of each command in the `sh` blocks, without variables before it and a file behind it."""
    for block in re.findall(r"^ *```sh\n(.*?)```", text, re.DOTALL | re.MULTILINE):
        text = re.sub(r" +# .*", "", block).replace("\\\n", " ")
        lexer = shlex.shlex(text, posix=True, punctuation_chars="&|>\n")
        lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t", True, ""
        words: list[str] = []
        for word in [*lexer, "\n"]:
            if set(word) <= set("&|\n"):
                command = list(dropwhile(lambda word: re.match(r"[A-Z_]+=", word), words))
                if command:
                    yield command[: command.index(">")] if ">" in command else command
                words = []
            else:
                words.append(word)


def ours(command: list[str]) -> list[str] | None:
    """What follows the program's name, if it is ours."""
    if command[0] == "harmony-inspector":
        return command[1:]
    return command[3:] if command[:3] == ["python", "-m", "inspector"] else None


def why_not_run(command: list[str]) -> str | None:
    words = " ".join(command)
    return next(
        (begin for begin in NOT_RUN if words == begin or words.startswith((f"{begin} ", f"{begin}."))), None
    )


SHELL = [
    (path.relative_to(ROOT).as_posix(), commands)
    for path in LINKED
    if (commands := list(shell_commands(path.read_text("utf-8"))))
]


def test_commands_that_are_not_run_are_listed_with_the_reason() -> None:
    commands = [command for _, commands in SHELL for command in commands]
    assert [command for command in commands if not ours(command) and not why_not_run(command)] == []
    assert set(NOT_RUN) == set(filter(None, map(why_not_run, commands))), "no block has the others any more"


@pytest.mark.parametrize(("page", "commands"), SHELL, ids=[page for page, _ in SHELL])
def test_our_commands_in_shell_blocks_parse(page: str, commands: list[list[str]]) -> None:
    for words in filter(None, map(ours, commands)):
        command: Command[Any] | Program = PROGRAM
        while isinstance(command, Program):
            command = command.load(words.pop(0))
        command.parsed(page, words)


RUN = {page: run for page, commands in SHELL if (run := [it for it in commands if not why_not_run(it)])}


@pytest.mark.parametrize("page", RUN)
def test_shell_blocks_run_from_top_to_bottom(
    page: str,
    playback: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In a folder with captures, with the built-in server in place of the reader's."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "captures").mkdir()
    for at in ("capture.jsonl", "captures/first.jsonl", "captures/second.jsonl"):
        (tmp_path / at).write_bytes(
            (ROOT / "fixtures" / "chat-tool-call-leak-vllm-0.14.1.jsonl").read_bytes()
        )
    for command in RUN[page]:
        words = [re.sub(r"http://\w+:80\d\d", playback, word) for word in ours(command) or []]
        words = ["playback" if word == "openai/gpt-oss-20b" else word for word in words]
        expanded = [path for word in words for path in (sorted(glob(word)) if "*" in word else [word])]
        assert main(expanded) in {0, 1}, (command, capsys.readouterr().err)


def anchors(path: Path) -> set[str]:
    """The addresses of a page's headings, as GitHub makes them."""
    text = re.sub(r"```.*?```", "", path.read_text("utf-8"), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", LINKED, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_to_files_and_headings(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", link):
            continue
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []
