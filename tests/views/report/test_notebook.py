"""An inspection in a notebook: plain HTML that names the differences, and a frame that nothing leaves."""

from html.parser import HTMLParser

import pytest

import inspector
from tests.support.builtin import CAPTURES
from tests.support.hostile import hostile

PLAIN = {"div", "p", "b", "br", "i", "mark", "table", "tr", "th", "td"}


class Tags(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.frames: list[dict[str, str | None]] = []
        self.words: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag == "iframe":
            self.frames.append(dict(attrs))

    def handle_data(self, data: str) -> None:
        self.words.append(data)


@pytest.mark.parametrize("name", CAPTURES)
def test_it_says_what_the_page_says_in_plain_html(name: str) -> None:
    inspection = inspector.inspect(CAPTURES[name])
    shown = Tags(inspection._repr_html_())
    assert shown.tags - {"iframe"} <= PLAIN
    assert inspection.verdict.why.split(".")[0] in "".join(shown.words)
    for frame in shown.frames:
        assert frame["sandbox"] == "allow-scripts"
        assert "default-src 'none'" in (frame["srcdoc"] or "")


def test_hostile_text_stays_text() -> None:
    shown = Tags(hostile()._repr_html_())
    assert shown.tags - {"iframe"} <= PLAIN
    assert len(shown.frames) <= 1
