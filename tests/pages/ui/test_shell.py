"""The HTML page of the dashboard: our title, style sheet and script in Streamlit's page, in nothing else."""

import gzip
import re
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

from pages.ui import modules
from pages.ui.shell import dressed, shell
from tests.support.listening import listening

THEIRS = b"<html><head><title>Streamlit</title></head><body><div id=root></div></body></html>"
TEXT = "<title>Streamlit</title></head></body>"
OTHER = b"<html><head><title>502</title></head><body>Bad gateway</body></html>"


async def _page(request: Request) -> Response:
    if request.headers.get("if-none-match"):
        return Response(status_code=304)
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(gzip.compress(THEIRS), headers={"content-encoding": "gzip"}, media_type="text/html")
    return Response(THEIRS, headers={"etag": '"1"', "last-modified": "now"}, media_type="text/html")


async def _other(request: Request) -> Response:
    return Response(OTHER, media_type="text/html")


async def _text(request: Request) -> Response:
    return PlainTextResponse(TEXT)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    routes = [Route("/", _page), Route("/tools/live", _page), Route("/tap/x/v1/models", _page)]
    routes += [
        Route("/compare", _other),
        Route("/matrix", _text),
        Route("/nowhere", _page),
        Route("/tools/a/b/", _page),
    ]
    with listening(Starlette(routes=routes, middleware=shell(["", "/tools"]))) as address:
        yield address


def ask(server: str, path: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    connection = HTTPConnection(urlsplit(server).netloc, timeout=10)
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()


@pytest.mark.parametrize("path", ["/", "/tools/live", "/nowhere"])
def test_a_page_has_our_title_and_sheet_whatever_the_browser_has_kept(server: str, path: str) -> None:
    kept = {"If-None-Match": '"1"', "Accept-Encoding": "gzip", "Accept": "text/html"}
    status, headers, body = ask(server, path, **kept)
    assert status == 200
    assert b"<title>Harmony Inspector</title>" in body
    assert body.index(b"<div id=root>") < body.index(b".st-key-live_head") < body.index(b"</body>")
    assert not {"etag", "last-modified"} & set(headers)
    assert headers["cache-control"] == "no-cache"
    assert int(headers["content-length"]) == len(body)


def test_the_script_of_the_page_is_served(server: str) -> None:
    _, _, body = ask(server, "/")
    assert re.findall(r'<script type="module" src="([^"]+)">', body.decode()) == [
        modules.address("ui/history.js")
    ]


@pytest.mark.parametrize(
    ("path", "content"),
    [("/tap/x/v1/models", THEIRS), ("/compare", OTHER), ("/matrix", TEXT.encode())],
)
def test_everything_else_passes_unchanged(server: str, path: str, content: bytes) -> None:
    assert ask(server, path)[2] == content


def test_streamlits_own_page_is_one_that_can_be_dressed() -> None:
    page = (Path(streamlit.__file__).parent / "static" / "index.html").read_bytes()
    assert dressed(page) != page


@pytest.mark.parametrize(
    ("path", "goes"),
    [
        ("/replay", "./"),
        ("/replay?capture=a%20b", "./?capture=a%20b"),
        ("/tools/replay/", "../"),
        ("/Replay", "./"),
        ("/Live?run=1", "./live?run=1"),
        ("/tools/MATRIX/", "../matrix"),
        ("/tools/a/b/", "../../"),
    ],
)
def test_an_address_that_no_page_has_leads_to_the_page_that_is_meant(
    server: str, path: str, goes: str
) -> None:
    status, headers, _ = ask(server, path, Accept="text/html,*/*;q=0.8")
    assert (status, headers["location"]) == (307, goes)
