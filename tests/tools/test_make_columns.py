"""The columns in the docs are those in the code."""

import pytest

from inspector.data.scan.columns import CAPTURES, FINDINGS, Column
from tests.support.command import ROOT
from tools.make_columns import columns_table


@pytest.mark.parametrize(("name", "columns"), [("captures", CAPTURES), ("findings", FINDINGS)])
def test_the_columns_in_the_docs_are_the_columns_in_the_code(name: str, columns: list[Column]) -> None:
    text = (ROOT / "docs" / "scan.md").read_text(encoding="utf-8")
    shown = text.split(f"<!-- {name} -->")[1].split(f"<!-- /{name} -->")[0].strip()
    assert shown == columns_table(columns), "python -m tools.make_columns prints the tables"
