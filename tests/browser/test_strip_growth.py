"""The token strip that grows or is drawn again, and on narrow pages."""

import json
import re
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page, expect

from inspector.views.strip.growth import unchanged
from tests.browser.conftest import show
from tests.support.strips import LEAK, built_in, selected

Mount = Callable[..., Page]


def test_two_servers_are_two_bars_under_one_row_of_tokens(mount: Mount) -> None:
    drawn = built_in(LEAK)
    [left] = drawn["pipelines"]
    fates = [[3, 6, "delivered", 0, 0, ""], [21, 31, "delivered", 2, 2, ""]]
    drawn["pipelines"].append({"server": "vLLM 0.32.0", "lanes": left["lanes"], "fates": fates})
    page = mount(drawn, token=4)
    assert page.locator(".lane-key").all_text_contents() == ["L", "R"]
    expect(page.locator(".token")).to_contain_text("vLLM 0.14.1")
    expect(page.locator(".token")).to_contain_text("in content, not in reasoning")
    assert page.locator(".row .ribbon.delivered").count() > page.locator(".row .ribbon.misrouted").count()


def test_the_same_payload_again_keeps_place_and_selection(mount: Mount) -> None:
    drawn = built_in(LEAK)
    page = mount(drawn)
    page.evaluate("strip.select(21)")
    show(page, drawn)
    assert selected(page) == "cell-21"
    drawn["texts"]["21"] = "changed"
    show(page, drawn)
    assert selected(page) == "cell-21"
    expect(page.locator("#cell-21 .text")).to_have_text("changed")
    show(page, drawn | {"key": "another"}, nonce=2)
    assert selected(page) is None


def test_a_cleanup_after_the_next_call_leaves_the_strip_and_the_last_one_ends_it(mount: Mount) -> None:
    drawn = built_in(LEAK)
    page = mount(drawn)
    show(page, drawn, nonce=2)
    page.evaluate("closings[0]()")
    page.locator("#cell-21").click()
    assert selected(page) == "cell-21"
    page.evaluate("closings[1]()")
    page.locator("#cell-4").click()
    assert selected(page) == "cell-21"


def pieces_of(drawn: dict[str, Any], cuts: list[int]) -> list[dict[str, Any]]:
    """A payload as increments that end at `cuts`, the way a growing run tells it."""
    found, start = [], 0
    for end in [*cuts, drawn["count"]]:
        blocks = [
            one | {"end": min(one["end"], end), "body": min(one["body"], end), "complete": one["end"] <= end}
            for one in drawn["blocks"]
            if one["start"] < end
        ]
        [picture] = drawn["pipelines"]
        fates = [[a, min(b, end), *rest] for a, b, *rest in picture["fates"] if a < end]
        lanes = [lane | {"from": 0} for lane in picture["lanes"]]
        events = [k for k, first in enumerate(drawn["events"]["start"]) if start <= first < end]
        found.append(
            {
                "from": start,
                "count": end,
                "ids": drawn["ids"][start:end],
                "vocab": drawn["vocab"],
                "texts": {},
                "events": {name: [column[k] for k in events] for name, column in drawn["events"].items()},
                "blocks": {"from": 0, "items": blocks},
                "pipelines": [picture | {"lanes": lanes, "fates": {"from": 0, "items": fates}}],
                "unsent": [],
                "findings": {"from": 0, "items": drawn["findings"] if end == drawn["count"] else []},
            }
        )  # fmt: skip
        start = end
    return found


def test_a_strip_that_grew_looks_like_one_that_was_drawn_whole(mount: Mount) -> None:
    drawn = built_in(LEAK)
    whole = mount(drawn).locator(".canvas").inner_text()
    empty = drawn | {"count": 0, "ids": [], "blocks": [], "pipelines": [], "findings": []}
    empty["events"] = {"index": [], "start": [], "at": []}
    page = mount(empty)
    for columns in pieces_of(drawn, [1, 4, 7, 10, 19, 22, 31]):
        page.evaluate("columns => strip.append(columns)", json.loads(json.dumps(columns)))
    assert page.locator(".canvas").inner_text() == whole
    expect(page.locator(".findings button")).to_have_count(3)


ROWS_WITHOUT_ROOM = """() => {
  const { layout, model } = strip, found = [];
  for (let row = 0; row < layout.rowStart.length; row++)
    for (let cell = layout.rowStart[row]; cell < layout.rowEnd(row); cell++)
      if (model.hasBar(cell) && !layout.rowTall[row]) found.push(cell);
  return found;
}"""


def test_bars_that_are_told_after_their_tokens_have_room(mount: Mount) -> None:
    drawn = built_in(LEAK)
    empty = drawn | {"count": 0, "ids": [], "blocks": [], "pipelines": [], "findings": []}
    empty["events"] = {"index": [], "start": [], "at": []}
    page = mount(empty)
    told = 0
    for columns in pieces_of(drawn, [2, 22]):  # the first look finds no text yet
        [picture] = columns["pipelines"]
        page.evaluate("columns => strip.append(columns)", columns | {"pipelines": [], "findings": None})
        # As the audit tells them: runs that stay are counted, the last may have grown.
        items = picture["fates"]["items"]
        kept = max(min(told, len(items)) - 1, 0)
        pipelines = [picture | {"fates": {"from": kept, "items": items[kept:]}}]
        look = unchanged(columns["count"]) | {"pipelines": pipelines, "findings": columns["findings"]}
        page.evaluate("columns => strip.append(columns)", look)
        told = len(items)
        assert page.evaluate(ROWS_WITHOUT_ROOM) == []


def test_narrow_pages_put_the_details_under_the_tokens(mount: Mount) -> None:
    page = mount(built_in(LEAK), width=420)
    assert page.evaluate("document.documentElement.scrollWidth") <= 420
    tokens, findings = page.locator(".frame").bounding_box(), page.locator(".findings").bounding_box()
    assert tokens is not None
    assert findings is not None
    assert findings["y"] > tokens["y"] + tokens["height"]
    page.evaluate("strip.select(21)")
    expect(page.locator(".readout")).to_be_visible()


def test_the_strip_is_a_listbox_with_named_options(mount: Mount) -> None:
    page = mount(built_in(LEAK), token=21)
    expect(page.get_by_role("listbox")).to_be_visible()
    chosen = page.get_by_role("listbox").get_by_role("option", selected=True)
    expect(chosen).to_have_count(1)
    expect(chosen).to_have_accessible_name(re.compile("10848"))
    expect(chosen).to_have_attribute("aria-description", re.compile("^token 21 "))
    expect(page.get_by_role("group", name="analysis")).to_be_visible()
    expect(page.get_by_role("slider")).to_have_attribute("aria-valuetext", "32 tokens · 145 ms")
    unnamed = page.locator("#host").evaluate(
        "host => [...host.shadowRoot.querySelectorAll('button, select, input')].filter(one => "
        "!one.closest('label') && !(one.getAttribute('aria-label') || one.textContent.trim())).length"
    )
    assert unnamed == 0
