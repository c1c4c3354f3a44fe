"""The Library page in a real browser: a row of its table opens in Replay, and a click narrows the filter."""

import re
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect

from inspector.files.store import FIXTURES
from tests.support.archives import scanned

FILTER = "version = '0.14.1' AND verdict = 'error' AND endpoint = 'chat' AND tokens > 5"


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
    page.get_by_role("cell", name="chat-tool-call-leak-vllm-0.14.1.jsonl", exact=True).click()
    page.wait_for_selector(".hi[data-ready]")
    expect(page).to_have_title(re.compile(r"^error: chat-tool-call-leak-vllm-0\.14\.1\.jsonl · Replay"))


def test_a_bar_and_a_row_narrow_the_filter_and_back_widens_it(
    app: str, open_page: Callable[..., Page]
) -> None:
    page = open_page()
    page.goto(f"{app}library")
    heading, box = page.get_by_role("heading", level=1), page.get_by_role("textbox", name="Filter")
    expect(heading).to_contain_text("captures have errors")
    whole = heading.inner_text()
    bar = page.locator(".stPlotlyChart .bars .point path").first
    place = bar.bounding_box()
    assert place is not None
    page.mouse.click(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
    expect(box).to_have_value("version = '0.13.0'")
    expect(heading).to_contain_text("7 of 8 captures have errors")
    findings = page.get_by_role("table", name="Kinds of findings by the captures that have one")
    findings.get_by_role("row").nth(1).click()
    expect(box).to_have_value(re.compile(r"version = '0\.13\.0' AND finding\(kind = '\w+'\)"))
    page.go_back()
    expect(box).to_have_value("version = '0.13.0'")
    page.go_back()
    expect(box).to_have_value("")
    expect(heading).to_have_text(whole)


def test_a_folder_that_is_typed_is_offered_by_its_name(
    app: str, open_page: Callable[..., Page], tmp_path: Path
) -> None:
    scanned(tmp_path / "evals", FIXTURES / "chat-tool-call-leak-vllm-0.14.1.jsonl")
    page = open_page()
    page.goto(f"{app}library")
    box = page.get_by_role("combobox", name="Scan")
    for folder, answer in (("none", "no scan there"), ("evals", "1 of 1 capture has errors")):
        box.click()
        box.fill(str(tmp_path / folder))
        box.press("Enter")
        expect(page.get_by_test_id("stMain")).to_contain_text(answer)
    page.wait_for_url(re.compile("scan=evals"))
