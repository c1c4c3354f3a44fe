"""The tap: a recording reverse proxy. A client changes its base URL and nothing else.

Requests and responses are forwarded byte for byte; each response of an endpoint of the table becomes a
capture. The upstream is configured at the start: nothing in a request decides where it goes. Keys are
forwarded and not stored.
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
