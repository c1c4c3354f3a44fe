"""The supported files in the docs are the rows of the table of importers."""

import pytest

from tests.support.command import ROOT
from tools.make_importers import importers_list, importers_table


@pytest.mark.parametrize(
    ("file", "expected"), [("README.md", importers_list()), ("docs/capture-format.md", importers_table())]
)
def test_the_files_in_the_docs_are_those_of_the_table(file: str, expected: str) -> None:
    text = (ROOT / file).read_text(encoding="utf-8")
    shown = text.split("<!-- importers -->")[1].split("<!-- /importers -->")[0].strip()
    assert shown == expected, "python -m tools.make_importers prints both"
