"""Nothing jumps: Chromium's layout shift while a page loads, a run grows, and one steps through tokens."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import started

AT_MOST = 0.05
WATCH = """window.shifts = []; new PerformanceObserver(list => { for (const one of list.getEntries())
  window.shifts.push(one.value); }).observe({type: "layout-shift", buffered: true});"""
LEAK = "chat-tool-call-leak-vllm-0.14.1"
REJECTED = "chat-unexpected-token-12606-vllm-0.13.0"
LONG = "responses-dropped-tokens-long-vllm-0.13.0"

Open = Callable[..., Page]


def watched(open_page: Open, width: int) -> Page:
    page = open_page(width)
    page.add_init_script(WATCH)
    return page


def shifted(page: Page) -> float:
    """The sum of all shifts since the last look, those that follow an input included."""
    page.wait_for_timeout(1500)
    found: float = page.evaluate("shifts.splice(0).reduce((sum, one) => sum + one, 0)")
    return found


def settled(page: Page) -> None:
    page.locator(".hi[data-ready]").wait_for()
    expect(page.locator("[data-testid=stSkeleton]")).to_have_count(0)


@pytest.mark.parametrize("width", [1400, 700, 420])
@pytest.mark.parametrize("path", ["", f"?capture={REJECTED}", f"?capture={LONG}", "compare"])
def test_a_page_that_loads_does_not_move(app: str, open_page: Open, path: str, width: int) -> None:
    page = watched(open_page, width)
    page.goto(f"{app}{path}")
    settled(page)
    assert shifted(page) < AT_MOST


@pytest.mark.parametrize("path", ["matrix", "probe", "library"])
def test_a_page_of_widgets_does_not_move_while_their_scripts_load(
    app: str, open_page: Open, path: str
) -> None:
    page = watched(open_page, 420)
    page.goto(f"{app}{path}")
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
    expect(page.locator("[data-testid=stSkeleton]")).to_have_count(0)
    assert shifted(page) < AT_MOST


@pytest.mark.parametrize("width", [1400, 420])
@pytest.mark.parametrize("path", [f"?capture={LEAK}&token=0", "compare"])
def test_stepping_through_all_tokens_moves_nothing(app: str, open_page: Open, path: str, width: int) -> None:
    page = watched(open_page, width)
    page.goto(f"{app}{path}")
    settled(page)
    shifted(page)
    scroller = page.locator(".scroller").first
    scroller.press("Home")
    for _ in range(page.locator(".hi").first.evaluate("root => root.strip.model.count")):
        scroller.press("ArrowRight")
        page.wait_for_timeout(20)
    assert shifted(page) < AT_MOST


@pytest.mark.parametrize("width", [1400, 420])
def test_a_run_that_grows_and_ends_does_not_move_the_page(
    open_page: Open, tmp_path: Path, width: int
) -> None:
    # An app of its own: the recent runs of other tests stand below the form, and each row counts.
    with started(tmp_path, "app.py") as app:
        _grows_and_ends(watched(open_page, width), app)


def _grows_and_ends(page: Page, app: str) -> None:
    page.goto(f"{app}live")
    expect(page.get_by_role("button", name="Start")).to_be_enabled()
    assert shifted(page) < AT_MOST
    page.get_by_role("button", name="Start").click()
    page.get_by_role("button", name="Stop").wait_for()
    expect(page.get_by_text("What you will see")).to_be_hidden()
    expect(page.get_by_role("button", name="Start", exact=True)).to_be_hidden()
    page.evaluate("shifts.splice(0)")  # the form folds, as the click asks
    page.get_by_role("button", name="Open in Replay").wait_for()
    assert shifted(page) < AT_MOST
    page.reload()
    page.get_by_role("button", name="Open in Replay").wait_for()
    assert shifted(page) < AT_MOST


def test_a_short_strip_leaves_no_empty_room(app: str, open_page: Open) -> None:
    page = watched(open_page, 1400)
    page.goto(f"{app}?capture={REJECTED}")
    settled(page)
    strip = page.locator(".hi").bounding_box()
    tabs = page.locator(".st-key-replay_section").bounding_box()
    assert strip is not None
    assert tabs is not None
    assert 0 <= tabs["y"] - strip["y"] - strip["height"] < 40


def test_the_page_is_seen_even_if_a_script_of_ours_does_not_load(app: str, open_page: Open) -> None:
    page = open_page()
    page.route("**/ui/banner/banner.js", lambda route: route.abort())
    page.goto(app)
    expect(page.locator(".st-key-replay_section")).to_be_visible(timeout=15_000)
