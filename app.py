"""The dashboard and its HTTP routes, one process on one port: `streamlit run app.py`.

Streamlit finds `app` here; the screens are in pages/. Beside them stand the built-in server that plays
captures (`/playback/v1/...`), the feed of live runs that the Live page reads, and the tap
(`/tap/<name>/v1/...`) for the upstreams that the environment names.
"""

import sys
from functools import cache

import streamlit as st

import inspector
from inspector import Capture, DashboardTap, InspectorError

__all__ = ["app"]


@cache
def _builtins() -> dict[str, Capture]:
    """The built-in captures by name, the most telling first."""
    return {one.name: inspector.load(one.path)[0] for one in inspector.builtin()}


def _tap() -> DashboardTap:
    try:
        return DashboardTap(inspector.configured_upstreams(), inspector.registry())
    except InspectorError as error:
        sys.exit(str(error))


tap = _tap()
app = st.App(
    "pages/frame.py",
    routes=[*inspector.playback_routes(_builtins), *inspector.runs_routes(inspector.registry())],
    middleware=tap.middleware,
    lifespan=tap.lifespan,
)
