"""Ways to look at a capture: folded messages, no headers, as a client shows it, probabilities, raw events."""

import json
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.support.strips import LEAK, built_in, goto, query, selected

Mount = Callable[..., Page]
Open = Callable[..., Page]


def test_messages_collapse_by_click_and_key_and_open_for_what_is_selected_in_them(mount: Mount) -> None:
    page = mount(built_in(LEAK))
    cells = page.locator(".cell")
    page.locator(".fold").first.click()
    expect(cells).to_have_count(25)
    expect(page.get_by_role("group", name="analysis, message 0 · assistant · 7 tokens")).to_have_attribute(
        "aria-label", "analysis, message 0 · assistant · 7 tokens · 23 ms, collapsed"
    )
    page.locator("#cell-7").click()
    page.keyboard.press("ArrowLeft")
    assert selected(page) == "cell-7", "nothing is shown before it"
    page.keyboard.press("n")
    page.keyboard.press("p")
    expect(cells).to_have_count(32)
    page.keyboard.press("Shift+C")
    expect(cells).to_have_count(0)
    expect(page.locator(".head .title")).to_have_count(2)
    page.keyboard.press("Shift+C")
    page.keyboard.press("c")
    expect(cells).to_have_count(25)
    page.keyboard.press("c")
    expect(cells).to_have_count(32)


def test_headers_are_hidden_on_request_and_steps_pass_over_them(mount: Mount) -> None:
    page = mount(built_in(LEAK), token=5)
    page.get_by_label("hide headers").check()
    expect(page.locator(".cell")).to_have_count(13)
    page.locator(".scroller").press("ArrowRight")
    assert selected(page) == "cell-21"
    page.locator(".scroller").press("Home")
    assert selected(page) == "cell-3"
    page.keyboard.press("g")
    page.keyboard.type("8")
    page.keyboard.press("Enter")
    expect(page.get_by_label("hide headers")).not_to_be_checked()
    assert selected(page) == "cell-8"


def test_the_response_is_shown_as_a_client_shows_it_with_what_was_lost(mount: Mount) -> None:
    page = mount(built_in(LEAK))
    view = page.get_by_role("button", name="Client view")
    view.click()
    expect(view).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".frame")).to_be_hidden()
    sections = page.locator(".client section")
    assert [text.split("\n") for text in sections.all_inner_texts()] == [
        ["Reasoning", "Need"],
        ["Answer", " weather."],
        ["Call of get_weather", "1 token missing", '{"city":"Paris","unit":"celsius"}'],
    ]
    expect(page.locator(".client del")).to_have_text('{"')
    assert page.locator(".client mark").all_text_contents() == [" weather", "."]
    page.locator(".client del").click()
    expect(page.locator(".token h2")).to_have_text("Token 21")
    expect(page.locator(".client del")).to_have_class("selected")
    page.locator(".client").press("ArrowRight")
    expect(page.locator(".client .selected")).to_have_text("city")
    page.keyboard.press("v")
    expect(page.locator(".frame")).to_be_visible()
    assert selected(page) == "cell-22"
    page.evaluate("strip.time.moveTo(6)")
    page.keyboard.press("v")
    expect(page.locator(".client section")).to_have_count(2)


def test_hostile_text_stays_text_as_a_client_shows_it(mount: Mount) -> None:
    drawn = built_in(LEAK)
    text = "<img src=x onerror=alert(1)>\u202e"
    drawn["texts"] = {"22": text}
    drawn["blocks"][1]["recipient"] = f"functions.{text}"
    page = mount(drawn)
    page.get_by_role("button", name="Client view").click()
    assert page.locator(".client img").count() == 0
    expect(page.locator(".client")).to_contain_text("<img src=x onerror=alert(1)>RLO")


def test_probabilities_stand_in_place_of_ids_with_the_alternatives_in_the_panel(mount: Mount) -> None:
    drawn = built_in(LEAK)
    assert mount(drawn).get_by_label("probabilities").is_hidden()
    values: list[float | None] = [None] * 32
    values[22:24] = [-0.01, -2.3]
    page = mount(drawn | {"logprobs": {"values": values, "top": {"23": [[" town", -0.2]]}}}, token=23)
    page.get_by_label("probabilities").check()
    expect(page.locator("#cell-22 .id")).to_have_text("99%")
    expect(page.locator("#cell-23 .id")).to_have_text("10%")
    expect(page.locator("#cell-24 .id")).to_have_text("72782")
    heat = "cell => getComputedStyle(cell).getPropertyValue('--heat')"
    assert page.locator("#cell-23").evaluate(heat) == "90%"
    expect(page.locator(".token dl")).to_contain_text("“·town”·82%")


def test_the_raw_event_of_the_selected_token_stands_beside_it(app: str, open_page: Open) -> None:
    page = goto(open_page(), f"{app}?capture={LEAK}&token=21")
    raw = page.locator("[data-part=raw] pre")
    expect(raw).to_contain_text("10848")
    event = json.loads(raw.inner_text())
    assert 10848 in event["choices"][0]["token_ids"]
    page.locator(".scroller").press("ArrowRight")
    expect(raw).to_contain_text("17500")
    expect(page.locator("[data-part=raw-title]")).to_have_text("Event 9, as received")
    assert page.locator(".st-key-replay_raw").is_hidden()


def test_a_link_opens_the_same_view(app: str, open_page: Open) -> None:
    page = goto(open_page(), f"{app}?capture={LEAK}&token=5")
    page.get_by_role("button", name="Client view").click()
    page.wait_for_url("**view=client")
    assert query(page) == {"capture": LEAK, "token": "5", "view": "client"}
    again = goto(open_page(), page.url)
    expect(again.locator(".client .selected")).to_have_text(".")
    expect(again.locator("[data-part=raw]")).to_contain_text("weather")


def test_what_is_selected_stands_clear_of_the_faded_rows(mount: Mount) -> None:
    page = mount(built_in("responses-dropped-tokens-long-vllm-0.13.0"), token=0)
    scroller = page.locator(".scroller")
    clear = """() => { const box = strip.view.scroller.getBoundingClientRect();
      const cell = strip.view.scroller.querySelector(".cell.selected").getBoundingClientRect();
      return [cell.top - box.top, box.bottom - cell.bottom]; }"""
    for _ in range(12):
        scroller.press("ArrowDown")
        above, below = page.evaluate(clear)
        assert above >= 0
        assert below >= 26
    page.evaluate("strip.choose(100)")
    above, below = page.evaluate(clear)
    assert min(above, below) > 100, "a finding stands in the middle"
    scroller.press("End")
    assert page.evaluate(clear)[1] >= 0


def test_bars_without_room_for_their_label_have_a_letter(mount: Mount) -> None:
    page = mount(built_in(LEAK))
    letters = "bars => bars.map(bar => bar.dataset.letter).filter(Boolean)"
    assert page.locator(".row .ribbon").evaluate_all(letters) == ["R", "T"]
    legend = "swatches => swatches.map(swatch => swatch.dataset.letter).filter(Boolean)"
    assert page.locator(".legend .swatch").evaluate_all(legend) == ["R", "T"]
