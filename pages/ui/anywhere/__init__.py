"""What is dropped or pasted anywhere in the window: captures open on Replay, other texts on Diagnose."""

import base64
import binascii
import time
from collections.abc import Mapping
from typing import Any, Final

import streamlit as st

from inspector import dashboard
from pages.ui import captures, pickers
from pages.ui.modules import loader
from pages.ui.state import Session

__all__ = ["anywhere", "receive"]

_component = st.components.v2.component(
    "inspector_anywhere", html="<span></span>", js=loader("ui/anywhere/anywhere.js")
)
_DIAGNOSED_AT_MOST: Final = 200_000
_FILES_AT_MOST: Final = 24


def anywhere(session: Session, page: str) -> None:
    """Listen in the browser, and open what came."""
    with st.sidebar:
        result = _component(key="anywhere", on_given_change=lambda: None)
        dropped = result.get("given")
        if isinstance(dropped, Mapping) and dropped.get("at") != session.dropped_at:
            session.dropped_at = dropped.get("at")
            receive(session, dropped, page)


def receive(session: Session, dropped: Mapping[str, Any], page: str) -> None:
    """Open files, or a text, and turn to the page for them."""
    if dropped.get("refused"):
        st.error("This file is larger than 32 MB: open it on the Replay page.", icon=":material/block:")
        return
    text = dropped.get("text")
    if isinstance(text, str):
        name = f"pasted-{time.strftime('%H%M%S')}.txt"
        if captures.open_file(session, name, text.encode("utf-8", "replace")):
            _diagnose(text)
        elif page != "Replay":
            st.switch_page("replay.py")
        return
    files = dropped.get("files")
    received = [_file(file) for file in files[:_FILES_AT_MOST]] if isinstance(files, list) else []
    troubles = [_open(session, file) for file in received]
    match received:
        case [(name, content)] if troubles[0] and dashboard.is_log(content, name):
            pickers.diagnose_log(session, name, content)
    for trouble in filter(None, troubles):
        st.error(pickers.plain(trouble), icon=":material/block:")
    if troubles and not any(troubles) and page != "Replay":
        st.switch_page("replay.py")


def _file(file: object) -> tuple[str, bytes] | None:
    """Name and content of a file; None for what the browser cannot have sent."""
    name = file.get("name") if isinstance(file, Mapping) else None
    content = file.get("base64") if isinstance(file, Mapping) else None
    if not isinstance(name, str) or not isinstance(content, str):
        return None
    try:
        return name, base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError):
        return None


def _open(session: Session, file: tuple[str, bytes] | None) -> str:
    return (
        "The browser sent a file that cannot be read." if file is None else captures.open_file(session, *file)
    )


def _diagnose(text: str) -> None:
    """Hand a text to the Diagnose page."""
    st.session_state["diagnose_kind"] = "Text"
    st.session_state["diagnose_example"] = None
    st.session_state["diagnose_text_None"] = text[:_DIAGNOSED_AT_MOST]
    st.switch_page("diagnose.py")
