"""The Library page in a real browser: a row of its table opens in Replay, and a filter survives a reload."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from inspector.store import FIXTURES
from tests.support.archives import scanned

pytestmark = pytest.mark.browser

FILTER = 'verdict == "error" and tokens > 5'
ROW = 35
"""Pixels of a row of a table, and of its headings."""


def test_a_filter_survives_a_reload_and_the_selected_row_opens_in_replay(
    app: str, app_folder: Path, open_page: Callable[..., Page]
) -> None:
    scanned(app_folder / "captures" / "scan", FIXTURES / "chat-*-vllm-0.14.1.jsonl")
    page = open_page()
    page.goto(f"{app}library")
    heading, box = page.get_by_role("heading", level=1), page.get_by_role("textbox", name="Filter")
    expect(heading).to_contain_text("2 of 3 captures have errors")
    box.fill(FILTER)
    box.press("Enter")
    expect(heading).to_contain_text("2 of 2 captures have errors")
    page.reload()
    expect(heading).to_contain_text("2 of 2 captures have errors")
    expect(box).to_have_value(FILTER)
    shown = page.locator("strong")
    expect(shown.filter(has_text="chat-preamble-tool-call-leak")).to_be_visible()
    page.get_by_test_id("stDataFrame").last.click(position={"x": ROW / 2, "y": 2.5 * ROW})
    expect(shown.filter(has_text="chat-tool-call-leak-vllm-0.14.1.jsonl")).to_be_visible()
    page.get_by_role("button", name="Open in Replay").click()
    page.wait_for_selector(".hi[data-ready]")
    expect(page).to_have_title(re.compile(r"^error: chat-tool-call-leak-vllm-0\.14\.1\.jsonl · Replay"))
