"""Details on demand: a row of names below the picture, of which one may be open; the address names it."""

from collections.abc import Sequence

import streamlit as st

from pages.ui.state import Session, went_back


def section(session: Session, names: Sequence[str], *, key: str) -> str | None:
    """The section that the reader opened; None while all are closed."""
    if key not in st.session_state or went_back():
        linked = st.query_params.get("section")
        st.session_state[key] = linked if linked in names else None
    opened = st.segmented_control("Details", names, key=key, label_visibility="collapsed")
    session.section = opened
    return opened
