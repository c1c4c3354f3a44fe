"""The rules of `lint` in the docs are those in the code."""

from tests.support.command import ROOT
from tools.make_rules import rules_table


def test_the_rules_in_the_docs_are_the_rules_in_the_code() -> None:
    text = (ROOT / "docs" / "lint.md").read_text(encoding="utf-8")
    shown = text.split("<!-- rules -->")[1].split("<!-- /rules -->")[0].strip()
    assert shown == rules_table(), "python -m tools.make_rules prints the table"
