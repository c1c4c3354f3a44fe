import ast
import inspect
from itertools import pairwise
from pathlib import Path

import pytest

from inspector.issues.catalogue.issue import FindingForm, Issue, Step, TokenForm
from inspector.issues.catalogue.table import catalogue
from tools.make_known_issues import table

DOCS = Path(__file__).parent.parent.parent / "docs"


def test_the_known_issues_of_the_docs_are_those_of_the_catalogue() -> None:
    shown = (DOCS / "known-issues.md").read_text(encoding="utf-8")
    assert shown == table(), "python -m tools.make_known_issues > docs/known-issues.md"


def test_every_entry_has_a_row_and_a_section() -> None:
    lines = table().splitlines()
    for issue in catalogue():
        assert f"## {issue.id}" in lines
        assert sum(line.startswith(f"| [{issue.id}](") for line in lines) == 1


def test_a_row_has_as_many_cells_as_the_table() -> None:
    rows = [line for line in table().splitlines() if line.startswith("|")]
    assert {row.replace("\\|", "").count("|") for row in rows} == {7}


@pytest.mark.parametrize("struct", [Issue, Step, TokenForm, FindingForm])
def test_every_key_of_an_entry_has_a_docstring(struct: type) -> None:
    (definition,) = ast.parse(inspect.getsource(struct)).body
    assert isinstance(definition, ast.ClassDef)
    for key, docstring in pairwise(definition.body):
        if isinstance(key, ast.AnnAssign):
            assert isinstance(docstring, ast.Expr), ast.unparse(key)
