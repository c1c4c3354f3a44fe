"""The Library page in a real browser: a row of its table opens in Replay, and a filter survives a reload."""

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

FILTER = "version = '0.14.1' AND verdict = 'error' AND endpoint = 'chat' AND tokens > 5"
BOX = 17
"""Pixels to the middle of the boxes that select rows."""


def test_a_filter_survives_a_reload_and_the_selected_row_opens_in_replay(
    app: str, open_page: Callable[..., Page]
) -> None:
    page = open_page()
    page.goto(f"{app}library")
    heading, box = page.get_by_role("heading", level=1), page.get_by_role("textbox", name="Filter")
    expect(heading).to_contain_text("captures have errors")
    expect(heading).not_to_contain_text("2 of 2")
    box.fill(FILTER)
    box.press("Enter")
    expect(heading).to_contain_text("2 of 2 captures have errors")
    page.reload()
    expect(heading).to_contain_text("2 of 2 captures have errors")
    expect(box).to_have_value(FILTER)
    shown = page.locator("strong")
    expect(shown.filter(has_text="chat-preamble-tool-call-leak")).to_be_visible()
    table = page.get_by_test_id("stDataFrame").last
    size = table.bounding_box()
    assert size is not None
    table.click(position={"x": BOX, "y": 2.5 / 3 * size["height"]})  # headings, and a row for each of two
    expect(shown.filter(has_text="chat-tool-call-leak-vllm-0.14.1.jsonl")).to_be_visible()
    page.get_by_role("button", name="Open in Replay").click()
    page.wait_for_selector(".hi[data-ready]")
    expect(page).to_have_title(re.compile(r"^error: chat-tool-call-leak-vllm-0\.14\.1\.jsonl · Replay"))
