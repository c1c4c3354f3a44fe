"""Where things stand on the pages: nothing jumps, labels of a row align, nothing is covered."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

LEAK = "chat-tool-call-leak-vllm-0.14.1"
WATCH = """window.shifts = []; new PerformanceObserver(list => { for (const one of list.getEntries())
  if (!one.hadRecentInput) window.shifts.push(one.value); }).observe({type: "layout-shift"})"""
LABELS = """() => [...document.querySelectorAll('[data-testid=stMain] [data-testid=stWidgetLabel]')]
  .map(label => [label.innerText.trim(), label.getBoundingClientRect().top])"""
AT_MOST = 0.05


def shifted(page: Page) -> float:
    found: float = page.evaluate("shifts.reduce((sum, one) => sum + one, 0)")
    return found


def opened(page: Page, address: str) -> Page:
    page.goto(address)
    page.locator(".hi[data-ready]").wait_for()
    expect(page.locator("[data-testid=stSkeleton]")).to_have_count(0)
    page.wait_for_timeout(1000)
    return page


def test_nothing_below_the_tokens_moves_from_token_to_token(app: str, open_page: Callable[..., Page]) -> None:
    page = opened(open_page(1400, 1400), f"{app}?capture={LEAK}")
    tabs = page.locator(".st-key-replay_section")
    scroller = page.locator(".scroller")
    scroller.press("Home")
    for _ in range(31):  # the panels take the room of the tallest texts
        scroller.press("ArrowRight")
    tops = set()
    for key in ["Home", *["ArrowRight"] * 31]:
        scroller.press(key)
        box = tabs.bounding_box()
        assert box is not None
        tops.add(round(box["y"]))
    assert len(tops) == 1, tops


def test_a_capture_that_plays_does_not_shift_the_page(app: str, open_page: Callable[..., Page]) -> None:
    page = opened(open_page(), f"{app}?capture={LEAK}")
    page.evaluate(WATCH)
    page.locator("[data-part=speed]").select_option("0.25")
    page.locator("[data-do=play]").click()
    expect(page.locator("[data-part=play-word]")).to_have_text("play")
    assert shifted(page) < AT_MOST


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("live", ["Server", "Model", "Endpoint", "Pace"]),
        ("matrix", ["Endpoint", "Tokens per step", "Server", "Filter scripts"]),
    ],
)
def test_the_labels_of_a_row_align(
    app: str, open_page: Callable[..., Page], path: str, names: list[str]
) -> None:
    page = open_page()
    page.goto(f"{app}{path}")
    expect(page.get_by_text(names[-1], exact=True).first).to_be_visible()
    page.wait_for_timeout(1500)
    found: list[list[Any]] = page.evaluate(LABELS)
    tops = {name: top for name, top in found if name in names}
    assert set(tops) == set(names)
    assert max(tops.values()) - min(tops.values()) < 1.5, tops


@pytest.mark.parametrize("width", [641, 700, 768])
def test_nothing_is_covered_by_the_header(app: str, open_page: Callable[..., Page], width: int) -> None:
    page = opened(open_page(width), f"{app}?capture={LEAK}")
    header = page.locator("[data-testid=stHeader]").bounding_box()
    first = page.locator(".st-key-replay_bar").bounding_box()
    assert header is not None
    assert first is not None
    assert first["y"] >= header["y"] + header["height"] - 1


@pytest.mark.parametrize("path", ["live", "compare", "diagnose", "matrix"])
def test_every_page_says_what_it_is_for_and_its_title_names_it(
    app: str, open_page: Callable[..., Page], path: str
) -> None:
    page = open_page()
    page.goto(f"{app}{path}")
    name = path.capitalize()
    head = page.locator(".st-key-page_head")
    expect(head).to_contain_text(f"{name} · ")
    page.wait_for_function("name => document.title.includes(name + ' · Harmony Inspector')", arg=name)
