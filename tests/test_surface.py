"""What `inspector` offers to other programs."""

import ast
import doctest
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.applications import Starlette

import inspector
from inspector.files.store import builtin
from inspector.net.playback import playback_routes
from tests.support.listening import listening

ROOT = Path(__file__).parent.parent
LIBRARY = ROOT / "docs" / "library.md"


def test_the_library_offers_exactly_what_it_imports() -> None:
    assert set(inspector.__all__) == set(imported())
    assert len(set(inspector.__all__)) == len(inspector.__all__)


def imported() -> dict[str, str]:
    """The names that the library imports from the program, each with its module."""
    source = Path(inspector.__file__).read_text(encoding="utf-8")
    return {
        alias.asname or alias.name: node.module
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("inspector.")
        for alias in node.names
        if node.module is not None
    }


def test_a_name_of_the_library_is_what_its_type_says() -> None:
    """Type checkers read the imports, programs get what is loaded for the name."""
    for name, module in imported().items():
        assert getattr(inspector, name) is getattr(importlib.import_module(module), name)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = inspector.nothing  # type: ignore[attr-defined]


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["audit", "--help"]])
def test_help_loads_no_more_than_its_command(arguments: list[str]) -> None:
    program = (
        "import sys, contextlib, inspector.cli\n"
        "with contextlib.suppress(SystemExit): inspector.cli.main(sys.argv[1:])\n"
        "print([name for name in ('inspector.analysis', 'inspector.net') if name in sys.modules])"
    )
    completed = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, cwd=ROOT, check=True
    )
    loaded = ["inspector.analysis"] if "audit" in arguments else []
    assert completed.stdout.splitlines()[-1] == str(loaded)


def examples() -> str:
    return "\n".join(re.findall(r"```pycon\n(.*?)```", LIBRARY.read_text(encoding="utf-8"), re.DOTALL))


def test_every_name_of_the_library_has_an_example() -> None:
    assert set(re.findall(r"\binspector\.(\w+)", examples())) >= set(inspector.__all__)


@pytest.fixture
def playback() -> Iterator[str]:
    captures = {fixture.name: inspector.load(fixture.path) for fixture in builtin()}
    with listening(Starlette(routes=playback_routes(lambda: captures))) as address:
        yield f"{address}/playback/v1"


def test_the_examples_of_the_library_print_what_the_docs_show(
    playback: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    monkeypatch.chdir(tmp_path)
    source = examples().replace("http://localhost:8000/v1", playback)
    source = source.replace("openai/gpt-oss-20b", "chat-whole-vllm-0.14.1")
    session = doctest.DocTestParser().get_doctest(source, {}, "library.md", str(LIBRARY), 0)
    assert len(session.examples) > len(inspector.__all__)
    printed: list[str] = []
    failed, _ = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(session, out=printed.append)
    assert not failed, "".join(printed)


def test_import_inspector_is_light() -> None:
    heavy = ("inspector.matrix", "openai", "rapidfuzz", "starlette", "streamlit", "uvicorn")
    program = f"import sys, inspector; print([name for name in {heavy!r} if name in sys.modules])"
    completed = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert completed.stdout.strip() == "[]"


def test_every_module_can_be_imported_where_unix_modules_are_missing() -> None:
    """As on Windows: the program says in a sentence what does not work there, and does the rest."""
    by_platform = (
        ROOT / "inspector" / "commands" / "agents" / "server.py"
    )  # the MCP SDK asks sys.platform instead
    modules = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for folder in ("inspector", "pages/ui", "pages/parts")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if path.name != "__main__.py" and path.parent.name != "reference_clients" and path != by_platform
    ]
    program = (
        "import sys, importlib\n"
        "for name in ('fcntl', 'pwd', 'grp', 'resource', 'termios'): sys.modules[name] = None\n"
        f"for name in {modules!r}: importlib.import_module(name)\n"
        "from inspector.cli import main\n"
        "main(['--help'])\n"
    )
    command = [sys.executable, "-W", "ignore", "-c", program]
    completed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stderr
