"""Names of files as Markdown, and findings as a sheet."""

import copy
import csv
import io
import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from streamlit.proto.Common_pb2 import FileURLs
from streamlit.runtime.uploaded_file_manager import UploadedFile, UploadedFileRec

import inspector
from pages.ui.pickers import capture_lines, findings_csv, findings_json, plain
from tests.support.streams import Step, chat

CLOSED: Step = ("<|return|>", {})


def seen(text: str, delivered: str) -> inspector.Inspection:
    capture = chat([("<|channel|>final<|message|>", {}), (text, {"content": delivered}), CLOSED])
    return inspector.inspect(capture, name="one")


@given(st.text())
@example("see http://a/`*b*`, (https://c) or www.d.")
def test_no_character_of_a_name_can_start_markup(text: str) -> None:
    unescaped = re.sub(r"\\[!-/:-@\[-`{-~]|`[^`]*`", "", plain(text))
    assert not set(unescaped) & set("\\`*_{}[]()<>#+-.!|~$:&\n")


def test_the_findings_as_json_are_what_audit_prints() -> None:
    one = seen("Hi", "")
    row = json.loads(findings_json(one))
    assert row["file"] == "one"
    assert [finding["kind"] for finding in row["findings"]] == ["dropped"]


@pytest.mark.parametrize("text", ["=cmd|' /C calc'!A0", "+1", "-1", "@x", "\tx"])
def test_a_spreadsheet_runs_nothing_of_what_a_model_wrote(text: str) -> None:
    rows = list(csv.DictReader(io.StringIO(findings_csv(seen(text, "")))))
    assert [row["generated"] for row in rows if row["kind"] == "dropped"] == ["'" + text]


def test_a_sheet_without_findings_has_its_head() -> None:
    assert findings_csv(seen("Hi", "Hi")).splitlines() == ["kind,severity,explanation"]


def test_the_downloaded_capture_is_read_back_as_it_was() -> None:
    one = seen("Hi", "Hi")
    assert inspector.loads(capture_lines(one).encode(), "again") == [one.capture]


def test_streamlit_does_not_copy_the_bytes_of_an_upload() -> None:
    record = UploadedFileRec(file_id="1", name="a.jsonl", type="", data=b"x" * 100)
    files = [UploadedFile(record, FileURLs(file_id="1"))]
    assert copy.deepcopy(files)[0] is files[0]
