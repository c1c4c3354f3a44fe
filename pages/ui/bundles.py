"""Streamlit's own scripts, style sheets and fonts, answered in one step.

The first page asks for about 95 of them. Streamlit hands each to threads, to find the file and to read it,
at the moment when the browser and the modules of the first page need the processor. Their names contain a
digest, so a file never changes. A request chooses among the names that were found at the start; it never
becomes a path of the disk.

It saves 14 to 24 % of the time from the first request to the first page (medians of paired runs on two shared
cores: 0.27 of 1.9 s, 11 runs; 0.37 of 2.7 s, 14 runs; 0.73 of 3.1 s without uvloop, 11 runs) and 0.1 s of the
server's 0.45 s of CPU time. A browser that opens seconds after the start gains less than that shows.
To repeat it, take `*bundles(...)` out of app.py in a second checkout and run
`python -m bench.first_page --rounds 11 --root . --root OTHER`.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Final

from starlette.middleware import Middleware
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit import file_util

_FOLDER: Final = "static"
_HASHED: Final = re.compile(r".*\.[\w-]{8}\.(?:js|css|woff2)")
_TYPES: Final[Mapping[str, str]] = {".js": "text/javascript", ".css": "text/css", ".woff2": "font/woff2"}
_HEADERS: Final = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "X-Content-Type-Options": "nosniff",
}
# A request with one of these is Streamlit's to answer.
_CONDITIONS: Final = frozenset({b"range", b"if-none-match", b"if-modified-since", b"if-range"})


def bundles(bases: Iterable[str]) -> list[Middleware]:
    """The middleware, for an app below these paths."""
    return [Middleware(Bundles, bases=tuple(bases))]


class Bundles:
    """Answers requests for Streamlit's hashed files; leaves every other request alone."""

    def __init__(self, app: ASGIApp, bases: tuple[str, ...]) -> None:
        self.app = app
        self.paths = {f"{base}/{name}": file for base in bases for name, file in _files().items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or hand on."""
        file = None
        if scope["type"] == "http" and scope["method"] == "GET":
            file = self.paths.get(scope.get("path", ""))
        if file is None or any(name in _CONDITIONS for name, _ in scope["headers"]):
            await self.app(scope, receive, send)
            return
        try:
            body = file.read_bytes()
        except OSError:
            await self.app(scope, receive, send)
            return
        await Response(body, headers=_HEADERS, media_type=_TYPES[file.suffix])(scope, receive, send)


@cache
def _files() -> Mapping[str, Path]:
    root = Path(file_util.get_static_dir())
    paths = (path for path in (root / _FOLDER).rglob("*") if _HASHED.fullmatch(path.name))
    return {path.relative_to(root).as_posix(): path for path in paths}
