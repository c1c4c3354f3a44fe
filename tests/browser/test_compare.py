"""The Compare page in a real browser: ribbons, steps through differences, a small window, hostile text."""

from collections.abc import Callable

import pytest
from playwright.sync_api import FilePayload, Page, expect

from tests.pages.test_replay import as_file
from tests.report.test_report import hostile

pytestmark = pytest.mark.browser


def test_both_ribbons_stand_under_one_row_and_keys_step_through_the_differences(
    app: str, open_page: Callable[..., Page]
) -> None:
    page = open_page()
    page.goto(
        f"{app}compare?left=chat-tool-call-leak-vllm-0.14.1&right=chat-preamble-tool-call-leak-vllm-0.14.1"
    )
    expect(page.get_by_role("heading", level=1)).to_contain_text("The tokens differ from token 12 on")
    expect(page.get_by_text("left: vLLM 0.14.1").first).to_be_visible()
    shown = page.get_by_role("heading", level=3)
    expect(shown.filter(has_text="first divergence: only right, 15 tokens")).to_be_visible()
    page.get_by_text("Need", exact=True).first.click()
    expect(shown.filter(has_text="Token 3")).to_be_visible()
    page.keyboard.press("n")
    expect(shown.filter(has_text="first divergence: only right, 15 tokens")).to_be_visible()
    page.keyboard.press("n")
    expect(shown.filter(has_text="only left, 5 tokens")).to_be_visible()
    page.keyboard.press("p")
    expect(shown.filter(has_text="first divergence: only right, 15 tokens")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_small_window_shows_the_sentence_without_scrolling_sideways(
    app: str, open_page: Callable[..., Page], scheme: str
) -> None:
    page = open_page(width=420, color_scheme=scheme)
    page.goto(f"{app}compare")
    expect(page.get_by_role("heading", level=1)).to_contain_text("The tokens are the same")
    expect(page.get_by_text("right: vLLM 0.14.1").first).to_be_attached()
    assert page.evaluate("document.documentElement.scrollWidth") <= 420


def test_hostile_text_stays_text(app: str, open_page: Callable[..., Page]) -> None:
    page = open_page()
    page.goto(f"{app}compare")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    content = as_file(hostile().capture)
    page.locator("input[type=file]").set_input_files(
        FilePayload(name="<b>bad</b>.jsonl", mimeType="application/octet-stream", buffer=content)
    )
    picker = page.get_by_label("Right").first
    picker.click()
    picker.fill("<b>bad")
    page.get_by_role("option").filter(has_text="<b>bad</b>").click()
    expect(page.get_by_role("heading", level=1)).not_to_contain_text("The tokens are the same; 0.13.0")
    expect(page.get_by_text("<script>alert(1)</script>").first).to_be_attached()
