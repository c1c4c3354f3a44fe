"""The docs are true: commands and pages are described, examples run."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.applications import Starlette

from inspector.cli import main
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


def test_the_guide_runs_from_top_to_bottom(
    playback: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """docs/start.md, with the built-in server in place of the reader's."""
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "start.md").read_text("utf-8")
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    lines = [
        line for block in blocks for line in block.splitlines() if line.startswith("python -m inspector")
    ]
    assert len(lines) > 5
    for line in lines:
        words = shlex.split(re.sub(r"http://localhost:800[01]", playback, line))[3:]
        assert main(words) in {0, 1}, capsys.readouterr().err
    assert {path.name for path in tmp_path.iterdir()} >= {
        "first.jsonl",
        "broken.html",
        "broken.md",
        "shared.jsonl",
    }


LINKED = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *DOCS,
    *sorted((ROOT / "docs" / "findings").glob("*.md")),
]
LINKED += [
    ROOT / "lab" / "README.md",
    ROOT / "fixtures" / "README.md",
    ROOT / "monitoring" / "witness" / "README.md",
]


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
