"""Every page by the rules of axe-core in both themes: no violation of ours, and a focus that can be seen."""

import re
from collections.abc import Callable
from typing import Any, Final

import pytest
from playwright.sync_api import FilePayload, Page, expect

from tests.browser.conftest import ROOT

Open = Callable[..., Page]

AXE: Final = ROOT / "node_modules" / "axe-core" / "axe.min.js"
RUN: Final = """async () => (await axe.run(document, {
  runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
})).violations.flatMap(({ id, nodes }) =>
  nodes.map(({ html, failureSummary: why }) => ({ id, html, why })))"""

STREAMLITS: Final = {
    "list": 'data-testid="stSidebarNavItems"',  # its sections are divs inside the list
    "listitem": '<li class="st-emotion-cache-',  # and the pages stand in those divs
    "scrollable-region-focusable": '<pre class="st-emotion-cache-',  # st.code with a height
}
"""What Streamlit itself draws: the rule, and what its nodes hold. No option or style of ours changes them."""


def settled(page: Page) -> Page:
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
    expect(page.locator("[data-testid=stSkeleton]")).to_have_count(0)
    page.wait_for_timeout(1000)
    return page


def violations(page: Page) -> list[tuple[str, str, str]]:
    """Violations of the page that are not Streamlit's: rule, node, and why."""
    settled(page)
    page.evaluate(AXE.read_text("utf-8"))
    found: list[dict[str, Any]] = page.evaluate(RUN)
    return [
        (one["id"], one["html"][:200], one["why"][:300])
        for one in found
        if one["id"] not in STREAMLITS or STREAMLITS[one["id"]] not in one["html"]
    ]


def replay(page: Page, app: str, capture: str) -> Page:
    page.goto(f"{app}?capture={capture}")
    page.wait_for_selector(".hi[data-ready]")
    return page


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(
    "capture",
    [
        "chat-tool-call-leak-vllm-0.14.1",
        "chat-unexpected-token-12606-vllm-0.13.0",
        "chat-whole-vllm-0.14.1",
    ],
)
def test_replay_has_no_violation_of_ours(app: str, open_page: Open, capture: str, theme: str) -> None:
    assert violations(replay(open_page(color_scheme=theme), app, capture)) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_range_and_the_response_as_a_client_shows_it_have_no_violation_of_ours(
    app: str, open_page: Open, theme: str
) -> None:
    page = replay(
        open_page(color_scheme=theme), app, "responses-dropped-tokens-long-vllm-0.13.0&token=30&to=44"
    )
    assert violations(page) == []
    page.get_by_role("button", name="Client view").click()
    expect(page.locator(".client section")).to_have_count(2)
    assert violations(page) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_open_prompt_and_the_other_tabs_have_no_violation_of_ours(
    app: str, open_page: Open, theme: str
) -> None:
    page = replay(open_page(color_scheme=theme), app, "chat-raw-harmony-in-history-vllm-0.32.0")
    sections = page.locator(".st-key-replay_section")
    sections.get_by_text("Request").click()
    page.get_by_text("Prompt: 209 tokens").click()
    expect(page.locator(".prompt .message")).to_have_count(6)
    page.locator(".st-key-replay_prompt_ids label").click()
    expect(page.locator(".prompt .cell").first).to_be_visible()
    for name in ("Texts", "Timeline", "Events", "Request"):
        sections.get_by_text(name).click()
        assert violations(page) == [], name


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_table_of_captures_and_rejected_files_have_no_violation_of_ours(
    app: str, open_page: Open, theme: str
) -> None:
    page = replay(open_page(color_scheme=theme), app, "chat-whole-vllm-0.14.1")
    bad = [FilePayload(name=f"{name}.json", mimeType="text/plain", buffer=b"{}") for name in ("a", "b")]
    page.locator("input[type=file]").set_input_files(bad)
    expect(page.get_by_role("button", name="Details")).to_be_visible()
    assert violations(page) == []
    page.get_by_role("button", name="All captures").click()
    expect(page.get_by_role("dialog").get_by_role("table")).to_be_visible()
    assert violations(page) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_live_after_a_run_has_no_violation_of_ours(app: str, open_page: Open, theme: str) -> None:
    page = open_page(color_scheme=theme)
    page.goto(f"{app}live")
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert violations(page) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(
    ("path", "ready"),
    [
        ("compare", ".hi[data-ready]"),
        ("matrix?class=calls&release=0.14.1&script=tool_call", ".matrix [aria-selected]"),
        ("library", ".rows table"),
    ],
)
def test_compare_matrix_and_library_have_no_violation_of_ours(
    app: str, open_page: Open, path: str, ready: str, theme: str
) -> None:
    page = open_page(color_scheme=theme)
    page.goto(f"{app}{path}")
    page.wait_for_selector(ready)
    assert violations(page) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_probe_has_no_violation_of_ours_and_opens_a_damaged_stream_in_replay(
    app: str, open_page: Open, theme: str
) -> None:
    page = open_page(color_scheme=theme)
    page.goto(f"{app}probe")
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.get_by_role("heading", name="Damaged, failed and unknown responses")).to_be_visible()
    damaged = page.get_by_role("table", name="Responses that were damaged, failed, or could not be checked")
    expect(damaged).to_be_visible()
    assert violations(page) == []
    damaged.get_by_role("cell", name="✕ silently damaged").first.click()
    expect(page.locator(".hi[data-ready]")).to_be_visible()
    assert re.search(r"capture=damaged-chat-(?:4-)?000\d\d", page.url)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_diagnose_has_no_violation_of_ours(app: str, open_page: Open, theme: str) -> None:
    page = open_page(color_scheme=theme)
    page.goto(f"{app}diagnose")
    assert violations(page) == []
    page.get_by_role("textbox").first.fill("Unexpected token 12606 while expecting start token 200006")
    page.get_by_role("button", name="Diagnose").click()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert violations(page) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_focus_is_seen_in_the_sidebar_also_on_the_open_page(
    app: str, open_page: Open, theme: str
) -> None:
    page = replay(open_page(color_scheme=theme), app, "chat-whole-vllm-0.14.1")
    for name in ("Replay", "Live"):
        link = page.get_by_test_id("stSidebarNavLink").filter(has_text=name)
        link.focus()
        page.keyboard.press("Shift+Tab")
        page.keyboard.press("Tab")
        expect(link).to_be_focused()
        style = link.evaluate(
            "one => [getComputedStyle(one).outlineStyle, getComputedStyle(one).outlineWidth]"
        )
        assert style == ["solid", "2px"]
