"""The tap: a recording reverse proxy. A client changes its base URL and nothing else.

What passes is passed byte for byte; each response at the three endpoints becomes a capture. The upstream
is fixed by who starts the program: nothing in a request decides where it goes. Keys pass through and
are not stored.
"""

from inspector.net.tap.dashboard import DashboardTap, configured_upstreams, parse_upstreams
from inspector.net.tap.folder import FolderSink
from inspector.net.tap.proxy import Tap, Upstream, tap_mount, tap_routes

__all__ = [
    "DashboardTap",
    "FolderSink",
    "Tap",
    "Upstream",
    "configured_upstreams",
    "parse_upstreams",
    "tap_mount",
    "tap_routes",
]
