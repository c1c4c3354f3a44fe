"""What is dropped or pasted anywhere in the window: captures open on Replay, other texts on Diagnose."""

import base64
import binascii
import time
from collections.abc import Mapping
from typing import Any, Final

import streamlit as st

from pages.ui import captures, opening
from pages.ui.modules import loader
from pages.ui.state import Rejected, Session

__all__ = ["anywhere", "receive"]

_component = st.components.v2.component(
    "inspector_anywhere", html="<span></span>", js=loader("ui/anywhere/anywhere.js")
)
_DIAGNOSED_AT_MOST: Final = 200_000
_FILES_AT_MOST: Final = 24
_OPENING: Final = frozenset({"Replay", "Compare", "Diagnose"})
"""Pages that draw rejected files themselves, after their upload."""


def anywhere(session: Session, page: str) -> None:
    """Listen in the browser, and open what came."""
    with st.sidebar:
        result = _component(
            key="anywhere", data={"uploaded_mb": opening.LIMIT_MB}, on_given_change=lambda: None
        )
    dropped = result.get("given")
    if isinstance(dropped, Mapping) and dropped.get("at") != session.dropped_at:
        session.dropped_at = dropped.get("at")
        receive(session, dropped, page)
    if page not in _OPENING:
        opening.rejections(session)


def receive(session: Session, dropped: Mapping[str, Any], page: str) -> None:
    """Open files, or a text, and turn to the page for them."""
    name, most = dropped.get("rejected"), dropped.get("most_mb")
    if isinstance(name, str) and isinstance(most, int):
        advice = "; open it on the Replay page" if most < opening.LIMIT_MB else ""
        opening.reject(
            session, [Rejected(name=name, problem=f"{name}: larger than {most} MB{advice}.")], of=1
        )
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
    files = map(_file, files[:_FILES_AT_MOST]) if isinstance(files, list) else []
    received = [file for file in files if file is not None]
    opening.receive(session, received)
    match session.rejected:
        case [Rejected(name=name, log=bytes() as log)] if len(received) == 1:
            opening.diagnose_log(session, name, log)
    if received and not session.rejected and page != "Replay":
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


def _diagnose(text: str) -> None:
    """Hand a text to the Diagnose page."""
    st.session_state["diagnose_kind"] = "Text"
    st.session_state["diagnose_text"] = text[:_DIAGNOSED_AT_MOST]
    st.switch_page("diagnose.py")
