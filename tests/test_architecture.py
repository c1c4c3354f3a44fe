"""The rules of docs/architecture.md, read from the code with `ast`, so that a lazy import counts too.

Each test collects every offender, so that its message is the list of what to change.
"""

import ast
import re
import sys
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Final

import inspector
from tests.support.source import imports, tree
from tools.make_layers import folders_of_pages, layers, table

ROOT = Path(__file__).parent.parent
INSPECTOR, PAGES = ROOT / "inspector", ROOT / "pages"

LAYERS = {layer.name: layer for layer in layers()}
"""Lowest first. A module imports from lower layers, and from the names listed before its own."""

RANK = {name: rank for rank, name in enumerate(LAYERS)}

STANDARD = sys.stdlib_module_names

MODULES = sorted(INSPECTOR.rglob("*.py"))


def place(parts: tuple[str, ...]) -> tuple[str, str]:
    """The layer of a module and its name there, from its parts below `inspector`."""
    if parts and parts[0] in LAYERS:
        return parts[0], parts[1] if len(parts) > 1 else "__init__"
    return "top", parts[0] if parts else "__init__"


def place_of(path: Path) -> tuple[str, str]:
    return place(path.relative_to(INSPECTOR).with_suffix("").parts)


def layer_of(path: Path) -> str:
    return place_of(path)[0]


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_every_module_has_a_layer_and_every_layer_has_its_modules() -> None:
    for layer in LAYERS.values():
        if layer.modules:
            modules = {place_of(path)[1] for path in MODULES if layer_of(path) == layer.name}
            assert modules | {"__init__"} == {*layer.modules, "__init__"}, layer.name
    assert {layer_of(path) for path in MODULES} == set(LAYERS), "docs/layers.toml names what inspector/ has"


def test_the_layers_in_the_docs_are_those_that_are_tested() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    shown = text.split("<!-- layers -->")[1].split("<!-- /layers -->")[0].strip()
    assert shown == table(), "python -m tools.make_layers prints the table"


def test_imports_are_absolute_and_the_library_knows_no_screen() -> None:
    offenders = [
        f"{named(path)} imports {name}"
        for path in MODULES
        for name in imports(path)
        if name.partition(".")[0] in {"", "streamlit", "plotly", "pages", "app", "harmony_lab"}
    ]
    assert offenders == []


def test_pure_layers_import_only_the_standard_library_openai_harmony_and_msgspec() -> None:
    allowed = {*STANDARD, "inspector", "openai_harmony", "msgspec"}
    offenders = [
        f"{named(path)} imports {name}"
        for path in MODULES
        if LAYERS[layer_of(path)].pure
        for name in imports(path)
        if name.partition(".")[0] not in allowed
    ]
    assert offenders == []


def points_down(source: tuple[str, str], target: tuple[str, str]) -> bool:
    (layer, module), (target_layer, target_module) = source, target
    if layer != target_layer:
        return RANK[target_layer] < RANK[layer]
    order = LAYERS[layer].modules
    return (
        not order or target_module in {module, "__init__"} or order.index(target_module) < order.index(module)
    )


def test_imports_point_down() -> None:
    offenders = [
        f"{named(path)} imports {name}"
        for path in MODULES
        if place_of(path)[1] != "__init__" or layer_of(path) == "top"
        for name in imports(path)
        if name.partition(".")[0] == "inspector"
        if not points_down(place_of(path), place(tuple(name.split(".")[1:])))
    ]
    assert offenders == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    """`graphlib` names the circle; an import of a package is one of its `__init__`."""
    modules = {named(path).removesuffix(".py").replace("/", "."): path for path in MODULES}

    def resolve(name: str) -> str:
        while name not in modules and f"{name}.__init__" not in modules:
            name = name.rpartition(".")[0]
        return name if name in modules else f"{name}.__init__"

    graph = {
        module: {resolve(name) for name in imports(path) if name.partition(".")[0] == "inspector"} - {module}
        for module, path in modules.items()
    }
    assert list(TopologicalSorter(graph).static_order())


def test_pages_import_the_library_and_the_folders_that_are_listed() -> None:
    listed = folders_of_pages()
    assert set(listed) < set(LAYERS)
    imported = {
        (named(path), *name.split("."))
        for path in [*PAGES.rglob("*.py"), ROOT / "app.py"]
        for name in imports(path)
    }
    inside = {row for row in imported if row[1] == "inspector" and len(row) > 2}
    offenders = [".".join(row) for row in inside if row[2] not in listed and row[2] not in inspector.__all__]
    assert offenders == []
    assert {row[2] for row in inside} >= set(listed), "a folder that no page imports"


def test_page_scripts_import_streamlit_and_what_pages_share() -> None:
    def allowed(name: str) -> bool:
        parts = name.split(".")
        if parts[0] == "pages":
            return parts[1:2] in (["ui"], ["parts"])
        return parts[0] in {"streamlit", "inspector"} or parts[0] in STANDARD

    offenders = [
        f"{named(path)} imports {name}"
        for path in [*sorted(PAGES.glob("*.py")), ROOT / "app.py"]
        for name in imports(path)
        if not allowed(name)
    ]
    assert offenders == []


def test_what_pages_share_knows_no_page() -> None:
    offenders = [
        f"{named(path)} imports {name}"
        for path in sorted((PAGES / "ui").rglob("*.py"))
        for name in imports(path)
        if name.startswith((".", "pages.")) and name.split(".")[1] != "ui"
    ]
    assert offenders == []


def test_a_module_says_what_it_is_for() -> None:
    offenders = [
        f"{named(path)} does not begin with what it is for"
        for path in MODULES
        if not ast.get_docstring(tree(path))
    ]
    assert offenders == []


def only_locks(path: Path) -> bool:
    """Whether a module takes nothing but `Lock` from the modules that can start threads."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imported = [name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names]
    parts = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    imported_names = {(node.module, name.name) for node in parts for name in node.names}
    thread_names = {
        name for module, name in imported_names if module in {"threading", "concurrent.futures", "_thread"}
    }
    return not {"threading", "concurrent", "concurrent.futures", "_thread"} & set(
        imported
    ) and thread_names == {"Lock"}


def test_only_runs_starts_threads() -> None:
    offenders = [
        f"{named(path)} starts threads"
        for path in MODULES
        # A watch and a scan hand audits to processes, each with a thread that waits for it; a command serves
        # metrics beside what it does, and a test's server a test.
        if not {*place_of(path)}
        & {"runs", "probe_registry", "watch", "scan", "workers", "commands", "testing"}
        if imports(path) & {"threading", "concurrent.futures", "_thread"} and not only_locks(path)
    ]
    assert offenders == []


NAMED: Final = re.compile("vllm", re.IGNORECASE)
SERVERS_BY_NAME: Final = {
    "inspector/protocol/engines/": "the seam itself",
    "inspector/matrix/": "what the lab recorded",
    "inspector/commands/": "examples name built-in captures, logs are vLLM's, and the lab runs vLLM",
    "inspector/cli.py": "what the program is for",
    "inspector/data/lint/rules.py": "which spelling of a call it delivers",
    "inspector/files/importers/": "the form of vLLM's logs",
    "inspector/files/compression.py": "what can be given: a vLLM log",
    "inspector/views/report/facts.py": "the option --vllm of the lab",
    "inspector/net/playback/faults.py": "which release has a fault",
    "inspector/analysis/audit/": "a quirk by release in a sentence",
    "pages/parts/matrix/": "what the lab recorded",
    "pages/parts/compare/": "names of built-in captures",
    "pages/parts/diagnose/": "examples of what to paste, and a vLLM log",
}
"""Where a text may name a server, and why; docstrings state facts and are not looked at."""


def listed_endpoints(node: ast.AST) -> set[str]:
    """Members of `Endpoint` that a table or a list names."""
    match node:
        case ast.Dict(keys=items) | ast.Set(elts=items) | ast.List(elts=items) | ast.Tuple(elts=items):
            words = {ast.unparse(item) for item in items if item is not None}
            return {word for word in words if word.startswith("Endpoint.")}
        case _:
            return set()


def test_the_table_of_endpoints_is_the_only_one() -> None:
    own = ("inspector/protocol/wire/endpoints.py", "inspector/protocol/engines/", "inspector/matrix/")
    offenders = [
        f"{named(path)}:{node.lineno} lists endpoints"
        for path in MODULES
        if not named(path).startswith(own)
        for node in ast.walk(tree(path))
        if isinstance(node, ast.expr) and len(listed_endpoints(node)) > 1
    ]
    assert offenders == [], "ask `reading.spec`: a new endpoint is in no list"


def test_no_module_above_the_seam_names_a_server() -> None:
    offenders = []
    for path in [*MODULES, *sorted(PAGES.rglob("*.py")), ROOT / "app.py"]:
        if named(path).startswith(tuple(SERVERS_BY_NAME)):
            continue
        notes = {id(node.value) for node in ast.walk(tree(path)) if isinstance(node, ast.Expr)}
        offenders += [
            f"{named(path)} says {node.value!r}"
            for node in ast.walk(tree(path))
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in notes
            if NAMED.search(node.value)
        ]
    assert offenders == [], "ask `reading.engine`, or say in SERVERS_BY_NAME why not"
