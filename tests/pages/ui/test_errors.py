"""Errors as pages show them."""

import re
import sys
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from inspector import InspectorError
from inspector.capture.errors import CaptureError
from inspector.data.scan.folder import missing_extra
from pages.ui.errors import sentence_of

PAGES = Path(__file__).parents[3] / "pages"


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (InspectorError("scans need the extra `scan`"), "Scans need the extra `scan`"),
        (InspectorError("no prompts, write one"), "No prompts, write one"),
        (InspectorError("https://host: cannot be reached"), "https://host: cannot be reached"),
        (InspectorError("scans/evals: no such folder"), "scans/evals: no such folder"),
        (InspectorError("openai_harmony cannot render"), "openai_harmony cannot render"),
        (InspectorError("--ray needs the extra"), "--ray needs the extra"),
        (InspectorError(""), ""),
        (CaptureError("my file.jsonl", "the file is empty"), "my file.jsonl: the file is empty"),
    ],
)
def test_a_sentence_begins_with_a_capital_and_a_name_as_it_is(error: InspectorError, sentence: str) -> None:
    assert sentence_of(error) == sentence


def test_a_missing_extra_is_a_sentence_on_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(InspectorError) as raised:
        missing_extra()
    assert sentence_of(raised.value).startswith("Scans need the extra `scan` (duckdb is missing)")


def test_what_an_error_quotes_is_no_markdown() -> None:
    def page() -> None:
        from inspector import InspectorError  # noqa: PLC0415 -- a page is run from its source
        from pages.ui.errors import show_error  # noqa: PLC0415

        show_error(InspectorError("no file <b>x</b> [a](https://host)"))

    [error] = AppTest.from_function(page).run().error
    assert error.value.startswith("No file \\<b\\>x")


def test_pages_show_errors_in_one_way() -> None:
    written = re.compile(r"st\.(?:error|warning|info)\([^\n]*\bstr\(error\)")
    assert [path.name for path in PAGES.rglob("*.py") if written.search(path.read_text("utf-8"))] == []
