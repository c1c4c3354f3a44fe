"""The rules of docs/architecture.md, read from the code with `ast`, so that a lazy import counts too."""

import ast
import re
from pathlib import Path
from typing import Final

import pytest

import inspector
from tools.make_layers import layers, table

ROOT = Path(__file__).parent.parent
INSPECTOR = ROOT / "inspector"

LAYERS = layers()
"""Lowest first. A module imports from its own layer's earlier names and from lower layers."""

RANK = {name: (rank, place) for rank, layer in enumerate(LAYERS) for place, name in enumerate(layer.modules)}

PURE = {name for layer in LAYERS if layer.pure for name in layer.modules}
"""Modules that import the standard library and openai_harmony only."""

PAGES = ROOT / "pages"

STANDARD = __import__("sys").stdlib_module_names


def modules() -> list[Path]:
    return sorted(INSPECTOR.rglob("*.py"))


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            found.add(node.module or "")
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def layer_of(path: Path) -> str:
    return path.relative_to(INSPECTOR).parts[0].removesuffix(".py")


def standalone(path: Path) -> bool:
    """Files that run inside a vLLM environment, without this package."""
    return "standalone" in path.parts


def test_every_module_has_a_layer_and_every_layer_has_its_modules() -> None:
    assert sum(len(layer.modules) for layer in LAYERS) == len(RANK), "a module has one layer"
    assert {layer_of(path) for path in modules()} == set(RANK), "docs/layers.toml names what inspector/ has"


def test_the_layers_in_the_docs_are_those_that_are_tested() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    shown = text.split("<!-- layers -->")[1].split("<!-- /layers -->")[0].strip()
    assert shown == table(), "python -m tools.make_layers prints the table"


@pytest.mark.parametrize("path", modules(), ids=str)
def test_the_library_knows_no_screen(path: Path) -> None:
    assert not {name.split(".")[0] for name in imports(path)} & {"streamlit", "plotly", "pages", "app"}


@pytest.mark.parametrize("path", [path for path in modules() if layer_of(path) in PURE], ids=str)
def test_values_protocol_and_folding_import_only_the_standard_library_and_the_judge(path: Path) -> None:
    outside = {name.split(".")[0] for name in imports(path)} - STANDARD - {"inspector", "openai_harmony"}
    assert not outside


@pytest.mark.parametrize("path", [path for path in modules() if not standalone(path)], ids=str)
def test_imports_point_down(path: Path) -> None:
    mine = layer_of(path)
    assert mine in RANK, f"{mine} has no layer: add it to docs/layers.toml"
    for name in imports(path):
        parts = name.split(".")
        if parts[0] != "inspector" or len(parts) < 2 or parts[1] == mine:
            continue
        assert parts[1] in RANK, f"{name} has no layer"
        assert RANK[parts[1]] < RANK[mine], f"{path.name} imports upwards: {name}"


@pytest.mark.parametrize(
    "path", [*sorted((ROOT / "pages").glob("*.py")), ROOT / "app.py"], ids=lambda path: path.name
)
def test_pages_import_only_streamlit_the_doors_and_their_own_parts(path: Path) -> None:
    for name in imports(path):
        top = name.split(".")
        assert top[0] in {"streamlit", "inspector", "pages"} or top[0] in STANDARD, name
        if top[0] == "inspector":
            doors = {"inspector", "inspector.dashboard"}
            assert name in doors or ".".join(top[:-1]) in doors, f"{name}: pages import from the two doors"
            if ".".join(top[:-1]) == "inspector":
                assert top[-1] in {*inspector.__all__, "dashboard"}, f"{name} is in neither door"
        if top[0] == "pages":
            assert top[:2] in (["pages", "ui"], ["pages", "parts"]), name


@pytest.mark.parametrize("path", sorted((PAGES / "ui").rglob("*.py")), ids=str)
def test_what_pages_share_knows_no_page(path: Path) -> None:
    assert not {name for name in imports(path) if name.startswith("pages.") and name.split(".")[1] != "ui"}


@pytest.mark.parametrize("path", sorted((ROOT / "pages").glob("*.py")), ids=lambda path: path.name)
def test_a_page_stays_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 120


@pytest.mark.parametrize("path", [*modules(), *sorted(PAGES.glob("*/**/*.py"))], ids=str)
def test_a_module_stays_under_400_lines(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400


@pytest.mark.parametrize("path", [path for path in modules() if not standalone(path)], ids=str)
def test_a_module_says_what_it_is_for_and_what_it_offers(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree), "a module begins with what it is for"
    if path.name in {"__init__.py", "__main__.py"} or path == INSPECTOR / "dashboard.py":
        return
    offered = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["__all__"]
    ]
    assert offered, "a module has __all__"
    names = ast.literal_eval(offered[0])
    defined = {
        target
        for node in tree.body
        for target in (
            [node.name]
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            else [ast.unparse(one) for one in node.targets]
            if isinstance(node, ast.Assign)
            else [ast.unparse(node.target)]
            if isinstance(node, ast.AnnAssign)
            else []
        )
    }
    assert set(names) <= defined, set(names) - defined


def test_only_runs_starts_threads() -> None:
    starters = {
        layer_of(path)
        for path in modules()
        if not standalone(path) and imports(path) & {"threading", "concurrent.futures", "_thread"}
    }
    # The lab watches server processes from threads of its own, outside the dashboard.
    assert starters <= {"runs", "lab"}, starters


NAMED: Final = re.compile("vllm", re.IGNORECASE)
SERVERS_BY_NAME: Final = {
    "inspector/engines/": "the seam itself",
    "inspector/lab/": "runs vLLM",
    "inspector/commands/": "examples name built-in captures, logs are vLLM's, and the lab runs vLLM",
    "inspector/cli.py": "what the program is for",
    "inspector/importers/": "the form of vLLM's logs",
    "inspector/diagnosis/decompress.py": "what can be given: a vLLM log",
    "inspector/report/facts.py": "the option --vllm of the lab",
    "inspector/playback/faults.py": "which release has a fault",
    "inspector/audit/": "a quirk by release in a sentence",
    "pages/parts/matrix/": "what the lab recorded",
    "pages/parts/compare/": "names of built-in captures",
    "pages/parts/diagnose/": "examples of what to paste, and a vLLM log",
}
"""Where a text may name a server, and why; docstrings state facts and are not looked at."""


def test_no_module_above_the_seam_names_a_server() -> None:
    naming: dict[str, list[str]] = {}
    for path in [*modules(), *sorted(PAGES.rglob("*.py")), ROOT / "app.py"]:
        name = path.relative_to(ROOT).as_posix()
        if name.startswith(tuple(SERVERS_BY_NAME)):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        notes = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        texts = [
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in notes
        ]
        if found := [text for text in texts if NAMED.search(text)]:
            naming[name] = found
    assert naming == {}, "ask `reading.engine`, or say in SERVERS_BY_NAME why not"
