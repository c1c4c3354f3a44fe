"""The docs as a site: it is whole, needs nothing from elsewhere, and shows no remains of Markdown."""

import re
import subprocess
import sys
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.support.command import ROOT


class Addresses(HTMLParser):
    """What a page loads, what it links to, its numbered lists, and the words of its paragraphs and tables."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.linked: list[str] = []
        self.words: list[str] = []
        self.numbered = 0
        self._preformatted = 0
        self.feed(page.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.numbered += tag == "ol" and not attrs  # the search has one with a class
        if tag == "a":
            self.linked.append(values.get("href") or "")
        elif tag == "link" and values.get("rel") != "canonical":
            self.loaded.append(values.get("href") or "")
        elif values.get("src"):
            self.loaded.append(values["src"] or "")
        self._preformatted += tag in {"pre", "script"}

    def handle_endtag(self, tag: str) -> None:
        self._preformatted -= tag in {"pre", "script"}

    def handle_data(self, data: str) -> None:
        if not self._preformatted:
            self.words.append(data)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Addresses]:
    """Each page of the site."""
    site = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(site)]
    subprocess.run(command, cwd=ROOT, check=True)
    return {page: Addresses(page) for page in site.rglob("*.html") if page.name != "404.html"}


def test_nothing_is_loaded_from_elsewhere(pages: dict[Path, Addresses]) -> None:
    assert {
        address for page in pages.values() for address in page.loaded if re.match(r"[a-z]+:|//", address)
    } == set()


def test_links_to_files_of_the_repository_lead_to_files_of_the_site(pages: dict[Path, Addresses]) -> None:
    inside = [
        (page, link)
        for page in pages
        for link in pages[page].linked
        if link and not re.match(r"[a-z]+:|#", link)
    ]
    paths = {(page.parent / unquote(unescape(link)).partition("#")[0]).resolve() for page, link in inside}
    assert {path for path in paths if not path.exists()} == set()
    assert {"alerts.yml", "LICENSE", "CONTRIBUTING.html", "middleware.py"} <= {path.name for path in paths}


def test_escapes_of_tables_do_not_show(pages: dict[Path, Addresses]) -> None:
    assert [page.name for page in pages if re.search(r"\\[|<]", "".join(pages[page].words))] == []


def test_a_numbered_list_is_one_list(pages: dict[Path, Addresses]) -> None:
    """Python-Markdown ends it at what is indented by less than four blanks, and counts from 1 again."""
    for source in (ROOT / "docs").glob("*.md"):
        prose = re.sub(r"^ *```.*?^ *```", "", source.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
        [page] = [page for path, page in pages.items() if path.name == f"{source.stem}.html"]
        assert page.numbered == len(re.findall(r"^1\. ", prose, re.MULTILINE)), source.name
