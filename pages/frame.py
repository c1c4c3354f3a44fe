"""The frame of the app: the list of pages, by section; each page draws itself."""

from typing import Final

import streamlit as st

from inspector import InspectorError
from inspector.capture.collector import collector_paused
from inspector.capture.replay_only import replay_only
from pages.ui import assets, captures, state
from pages.ui.anywhere import anywhere
from pages.ui.errors import show_error

# What each page is for, in one line; not a docstring, which Streamlit would draw.
_WHAT: Final = {
    "Live": "Send a request to a server and check its response while the tokens arrive.",
    "Probe": "Send many requests to a server, check every response, and see how many arrive damaged.",
    "Compare": "Two captures aligned by token: what differs, and which server is at fault.",
    "Library": "Thousands of captures at once: which are damaged, since when, and from which version.",
    "Diagnose": "The cause of an error message, a server log or a capture, and how to fix it.",
    "Matrix": "Which release of the server delivers which Harmony stream completely.",
}
_PUBLIC: Final = (
    "This public copy only replays: it connects to no server, and only you see the files that you open."
)

st.set_page_config(page_title="Harmony Inspector", page_icon=assets.path("icon.svg"), layout="wide")
st.logo(assets.path("logo.svg"), size="large")

asking = [
    st.Page("live.py", title="Live", icon=":material/sensors:"),
    st.Page("probe.py", title="Probe", icon=":material/query_stats:"),
]
page = st.navigation(
    {
        "Watch": [
            st.Page("replay.py", title="Replay", icon=":material/play_circle:", default=True),
            *([] if replay_only() else asking),
        ],
        "Understand": [
            st.Page("library.py", title="Library", icon=":material/inventory_2:"),
            st.Page("compare.py", title="Compare", icon=":material/compare_arrows:"),
            st.Page("diagnose.py", title="Diagnose", icon=":material/troubleshoot:"),
            st.Page("matrix.py", title="Matrix", icon=":material/grid_on:"),
        ],
    }
)
session = state.current()
captures.restore(session)
turned = page.title != session.page
session.turn_to(page.title)
try:
    captures.open_linked(session, turned=turned)
except InspectorError as error:
    show_error(error)
if session.linked_uploads and st.query_params.get("uploads") != session.linked_uploads:
    st.query_params["uploads"] = session.linked_uploads
st.set_page_config(page_title=f"{page.title} · Harmony Inspector")
anywhere(session, page.title)
if replay_only():
    with st.sidebar:
        st.caption(_PUBLIC)
if page.title in _WHAT:  # Replay says what it shows
    with st.container(key="page_head"):
        st.markdown(f"**{page.title}** · {_WHAT[page.title]}")
# A long file makes a million values in no cycle. The collector walks them later, when the page is drawn.
with collector_paused():
    try:
        page.run()
    finally:
        captures.keep()
