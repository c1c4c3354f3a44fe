"""Errors of the library as a page shows them."""

import re
from typing import Final

import streamlit as st

from inspector import InspectorError
from inspector.capture.errors import CaptureError
from pages.ui.pickers import plain

_WORD: Final = re.compile(r"[a-z]+(?=[ ,])")


def sentence_of(error: InspectorError) -> str:
    """The text of an error with a capital, as it stands alone on a page; a command writes a prefix before it.

    A name keeps its letters: that of a file, an address or an option.
    """
    text = str(error)
    named = isinstance(error, CaptureError) or _WORD.match(text) is None
    return text if named else f"{text[0].upper()}{text[1:]}"


def show_error(error: InspectorError) -> None:
    """Show an error; what it quotes is no Markdown."""
    st.error(plain(sentence_of(error)), icon=":material/block:")
