"""The grammar in the docs is the one in the code."""

from tests.support.command import ROOT
from tools.make_grammar import grammar_table


def test_the_grammar_in_the_docs_is_the_grammar_in_the_code() -> None:
    text = (ROOT / "docs" / "harmony.md").read_text(encoding="utf-8")
    shown = text.split("<!-- grammar -->")[1].split("<!-- /grammar -->")[0].strip()
    assert shown == grammar_table()
