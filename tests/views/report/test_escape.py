import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.views.report.escape import code, fence, html_text, masked, named

HOSTILE = st.text(
    st.sampled_from("`<>&'\"\\|[]()!\n\t \u202e\u2066\x00\x1b\ufeff\ud800\U000e0041ab"), max_size=60
)


class HtmlReader(HTMLParser):
    """Collects what a browser would show, and every tag."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.text = ""
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, _attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


@given(text=HOSTILE)
def test_html_text_has_no_tags_but_names_of_invisible_characters(text: str) -> None:
    reader = HtmlReader()
    reader.feed(html_text(text))
    reader.close()
    assert set(reader.tags) <= {"b"}
    assert reader.text == "".join(
        char if char.isprintable() or char in "\n\t " else f"U+{ord(char):04X}" for char in text
    )


@given(text=HOSTILE)
def test_fence_is_not_ended_by_its_text(text: str) -> None:
    lines = fence(text, "json").split("\n")
    ticks = lines[-1]
    assert set(ticks) == {"`"}
    assert lines[0] == f"{ticks}json"
    assert not any(line.strip().startswith(ticks) for line in lines[1:-1])
    assert all(char.isprintable() or char in "\t" for line in lines for char in line)


@given(text=HOSTILE)
def test_code_is_one_line_that_its_backticks_cannot_end(text: str) -> None:
    inline = code(text)
    assert "\n" not in inline
    if text:
        ticks = re.match("`+", inline)
        assert ticks is not None
        assert inline.endswith(ticks[0])
        runs = re.findall("`+", inline[len(ticks[0]) : -len(ticks[0])])
        assert len(ticks[0]) not in {len(run) for run in runs}
    else:
        assert inline == "(empty)"


def test_bidi_and_control_characters_are_named() -> None:
    assert named("a\u202eb\x1b[0m\n") == "a⟨U+202E⟩b⟨U+001B⟩[0m\n"
    assert 'title="RIGHT-TO-LEFT OVERRIDE">U+202E</b>' in html_text("\u202e")


@pytest.mark.parametrize(
    "secret",
    [
        "sk-proj-" + "a1B2" * 8,
        "hf_" + "abcdEFGH1234",
        "ghp_" + "x" * 36,
        "AKIA" + "ABCDEFGHIJKLMNOP",
        "eyJhbGciOi.eyJzdWIiOi.c2lnbmF0dXJl",
    ],
)
def test_what_looks_like_a_key_is_masked(secret: str) -> None:
    text = f"key {secret}, end"
    assert masked(text) == html_text(text) == named(text) == "key [masked], end"
    assert code(text) == "`key [masked], end`"
    assert secret not in fence(text)


def test_credentials_of_headers_and_addresses_are_masked() -> None:
    assert masked("Authorization: Bearer abcdefgh123") == "Authorization: Bearer [masked]"
    assert masked("https://me:pass@host/v1") == "https://[masked]@host/v1"


@pytest.mark.parametrize(
    "text", ["risk-averse people", "sk-short", "a Bearer of news", "https://host:8000/v1"]
)
def test_masked_keeps_ordinary_words(text: str) -> None:
    assert masked(text) == text
