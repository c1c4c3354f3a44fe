import ast
from pathlib import Path

import inspector


def test_the_door_offers_exactly_what_it_imports() -> None:
    source = Path(inspector.__file__).read_text(encoding="utf-8")
    imported = {
        alias.asname or alias.name
        for node in ast.parse(source).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert set(inspector.__all__) == imported
    assert inspector.__all__ == sorted(inspector.__all__)
