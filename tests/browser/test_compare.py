"""The Compare page in a real browser: deliveries, steps through differences, a small window, hostile text."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import FilePayload, Page, expect

from tests.browser.conftest import pick
from tests.support.hostile import hostile
from tests.support.pages import as_file
from tests.support.streams import CLEAN, LEAK, chat


def test_both_deliveries_stand_under_one_row_and_keys_step_through_the_differences(
    app: str, open_page: Callable[..., Page]
) -> None:
    page = open_page()
    page.goto(
        f"{app}compare?left=chat-tool-call-leak-vllm-0.14.1&right=chat-preamble-tool-call-leak-vllm-0.14.1"
    )
    expect(page.get_by_role("heading", level=1)).to_contain_text("The tokens differ from token 12 on")
    expect(page.get_by_text("left: vLLM 0.14.1").first).to_be_visible()
    shown = page.get_by_role("heading", level=2)
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


def test_two_files_dropped_at_once_are_compared_without_a_click(
    app: str, open_page: Callable[..., Page]
) -> None:
    page = open_page()
    page.goto(f"{app}compare")
    expect(page.get_by_role("heading", level=1)).to_contain_text("The tokens are the same; 0.13.0")
    files = {"good.jsonl": chat(CLEAN, version="1.0.0"), "leak.jsonl": chat(LEAK, version="0.9.0")}
    page.locator("input[type=file]").set_input_files(
        [
            FilePayload(name=name, mimeType="application/octet-stream", buffer=as_file(one))
            for name, one in files.items()
        ]
    )
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_contain_text("only 0.9.0 leaked 2 reasoning tokens into the answer")
    page.wait_for_url(re.compile(r"left=good.jsonl&right=leak.jsonl"))
    page.get_by_role("button", name="Swap").click()
    page.wait_for_url(re.compile(r"left=leak.jsonl&right=good.jsonl"))
    expect(page.get_by_text("right: vLLM 1.0.0").first).to_be_visible()


def test_a_capture_is_compared_from_its_replay(app: str, open_page: Callable[..., Page]) -> None:
    page = open_page()
    page.goto(f"{app}?capture=chat-tool-call-leak-vllm-0.14.1")
    page.get_by_role("button", name="Compare").click()
    pick(page, page.get_by_role("combobox", name="Right side"), "Tool call broken")
    page.wait_for_url(re.compile(r"compare\?left=chat-tool-call-leak-vllm-0.14.1&right=.*0\.13\.0"))
    expect(page.get_by_text("left: vLLM 0.14.1").first).to_be_visible()


def test_hostile_text_stays_text(app: str, open_page: Callable[..., Page]) -> None:
    page = open_page()
    page.goto(f"{app}compare")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    content = as_file(hostile().capture)
    page.locator("input[type=file]").set_input_files(
        FilePayload(name="<b>bad</b>.jsonl", mimeType="application/octet-stream", buffer=content)
    )
    pick(page, page.get_by_role("combobox", name="Right"), "<b>bad</b>", typed="<b>bad")
    expect(page.get_by_role("heading", level=1)).not_to_contain_text("The tokens are the same; 0.13.0")
    expect(page.get_by_text("<script>alert(1)</script>").first).to_be_attached()


def ask(page: Page, app: str) -> None:
    page.goto(f"{app}compare")
    page.get_by_role("button", name="Ask two servers").or_(
        page.get_by_role("radio", name="Ask two servers")
    ).click()
    expect(page.get_by_role("button", name="Ask both")).to_be_enabled()


def test_one_press_asks_both_servers_and_a_reload_shows_the_same_comparison(
    app: str, open_page: Callable[..., Page]
) -> None:
    page = open_page()
    ask(page, app)
    page.get_by_role("button", name="Ask both").click()
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_contain_text("The tokens are the same; 0.13.0 lost 2 tokens of the reasoning")
    expect(page.get_by_text("left: vLLM 0.13.0").first).to_be_visible()
    page.wait_for_url(re.compile(r"trial=.*&left=.*&right="))
    before = page.url
    page.reload()
    expect(heading).to_contain_text("The tokens are the same; 0.13.0 lost 2 tokens of the reasoning")
    assert page.url == before


def test_both_pictures_grow_while_their_servers_answer(app: str, open_page: Callable[..., Page]) -> None:
    page = open_page()
    ask(page, app)
    page.get_by_text("Messages, tools, sampling, faults, keys").click()
    for side in ("left", "right"):
        faults = page.get_by_role("combobox", name=f"Faults of the {side} built-in server")
        pick(page, faults, "stall=5:6")
        page.keyboard.press("Escape")
        chosen = page.get_by_test_id("stMultiSelect").nth(["left", "right"].index(side))
        expect(chosen).to_contain_text("stall=5:6")
    page.get_by_role("button", name="Ask both").click()
    expect(page.locator(".hi[data-ready]")).to_have_count(2)
    counts = "() => [...document.querySelectorAll('.hi')].map(root => root.strip.model?.count ?? 0)"
    page.wait_for_function(f"({counts})().every(count => count > 3)")
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_contain_text("The tokens are the same")


def test_the_section_is_in_the_address_and_a_reload_opens_it(
    app: str, open_page: Callable[..., Page]
) -> None:
    page = open_page()
    page.goto(f"{app}compare")
    page.locator(".hi[data-ready]").wait_for()
    page.locator(".st-key-compare_section").get_by_text("Findings").click()
    page.wait_for_url(re.compile("section=Findings"))
    page.reload()
    page.locator(".hi[data-ready]").wait_for()
    expect(page.get_by_role("radio", name="Findings")).to_be_checked()


def test_several_runs_tell_rates_and_a_row_shows_its_pair(app: str, open_page: Callable[..., Page]) -> None:
    page = open_page()
    ask(page, app)
    runs = page.get_by_label("Runs per server", exact=True)
    runs.fill("3")
    runs.press("Enter")
    page.get_by_role("button", name="Ask both").click()
    headings = page.get_by_role("heading", level=1)
    expect(headings.first).to_contain_text("Left: 3 of 3 runs (100%) with errors, right: 3 of 3 runs (100%)")
    expect(headings.first).to_contain_text("Fisher's exact test")
    expect(headings.last).to_contain_text("The tokens are the same")
    expect(page.get_by_text("Below: run 1 of each side.")).to_be_visible()
    table = page.get_by_test_id("stDataFrame").first
    table.click(position={"x": 20, "y": 35 + 35 + 17})  # the box of the second row, drawn on a canvas
    expect(page.get_by_text("Below: run 2 of each side.")).to_be_visible()


def test_a_side_that_fails_is_told_and_the_other_is_shown_in_a_small_window(
    app: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(width=420)
    ask(page, app)
    page.get_by_text("Messages, tools, sampling, faults, keys").click()
    faults = page.get_by_role("combobox", name="Faults of the right built-in server")
    pick(page, faults, "http")
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("stMultiSelect").last).to_contain_text("http")
    page.get_by_role("button", name="Ask both").click()
    expect(page.get_by_test_id("stAlert").filter(has_text="Right:")).to_contain_text("failed (HTTP 500")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Your client got a broken tool call")
    assert page.evaluate("document.documentElement.scrollWidth") <= 420


def test_recent_runs_stand_in_the_pickers(app: str, open_page: Callable[..., Page]) -> None:
    page = open_page()
    ask(page, app)
    page.get_by_role("button", name="Ask both").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("The tokens are the same")
    page.goto(f"{app}compare")
    page.get_by_label("Right").first.click()
    expect(page.get_by_role("option").filter(has_text="run of").first).to_be_visible()
