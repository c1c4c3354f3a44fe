"""Time in the strip: paces, repeating, ranges of tokens."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.support.strips import LEAK, built_in, goto, query, selected

Mount = Callable[..., Page]
Open = Callable[..., Page]


def drag(page: Page, start: int, end: int) -> None:
    boxes = [page.locator(f"#cell-{cell}").bounding_box() for cell in (start, end)]
    (x, y), (to_x, to_y) = [
        (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) for box in boxes if box is not None
    ]
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move((x + to_x) / 2, (y + to_y) / 2)
    page.mouse.move(to_x, to_y)
    page.mouse.up()


def test_a_short_capture_plays_over_some_seconds_unless_a_speed_is_chosen(mount: Mount) -> None:
    page = mount(built_in(LEAK))
    expect(page.get_by_label("Speed").locator("option:checked")).to_have_text("auto: 6 s")
    page.get_by_role("button", name="play").click()
    page.wait_for_timeout(1500)
    assert 0 < page.evaluate("strip.time.shown") < 24, "a 145 ms capture at its own speed were over"
    page.get_by_label("Speed").select_option("0.01")
    expect(page.get_by_role("button", name="play")).to_be_visible()
    before = page.evaluate("strip.time.place")
    page.get_by_role("button", name="play").click()
    page.wait_for_timeout(1000)
    assert 0 < page.evaluate("strip.time.place") - before < 0.05


def test_a_click_or_the_space_bar_shows_one_more_event_or_token(mount: Mount) -> None:
    page = mount(built_in(LEAK))
    starts = page.evaluate("strip.model.events.start")
    page.get_by_label("Speed").select_option("event/0")
    step = page.get_by_role("button", name="step", exact=True)
    step.click()
    assert page.evaluate("strip.time.shown") == starts[1]
    step.click()
    assert page.evaluate("strip.time.shown") == starts[2]
    assert selected(page) == f"cell-{starts[2] - 1}"
    page.get_by_label("Speed").select_option("token/0")
    page.locator(".scroller").press(" ")
    assert page.evaluate("strip.time.shown") == starts[2] + 1
    assert not page.evaluate("strip.time.playing")


def test_events_come_one_after_the_other_at_an_even_pace(mount: Mount) -> None:
    page = mount(built_in(LEAK))
    starts = page.evaluate("strip.model.events.start")
    page.get_by_label("Speed").select_option("event/12")
    page.get_by_role("button", name="play").click()
    page.wait_for_function("strip.time.shown > 0")
    seen = page.evaluate(
        """() => new Promise(done => { const seen = new Set(); const look = () => {
             seen.add(strip.time.shown);
             if (strip.time.playing) requestAnimationFrame(look); else done([...seen]);
           }; look(); })"""
    )
    assert set(seen) <= {*starts, 32}
    assert len(seen) > 8


def test_a_range_is_played_over_and_over(mount: Mount) -> None:
    page = mount(built_in(LEAK))
    page.locator("#cell-7").click()
    page.locator("#cell-12").click(modifiers=["Shift"])
    page.get_by_role("button", name="Repeat").click()
    expect(page.get_by_role("button", name="Repeat")).to_have_attribute("aria-pressed", "true")
    page.get_by_label("Speed").select_option("token/12")
    page.get_by_role("button", name="play").click()
    seen = page.evaluate(
        """() => new Promise(done => { const seen = []; const look = () => {
             if (seen.at(-1) !== strip.time.shown) seen.push(strip.time.shown);
             if (seen.length < 12) requestAnimationFrame(look); else done(seen);
           }; look(); })"""
    )
    assert set(seen) <= set(range(7, 14)) | {32}
    assert seen.count(13) >= 1
    assert seen[seen.index(13) + 1] == 7, "from its end it goes back to its beginning"
    page.get_by_role("button", name="pause").click()
    assert page.evaluate("strip.selection.range") == {"start": 7, "end": 13}


def test_a_drag_selects_a_range_and_shows_its_time_speed_and_text(mount: Mount) -> None:
    page = mount(built_in(LEAK))
    drag(page, 22, 26)
    expect(page.locator(".token h2")).to_have_text("Tokens 22–26")
    page.mouse.move(5, 5)
    panel = page.locator(".token dl")
    expect(panel).to_contain_text("tokens5")
    expect(panel).to_contain_text("tokens/s")
    expect(panel).to_contain_text('city":"Paris","')
    assert page.locator(".scroller [aria-selected=true]").count() == 5
    expect(page.locator(".readout")).to_contain_text("5 tokens selected, 22 to 26")
    page.wait_for_function("told.at(-1)?.to === 22")
    assert page.evaluate("told.at(-1).token") == 26
    page.locator(".scroller").press("Escape")
    expect(page.locator(".token h2")).to_have_text("Token 26")


def test_shift_and_arrows_make_a_range_that_can_be_copied(mount: Mount) -> None:
    page = mount(built_in(LEAK), token=22)
    for _ in range(3):
        page.locator(".scroller").press("Shift+ArrowRight")
    assert page.evaluate("strip.selection.range") == {"start": 22, "end": 26}
    copied = page.evaluate(
        """() => { const data = new DataTransfer();
             const event = new ClipboardEvent("copy", { clipboardData: data, cancelable: true });
             strip.elements.scroller.dispatchEvent(event);
             return data.getData("text/plain"); }"""
    )
    assert copied == 'city":"Paris","'
    page.locator(".scroller").press("ArrowLeft")
    assert page.evaluate("strip.selection.range") is None


def test_a_link_opens_the_same_range(app: str, open_page: Open) -> None:
    page = goto(open_page(), f"{app}?capture={LEAK}&token=26&to=22")
    expect(page.locator(".token h2")).to_have_text("Tokens 22–26")
    page.locator(".scroller").focus()
    page.keyboard.press("Shift+ArrowLeft")
    page.wait_for_url("**token=25&to=22")
    assert query(page) == {"capture": LEAK, "token": "25", "to": "22"}
    page.keyboard.press("Escape")
    page.wait_for_url("**token=25")


LONG = "responses-dropped-tokens-long-vllm-0.13.0"
ZOOM = "[strip.time.zoom.from, strip.time.zoom.until]"


def test_the_time_axis_zooms_by_keys_buttons_and_wheel(mount: Mount) -> None:
    page = mount(built_in(LONG), token=300)
    page.locator(".scroller").press("+")
    page.locator(".scroller").press("+")
    start, end = page.evaluate(ZOOM)
    assert end - start == pytest.approx(0.25)
    assert start < page.evaluate("strip.time.axis.placeOf(301) / strip.time.axis.length") < end
    page.get_by_role("button", name="Zoom out").click()
    start, end = page.evaluate(ZOOM)
    assert end - start == pytest.approx(0.5)
    box = page.locator(".track").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 10)
    page.mouse.wheel(0, -400)
    page.wait_for_function(f"{ZOOM}[1] - {ZOOM}[0] < 0.4")
    before = page.evaluate(ZOOM)
    page.mouse.wheel(200, 0)
    page.wait_for_function(f"{ZOOM}[0] > {before[0]}")
    page.locator(".scroller").press("End")
    assert page.evaluate(ZOOM)[1] == pytest.approx(1), "what is chosen is in sight"
    page.get_by_role("button", name="Show the whole time").click()
    assert page.evaluate(ZOOM) == [0, 1]
    expect(page.get_by_role("button", name="Zoom out")).to_be_disabled()


def test_the_slider_counts_within_what_is_zoomed(mount: Mount) -> None:
    page = mount(built_in(LONG))
    page.evaluate("strip.time.zoom.show(0.5, 0.6)")
    page.get_by_role("slider").evaluate(
        "slider => { slider.value = 5000; slider.dispatchEvent(new Event('input')); }"
    )
    share = page.evaluate("strip.time.place / strip.time.axis.length")
    assert share == pytest.approx(0.55, abs=0.001)


def test_z_zooms_to_the_chosen_range(mount: Mount) -> None:
    page = mount(built_in(LONG), token=300, to=360)
    page.locator(".scroller").press("z")
    start, end = page.evaluate(ZOOM)
    first, last = page.evaluate("[301, 361].map(n => strip.time.axis.placeOf(n) / strip.time.axis.length)")
    assert start <= first < last <= end
    assert end - start < 1.2 * (last - first)


def test_the_minimap_shows_losses_and_moves_the_zoomed_stretch(mount: Mount) -> None:
    page = mount(built_in(LONG))
    loss = page.evaluate(
        """() => { const map = strip.elements.map, pen = map.getContext("2d");
             const { data } = pen.getImageData(0, 0, map.width, map.height);
             let red = 0, all = map.width * map.height;
             for (let at = 0; at < data.length; at += 4)
               if (data[at + 3] && data[at] > 150 && data[at + 1] < 110 && data[at + 2] < 60) red++;
             return red / all; }"""
    )
    assert 0.005 < loss < 0.35, "losses are drawn, and not as one solid bar"
    page.evaluate("strip.time.zoom.show(0, 0.1)")
    box = page.locator(".map").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] * 0.8, box["y"] + box["height"] / 2)
    assert page.evaluate(ZOOM) == [pytest.approx(0.75, abs=0.02), pytest.approx(0.85, abs=0.02)]


def test_equal_findings_are_one_group_that_opens(mount: Mount) -> None:
    page = mount(built_in(LONG))
    items = page.locator(".findings button")
    count = items.count()
    assert count < 12, "192 findings"
    group = page.locator(".findings button[aria-expanded]").last
    expect(group).to_contain_text("characters of content")
    group.click()
    expect(page.locator(".findings button[aria-expanded=true]")).to_have_count(1)
    assert items.count() > 100
    page.locator(".findings button[aria-expanded=true]").click()
    expect(items).to_have_count(count)
    page.evaluate("strip.choose(50)")
    expect(page.locator(".findings [aria-current] .place")).to_have_text("47 of 187")
    page.locator(".scroller").press("n")
    expect(page.locator(".findings [aria-current] .place")).to_have_text("48 of 187")


def test_a_drag_below_the_tokens_scrolls_them_and_takes_the_range_along(mount: Mount) -> None:
    page = mount(built_in("responses-dropped-tokens-long-vllm-0.13.0"))
    last = page.evaluate("strip.model.count - 1")
    box, cell = page.locator(".scroller").bounding_box(), page.locator("#cell-3").bounding_box()
    assert box is not None
    assert cell is not None
    page.mouse.move(cell["x"] + 3, cell["y"] + 3)
    page.mouse.down()
    page.mouse.move(cell["x"] + 3, box["y"] + box["height"] + 80, steps=4)
    page.wait_for_function(f"strip.selection.range?.end > {last // 2}")
    page.mouse.up()
    end = page.evaluate("strip.selection.range.end")
    assert page.evaluate("strip.selection.range.start") == 3
    assert page.evaluate("strip.elements.scroller.scrollTop") > 300
    page.wait_for_timeout(200)
    assert page.evaluate("strip.selection.range.end") == end, "it stops with the drag"
