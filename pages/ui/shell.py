"""The HTML page that Streamlit's front end starts in, with our style sheet and title from its first moment.

A sheet that comes with the first elements of a page comes late: the page would be drawn in Streamlit's own
layout and then move, and 18 tests of test_strip_shift.py and test_layout.py in tests/browser would fail. So
page.css goes into the page itself. history.js comes with it, as it must see the first change of the address.
Streamlit answers an unknown address with its page too, so whatever a browser opens is dressed.
"""

from collections.abc import Iterable
from html import escape
from importlib import import_module
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pages.ui import assets

_NAMES: Final = frozenset({"", "replay", "live", "probe", "library", "compare", "diagnose", "matrix"})
_FIRST: Final = "replay"
"""The first page, which Streamlit has at the root only: by its name it says "Page not found"."""
_PAGE_TYPE: Final = "text/html"
_TITLE: Final = b"<title>Streamlit</title>"
_OURS: Final = b"<title>Harmony Inspector</title>"
_HEAD: Final = b"</head>"
_END: Final = b"</body>"  # behind the sheets that the front end adds to the head, so that ours wins
_SCRIPT: Final = "ui/history.js"
# Our page is not the file that these are about.
_CONDITIONS: Final = (b"accept-encoding", b"if-none-match", b"if-modified-since", b"range")


def shell(bases: Iterable[str]) -> list[Middleware]:
    """The middleware, for pages below these paths."""
    paths = frozenset(f"{base}/{name}" for base in bases for name in _NAMES)
    return [Middleware(Shell, paths=paths)]


class Shell:
    """Adds to the HTML of the pages."""

    def __init__(self, app: ASGIApp, paths: frozenset[str]) -> None:
        self.app = app
        self.paths = paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for a page; leave every other request alone."""
        path = scope.get("path", "")
        if scope["type"] != "http" or scope["method"] != "GET":
            await self.app(scope, receive, send)
            return
        known = path in self.paths or path.rstrip("/") in self.paths
        opened = _PAGE_TYPE in Headers(scope=scope).get("accept", "")  # by a browser, as a page
        if not known and not opened:
            await self.app(scope, receive, send)
            return
        folder, _, name = path.rstrip("/").rpartition("/")
        goes = "" if name.lower() == _FIRST else name.lower()
        if goes != name and f"{folder}/{name.lower()}" in self.paths:
            query = scope.get("query_string", b"").decode("latin-1")
            up = "../" if path.endswith("/") else "./"
            await RedirectResponse(up + goes + (f"?{query}" if query else ""))(scope, receive, send)
            return
        asked = [(name, value) for name, value in scope["headers"] if name not in _CONDITIONS]
        root = max((root for root in self.paths if root.endswith("/") and path.startswith(root)), key=len)
        below = 0 if known else path[len(root) :].count("/")
        await self.app({**scope, "headers": asked}, receive, _Dressing(send, "../" * below))


class _Dressing:
    """Sends a response on; an HTML one as a whole, dressed.

    The page finds its files by relative addresses, so it works beside the others only: below them, the
    response leads `up` to the first one.
    """

    def __init__(self, send: Send, up: str) -> None:
        self._send = send
        self._up = up
        self._start: Message | None = None
        self._body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_html(message):
            self._start = message
        elif self._start is None or message["type"] != "http.response.body":
            await self._send(message)
        else:
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                await self._finish(self._start)

    async def _finish(self, start: Message) -> None:
        body = dressed(self._body)
        if self._up and body != self._body:
            await self._send(
                {"type": "http.response.start", "status": 307, "headers": [(b"location", self._up.encode())]}
            )
            await self._send({"type": "http.response.body"})
            return
        headers = MutableHeaders(raw=list(start["headers"]))
        for name in ("etag", "last-modified", "accept-ranges"):
            if name in headers:
                del headers[name]
        headers["content-length"] = str(len(body))
        headers["cache-control"] = "no-cache"
        await self._send({**start, "headers": headers.raw})
        await self._send({"type": "http.response.body", "body": body})


def _is_html(message: Message) -> bool:
    headers = Headers(raw=message["headers"])
    html = headers.get("content-type", "").startswith(_PAGE_TYPE)
    return html and message["status"] == 200 and "content-encoding" not in headers


def dressed(page: bytes) -> bytes:
    """Streamlit's page with our title, style sheet and script; another page as it is."""
    if not all(part in page for part in (_TITLE, _HEAD, _END)):
        return page
    sheet = f"<style>{assets.inline('page.css')}</style>".encode()
    # As the route does: Streamlit reads the pages' modules again when a file of theirs changes.
    address = import_module("pages.ui.modules").address(_SCRIPT)
    script = f'<script type="module" src="{escape(address)}"></script>'.encode()
    return page.replace(_TITLE, _OURS, 1).replace(_HEAD, script + _HEAD, 1).replace(_END, sheet + _END, 1)
