"""Details on demand: a row of names below the picture, of which one may be open; the address names it."""

from collections.abc import Sequence

import streamlit as st

from pages.ui.state import Session, went_back


def section(session: Session, names: Sequence[str], *, key: str, first: str | None = None) -> str | None:
    """The section that the reader opened; None while all are closed. `first` is open without a link."""
    linked = session.section or st.query_params.get("section")
    if went_back() or (key not in st.session_state and linked in names):
        st.session_state[key] = linked if linked in names else first
    if st.session_state.get(key, first) not in {first, None, *names}:  # of the capture before
        del st.session_state[key]
    opened = st.segmented_control("Details", names, default=first, key=key, label_visibility="collapsed")
    session.section = None if opened == first else opened
    if session.section is not None:
        st.query_params["section"] = session.section
    elif "section" in st.query_params:
        del st.query_params["section"]
    return opened
