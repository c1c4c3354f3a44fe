"""The supported files in the docs are the rows of the table of importers."""

from tests.support.command import ROOT
from tools.make_importers import importers_table


def test_the_files_in_the_docs_are_those_of_the_table() -> None:
    text = (ROOT / "docs" / "capture-format.md").read_text(encoding="utf-8")
    shown = text.split("<!-- importers -->")[1].split("<!-- /importers -->")[0].strip()
    assert shown == importers_table(), "python -m tools.make_importers prints it"
