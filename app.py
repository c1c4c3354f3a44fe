"""The dashboard and its HTTP routes, one process on one port: `streamlit run app.py`.

Streamlit finds `app` here; the screens are in pages/. Beside them stand the built-in server that plays
captures (`/playback/v1/...`) and the feed of live runs that the Live page reads.
"""

from functools import cache

import streamlit as st

import inspector
from inspector import Capture

__all__ = ["app"]


@cache
def _builtins() -> dict[str, Capture]:
    """The built-in captures by name, the most telling first."""
    return {one.name: inspector.load(one.path)[0] for one in inspector.builtin()}


app = st.App(
    "pages/frame.py",
    routes=[*inspector.playback_routes(_builtins), *inspector.runs_routes(inspector.registry())],
)
