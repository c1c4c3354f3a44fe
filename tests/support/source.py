"""Python files as the rules of the repository see them."""

import ast
from functools import cache
from pathlib import Path

__all__ = ["imports", "tree"]


@cache
def tree(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports(path: Path) -> frozenset[str]:
    """Every module and name that a file imports anywhere; a relative import begins with a dot."""
    imported: set[str] = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            imported.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            imported.add(module)
            imported.update(f"{module}.{alias.name}" for alias in node.names)
    return frozenset(imported)
