"""The dashboard and its HTTP routes, one process on one port: `streamlit run app.py`.

Streamlit finds `app` here; the screens are in pages/. Beside them stand the JavaScript of the components,
the feed of live runs that the Live page reads, the built-in server that plays captures
(`/playback/v1/...`), and the tap (`/tap/<name>/v1/...`) for the upstreams that the environment names. With
HARMONY_INSPECTOR_REPLAY_ONLY there are only the pages that ask no server, and their JavaScript.
"""

import logging
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from typing import Final

import streamlit as st

import inspector
from inspector import Capture, InspectorError
from inspector.capture.replay_only import UPLOAD_MB, replay_only
from inspector.files.store import builtin
from inspector.fleet.watch import Metrics, Retention, Watch, metrics_app
from inspector.fleet.watch.spans import configured_spans
from inspector.net.half_requests import end_half_requests
from inspector.net.hosts import trusted_hosts
from inspector.net.playback import playback_routes
from inspector.net.runs.feed import runs_routes
from inspector.net.runs.registry import registry
from inspector.net.shutdown import Shutdown
from inspector.net.sockets import listening_without_delay, say_once_that_none_is_accepted
from inspector.net.tap import DashboardTap, configured_upstreams
from pages.ui.bundles import bundles
from pages.ui.modules import module_routes
from pages.ui.shell import shell
from pages.ui.warming import warmed

__all__ = ["FIRST_PAGE", "app"]

# What Streamlit loads for a logo and its icons, then what pages/frame.py and pages/replay.py import, and what
# compares texts. No pandas: it takes as long as all of these.
FIRST_PAGE: Final = (
    *("numpy", "PIL.Image", "streamlit.material_icon_names", "pages.ui.captures", "pages.ui.charts"),
    *(
        "pages.ui.anywhere",
        "pages.ui.banner",
        "pages.ui.downloads",
        "pages.ui.errors",
        "pages.ui.fields",
        "pages.ui.prompt",
        "pages.ui.sections",
        "pages.ui.strip",
    ),
    *("pages.parts.replay.overview", "pages.parts.replay.clients", "pages.parts.replay.events"),
    "rapidfuzz.distance",
)

# Streamlit's cloud has its environment variables in this file, and reads it later.
st.secrets.load_if_toml_exists()
if replay_only():  # the limits of the upload fields hold in the browser, this one in the server
    st.config.set_option("server.maxUploadSize", UPLOAD_MB)

# An audit of a long stream may not keep the interpreter for 5 ms at a time while other streams arrive.
sys.setswitchinterval(0.001)


@cache
def _builtins() -> dict[str, Capture]:
    """The built-in captures by name, the most telling first."""
    return {one.name: inspector.load(one.path) for one in builtin()}


def _tap() -> DashboardTap:
    try:
        runs, metrics = registry(), Metrics()
        upstreams = configured_upstreams()
        addresses = {one.name: one.server.v1 for one in upstreams}
        spans = configured_spans(addresses) if upstreams else None
        return DashboardTap(
            upstreams,
            runs,
            run_of=runs.get,
            watching=lambda: Watch(metrics, Retention(runs.folder), spans=spans),
            metrics=metrics_app(metrics),
        )
    except InspectorError as error:
        sys.exit(str(error))


def _page_paths() -> list[str]:
    """Paths below which the browser finds the pages: the root, and `server.baseUrlPath` where it is set."""
    base = str(st.get_option("server.baseUrlPath") or "").strip("/")
    return ["", f"/{base}"] if base else [""]


tap = _tap()
# The outermost check: pages, files, the websocket, the playback and the tap.
hosts = trusted_hosts(
    bound=[st.get_option("server.address") or ""], also=[st.get_option("browser.serverAddress") or ""]
)
shutdown = Shutdown(tap.stop)


@asynccontextmanager
async def lifespan(app: object) -> AsyncIterator[None]:
    """From the start of the server to its end."""
    listening_without_delay()
    end_half_requests()
    say_once_that_none_is_accepted(logging.getLogger(__name__).warning)
    async with warmed(FIRST_PAGE), tap.lifespan(app), shutdown.lifespan(app):
        yield


app = st.App(
    "pages/frame.py",
    routes=[
        *(route for path in _page_paths() for route in module_routes(path)),
        *([] if replay_only() else playback_routes(_builtins)),
        *(route for path in _page_paths() if not replay_only() for route in runs_routes(registry(), path)),
    ],
    middleware=[
        *hosts,
        *shutdown.middleware,
        *tap.middleware,
        *shell(_page_paths()),
        *bundles(_page_paths()),
    ],
    lifespan=lifespan,
)
