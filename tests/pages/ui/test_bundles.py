"""Streamlit's own files from our middleware: the same bytes, and nothing but them."""

from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import streamlit
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from pages.ui.bundles import bundles
from tests.support.listening import listening

ROOT = Path(streamlit.__file__).parent / "static"
SCRIPTS = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("static/js/index.*.js"))
SHEETS = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("static/css/*.css"))


async def _streamlit(request: Request) -> Response:
    return PlainTextResponse("Streamlit", headers={"cache-control": "no-cache"})


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    routes = [Route("/{path:path}", _streamlit, methods=["GET", "HEAD", "POST"])]
    with listening(Starlette(routes=routes, middleware=bundles(["", "/tools"]))) as address:
        yield address


def ask(server: str, path: str, method: str = "GET", **headers: str) -> tuple[dict[str, str], bytes]:
    connection = HTTPConnection(urlsplit(server).netloc, timeout=10)
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()


@pytest.mark.parametrize("base", ["", "/tools"])
@pytest.mark.parametrize("name", [SCRIPTS[0], SHEETS[0]])
def test_a_file_is_the_one_on_disk_and_is_kept_by_the_browser(server: str, base: str, name: str) -> None:
    headers, body = ask(server, f"{base}/{name}")
    assert body == (ROOT / name).read_bytes()
    assert headers["content-type"].startswith(("text/javascript", "text/css"))
    assert headers["cache-control"] == "public, max-age=31536000, immutable"


def test_every_script_that_streamlits_page_names_comes_from_here(server: str) -> None:
    page = (ROOT / "index.html").read_text()
    named = [one for one in page.split('"') if one.startswith("./static/") and one.endswith((".js", ".css"))]
    assert len(named) > 10
    assert all(ask(server, one.removeprefix("."))[1] != b"Streamlit" for one in named)


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/static/js/none.AAAAAAAA.js",
        "/static/../index.html",
        "/static/js/..%2f..%2findex.html",
        f"/other/{SCRIPTS[0]}",
        f"/{SCRIPTS[0]}/",
    ],
)
def test_any_other_address_is_streamlits_to_answer(server: str, path: str) -> None:
    assert ask(server, path)[1] == b"Streamlit"


def test_conditions_and_other_methods_are_streamlits_to_answer(server: str) -> None:
    path = f"/{SCRIPTS[0]}"
    assert ask(server, path, Range="bytes=0-1")[1] == b"Streamlit"
    assert ask(server, path, **{"If-None-Match": '"1"'})[1] == b"Streamlit"
    assert ask(server, path, "POST")[1] == b"Streamlit"
