"""The route of the components' modules: our files and nothing else, each below the digest of them all."""

import http.client
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from starlette.applications import Starlette

from pages.ui import modules
from tests.support.listening import listening

PAGES = Path(__file__).parents[3] / "pages"
IMPORT = re.compile(r'\b(?:from|import)\s*\(?\s*"([^"]+)"')
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
BASES = ("", "/tools/inspector")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    app = Starlette(routes=[route for base in BASES for route in modules.module_routes(base)])
    with listening(app) as address:
        yield address


def ask(server: str, path: str, method: str = "GET") -> tuple[int, dict[str, str], bytes]:
    """The path goes out as it is: a client that tidies it would hide what a hostile one can send."""
    connection = http.client.HTTPConnection(urlsplit(server).netloc, timeout=10)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()


@pytest.mark.parametrize("base", BASES)
def test_every_script_below_pages_is_served_as_it_is_for_ever_and_as_javascript(
    server: str, base: str
) -> None:
    on_disk = {path.relative_to(PAGES).as_posix(): path.read_bytes() for path in PAGES.rglob("*.js")}
    assert on_disk
    served = {}
    for name in on_disk:
        status, headers, content = ask(server, f"{base}/inspector/modules/{modules.DIGEST}/{name}")
        assert (status, headers["content-type"]) == (200, "text/javascript; charset=utf-8"), name
        assert headers["cache-control"] == "public, max-age=31536000, immutable"
        assert headers["x-content-type-options"] == "nosniff"
        served[name] = content
    assert served == on_disk


@pytest.mark.parametrize(
    "path",
    [
        "{digest}/ui/modules.py",
        "{digest}/frame.py",
        "{digest}/ui/strip/strip.css",
        "{digest}/../app.py",
        "{digest}/ui/../../app.py",
        "{digest}/%2e%2e/app.py",
        "{digest}/..%2fapp.py",
        "{digest}//ui/text.js",
        "{digest}/ui/TEXT.JS",
        "{digest}/ui/text.js%00",
        "{digest}/ui/",
        "{digest}/",
        "0123456789abcdef/ui/text.js",
    ],
)
def test_nothing_else_is_served_and_no_refusal_is_kept(server: str, path: str) -> None:
    status, headers, _ = ask(server, "/inspector/modules/" + path.format(digest=modules.DIGEST))
    assert status == 404
    assert headers["cache-control"] == "no-store"


def test_it_answers_reading_requests_only(server: str) -> None:
    path = f"/inspector/modules/{modules.DIGEST}/ui/text.js"
    assert [ask(server, path, method)[0] for method in ("HEAD", "POST", "PUT", "DELETE")] == [
        200,
        405,
        405,
        405,
    ]


def test_every_import_names_a_served_module() -> None:
    for name, content in modules.FILES.items():
        for wanted in IMPORT.findall(COMMENT.sub("", content.decode())):
            assert wanted.startswith("."), f"{name} imports {wanted}: only relative imports work here"
            assert posixpath.normpath(posixpath.join(posixpath.dirname(name), wanted)) in modules.FILES, (
                f"{name} imports {wanted}, which is not there"
            )


def test_the_loader_names_the_version_of_the_files_and_only_a_module_that_exists() -> None:
    assert f'"inspector/modules/{modules.DIGEST}/ui/text.js"' in modules.loader("ui/text.js")
    with pytest.raises(FileNotFoundError):
        modules.loader("ui/absent.js")


def test_another_content_or_name_of_a_file_is_another_version() -> None:
    same = modules.digest({"a.js": b"1", "b.js": b"2"})
    assert same == modules.digest({"a.js": b"1", "b.js": b"2"})
    others: list[dict[str, bytes]] = [
        {"a.js": b"1", "b.js": b"3"},
        {"a.js": b"1", "c.js": b"2"},
        {"a.js": b"1"},
        {"a.js": b"1b.js", "": b"2"},
    ]
    assert same not in {modules.digest(files) for files in others}
