"""Names of files as Markdown, and uploads that are not copied."""

import copy
import re

from hypothesis import example, given
from hypothesis import strategies as st
from streamlit.proto.Common_pb2 import FileURLs
from streamlit.runtime.uploaded_file_manager import UploadedFile, UploadedFileRec

import pages.ui.opening  # noqa: F401 -- what it sets is tested
from pages.ui.pickers import plain


@given(st.text())
@example("see http://a/`*b*`, (https://c) or www.d.")
def test_no_character_of_a_name_can_start_markup(text: str) -> None:
    unescaped = re.sub(r"\\[!-/:-@\[-`{-~]|`[^`]*`", "", plain(text))
    assert not set(unescaped) & set("\\`*_{}[]()<>#+-.!|~$:&\n")


def test_streamlit_does_not_copy_the_bytes_of_an_upload() -> None:
    record = UploadedFileRec(file_id="1", name="a.jsonl", type="", data=b"x" * 100)
    files = [UploadedFile(record, FileURLs(file_id="1"))]
    assert copy.deepcopy(files)[0] is files[0]
