"""The frame of the app: the list of pages, by section; each page draws itself."""

import streamlit as st

from pages.ui import assets, state

st.set_page_config(page_title="Harmony Inspector", page_icon=assets.path("icon.svg"), layout="wide")
st.logo(assets.path("logo.svg"), size="large")
st.html(assets.path("page.css"))

page = st.navigation(
    {
        "Watch": [
            st.Page("replay.py", title="Replay", icon=":material/play_circle:", default=True),
            st.Page("live.py", title="Live", icon=":material/sensors:"),
        ],
        "Understand": [
            st.Page("compare.py", title="Compare", icon=":material/compare_arrows:"),
            st.Page("diagnose.py", title="Diagnose", icon=":material/troubleshoot:"),
            st.Page("matrix.py", title="Matrix", icon=":material/grid_on:"),
        ],
    }
)
state.current().turn_to(page.title)
page.run()
