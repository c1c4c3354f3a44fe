"""What is dropped or pasted anywhere in the window: captures open on Replay, other texts on Diagnose."""

import time
from collections.abc import Mapping
from typing import Any, Final

import streamlit as st

from pages.ui import opening
from pages.ui.modules import loader
from pages.ui.state import HANDFUL, Rejected, Session

__all__ = ["anywhere", "receive"]

_component = st.components.v2.component(
    "inspector_anywhere", html="<span></span>", js=loader("ui/anywhere/anywhere.js")
)
_DIAGNOSED_AT_MOST: Final = 200_000
_OPENING: Final = frozenset({"Replay", "Compare", "Diagnose"})
"""Pages that draw the upload and rejected files themselves."""


def anywhere(session: Session, page: str) -> None:
    """Listen in the browser, and open what came."""
    with st.sidebar:
        result = _component(
            key="anywhere",
            data={"uploaded_mb": opening.LIMIT_MB, "handful": HANDFUL},
            on_given_change=lambda: None,
        )
    given = result.get("given")
    if isinstance(given, Mapping) and given.get("at") != session.dropped_at:
        session.dropped_at = given.get("at")
        receive(session, given, page)
    if page not in _OPENING:
        opening.elsewhere(session)
        opening.rejections(session)


def receive(session: Session, given: Mapping[str, Any], page: str) -> None:
    """Open a text and turn to the page for it, or name what is too large to be uploaded."""
    name, text = given.get("rejected"), given.get("text")
    if isinstance(name, str):
        problem = f"{name}: more than {opening.LIMIT_MB} MB or 65,535 files at once; {opening.FROM_DISK}."
        opening.reject(session, [Rejected(name=name, problem=problem)], of=1)
    elif isinstance(text, str):
        name = f"pasted-{time.strftime('%H%M%S')}.txt"
        opening.receive(session, [(name, text.encode("utf-8", "replace"))])
        if session.rejected:
            opening.reject(session, [], of=0)
            _diagnose(text)
        elif page != "Replay":
            st.switch_page("replay.py")


def _diagnose(text: str) -> None:
    """Hand a text to the Diagnose page."""
    st.session_state["diagnose_kind"] = "Text"
    st.session_state["diagnose_text"] = text[:_DIAGNOSED_AT_MOST]
    st.switch_page("diagnose.py")
