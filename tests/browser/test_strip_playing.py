"""Playing the token strip: moments, scrubbing, pauses, captures without times."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

import inspector
from tests.browser.conftest import show
from tests.support.streams import chat
from tests.support.strips import LEAK, built_in, payload, selected

Mount = Callable[..., Page]


def test_a_moment_shows_what_was_known_then(mount: Mount) -> None:
    page = mount(built_in(LEAK))
    drawn = page.locator(".cell:not(.ghost)")
    page.evaluate("strip.time.moveTo(4)")
    expect(drawn).to_have_count(4)
    expect(page.locator(".findings .none")).to_have_text("none at this time")
    expect(page.locator(".clock")).to_have_text("4 of 32 tokens · 38 ms")
    expect(page.locator(".block:not(.absent) .title")).to_have_text(["analysis"])
    page.get_by_role("button", name="Next token").click()
    expect(drawn).to_have_count(5)
    expect(page.locator(".findings button:visible")).to_have_count(1)
    page.get_by_role("button", name="Previous token").click()
    page.get_by_role("button", name="Previous token").click()
    expect(drawn).to_have_count(3)
    expect(page.locator(".block:not(.absent) .title")).to_have_text(["header: analysis"])
    page.get_by_role("button", name="show all tokens").click()
    expect(drawn).to_have_count(32)


def test_scrubbing_shows_whole_events_up_to_the_moment(mount: Mount) -> None:
    page = mount(built_in(LEAK))
    page.get_by_role("slider").evaluate(
        "slider => { slider.value = 5000; slider.dispatchEvent(new Event('input')); }"
    )
    shown = page.evaluate("strip.time.shown")
    starts = page.evaluate("strip.model.events.start")
    assert shown in starts
    assert page.evaluate("strip.time.seconds") <= 0.145 / 2


def test_playing_ends_with_everything_shown_and_pausing_stops_it(mount: Mount) -> None:
    page = mount(built_in(LEAK))
    page.locator(".scroller").focus()
    page.get_by_label("Speed").select_option("max")
    page.keyboard.press("Tab")
    page.locator(".scroller").focus()
    page.keyboard.press(" ")
    page.wait_for_function("strip.time.shown > 0 && strip.time.shown < 32")
    page.keyboard.press(" ")
    paused = page.evaluate("strip.time.shown")
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert page.evaluate("strip.time.shown") == paused
    page.get_by_role("button", name="play").click()
    page.wait_for_function("strip.time.shown === 32 && !strip.time.playing")


def test_idle_gaps_are_shortened_on_request(mount: Mount) -> None:
    steps = [("<|channel|>final<|message|>", {}), ("Hi", {"content": "Hi"}), ("<|return|>", {})]
    page = mount(payload(chat(steps, gap_s=4.0)))
    assert page.evaluate("strip.time.axis.length") == pytest.approx(12)
    page.get_by_label("shorten pauses").check()
    assert page.evaluate("strip.time.axis.length") == pytest.approx(1.5)
    expect(page.locator(".clock")).to_contain_text("12.0 s")


def test_a_capture_without_times_says_so_and_plays_by_event(mount: Mount) -> None:
    drawn = built_in(LEAK)
    drawn["events"]["at"] = None
    page = mount(drawn)
    expect(page.locator(".pace")).to_contain_text("no times in this capture")
    expect(page.locator(".clock")).to_have_text("32 tokens")
    page.get_by_label("Speed").select_option("max")
    page.get_by_role("button", name="play").click()
    page.wait_for_function("strip.time.shown > 0 && strip.time.shown < 32")
    page.wait_for_function("strip.time.shown === 32")


def test_a_list_of_ids_plays_token_by_token(mount: Mount) -> None:
    page = mount(payload(inspector.loads(b"[200005, 17196, 200008, 12194, 200002]", "ids.json")))
    expect(page.locator(".pace")).to_contain_text("12 tokens per second")
    page.evaluate("strip.time.moveTo(3)")
    assert page.evaluate("strip.time.place / strip.time.axis.length") == pytest.approx(0.6)


def test_a_capture_that_shows_nothing_says_so(mount: Mount) -> None:
    nothing = payload(chat([], finish=None, done=False))
    page = mount(nothing, feed="none")
    expect(page.locator(".scroller")).to_have_text("Waiting for the first token.")
    show(page, {**nothing, "findings": []}, feed=None, digest="ended")
    expect(page.locator(".scroller")).to_contain_text("no tokens and no delivered text")
    expect(page.locator(".bar")).to_be_hidden()
    expect(page.locator(".token")).to_be_hidden()
    page.locator(".scroller").focus()
    for key in ("ArrowRight", "ArrowDown", "End", "n", "p", "[", "]", " "):
        page.keyboard.press(key)
    assert selected(page) is None
