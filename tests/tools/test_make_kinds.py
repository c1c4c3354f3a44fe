"""The kinds of findings in the docs are those in the code."""

from tests.support.command import ROOT
from tools.make_kinds import kinds_table


def test_the_kinds_in_the_docs_are_the_kinds_in_the_code() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    shown = text.split("<!-- kinds -->")[1].split("<!-- /kinds -->")[0].strip()
    assert shown == kinds_table(), "python -m tools.make_kinds prints the table"
