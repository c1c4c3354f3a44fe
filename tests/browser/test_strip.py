"""The token strip alone, in a real browser: what is drawn, what is not, and what the keys do."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from playwright.sync_api import Page, expect

import inspector
from inspector import dashboard
from inspector.views.growth import unchanged
from tests.browser.conftest import show
from tests.support.streams import chat
from tests.support.strips import LEAK, built_in, payload, selected

pytestmark = pytest.mark.browser

Mount = Callable[..., Page]


def uncounted(name: str) -> inspector.Capture:
    """A built-in capture of Responses without the server's token count, by which tokens are reconstructed."""
    (capture,) = inspector.load(next(one.path for one in dashboard.builtin() if one.name == name))
    events = []
    for event in capture.events:
        told = json.loads(event.data) if event.data.startswith("{") else {}
        if isinstance(told.get("response"), dict):
            told["response"].pop("usage", None)
        events.append(event._replace(data=json.dumps(told)) if told else event)
    return replace(capture, events=events)


def long_stream(count: int) -> dict[str, Any]:
    """A payload of any length, each event with one token; made here because reading as many takes longer."""
    ids = [200005, 35644, 200008, *[1000 + place % 700 for place in range(count - 4)], 200002]
    vocab = {str(one): [f" w{one}" if one < 200000 else f"<{one}>", "20"] for one in set(ids)}
    message = {"kind": "message", "start": 0, "body": 3, "end": count, "role": "assistant"}
    message |= {"channel": "final", "recipient": None, "content_type": None, "complete": True, "reason": ""}
    return {
        "key": f"long {count}",
        "unit": "token",
        "count": count,
        "ids": ids,
        "vocab": vocab,
        "texts": {},
        "events": {
            "index": list(range(count)),
            "start": list(range(count)),
            "at": [place * 0.01 for place in range(count)],
        },
        "blocks": [message],
        "ribbons": [{"label": "vLLM", "runs": [[3, count - 1, "content", "ok"]]}],
        "findings": [],
        "kinds": {},
        "first_at": 0.0,
        "last_at": count * 0.01,
        "finish": "stop",
    }


def test_every_token_stands_over_its_id_and_its_delivery(mount: Mount) -> None:
    page = mount(built_in(LEAK))
    expect(page.locator(".cell")).to_have_count(32)
    cell = page.locator("#cell-21")
    expect(cell.locator(".text")).to_have_text('{"')
    expect(cell.locator(".id")).to_have_text("10848")
    labels = [label for label in page.locator(".row .ribbon").all_text_contents() if label]
    assert labels == ["in content", "not delivered", "tool arguments"]
    assert page.locator(".cell.wrong").evaluate_all("cells => cells.map(cell => Number(cell.dataset.i))") == [
        4,
        5,
        21,
    ]
    assert page.locator(".head .title").all_text_contents() == [
        "analysis",
        "commentary → functions.get_weather",
    ]
    assert page.locator(".cell.marker").count() == 8
    assert (
        page.locator(".cell.header")
        .first.locator(".text")
        .evaluate("text => getComputedStyle(text).fontStyle")
        == "italic"
    )


def test_choosing_a_finding_shows_both_sides_and_tells_python(mount: Mount) -> None:
    page = mount(built_in(LEAK))
    page.locator(".findings button", has_text="dropped").click()
    assert selected(page) == "cell-21"
    sides = page.locator(".finding .side-text .text")
    expect(sides.nth(0).locator("mark")).to_have_text('{"')
    expect(sides.nth(1)).to_have_text('missingcity":"Paris","unit":"celsius"}')
    expect(page.locator(".token dd.bad")).to_have_text("not delivered")
    page.wait_for_function("told.length === 1")
    told = page.evaluate("told[0]")
    assert (told["key"], told["token"], told["finding"]) == (LEAK, 21, 1)


def test_the_keys_move_by_token_row_message_and_finding(mount: Mount) -> None:
    page = mount(built_in(LEAK))
    page.locator(".scroller").focus()
    for key, cell in (
        ("Home", 0), ("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", 31),
        ("[", 7), ("[", 0), ("]", 7), ("n", 21), ("p", 4), ("Home", 0), ("ArrowLeft", 0),
    ):  # fmt: skip
        page.keyboard.press(key)
        assert selected(page) == f"cell-{cell}", key
    page.keyboard.press("ArrowDown")
    below = selected(page)
    page.keyboard.press("ArrowUp")
    assert (below, selected(page)) == ("cell-7", "cell-0")
    page.keyboard.press("g")
    page.keyboard.type("21")
    page.keyboard.press("Enter")
    assert selected(page) == "cell-21"
    page.keyboard.press("?")
    expect(page.locator("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_be_hidden()
    page.keyboard.press("ArrowRight")
    assert selected(page) == "cell-22", "the focus is back on the tokens"
    expect(page.locator(".readout")).to_contain_text("token 22")


def test_keys_work_without_a_click_into_the_strip(mount: Mount) -> None:
    page = mount(built_in(LEAK))
    page.evaluate("document.activeElement?.blur()")
    page.keyboard.press("n")
    assert selected(page) == "cell-4"
    page.evaluate("document.getElementById('host').shadowRoot.activeElement?.blur()")
    page.keyboard.press("ArrowRight")
    assert selected(page) == "cell-5"
    field = "Object.assign(document.createElement('input'), {id: 'own'})"
    page.evaluate(f"document.body.append({field}); document.getElementById('own').focus()")
    page.keyboard.type("npg?/")
    assert page.locator("#own").input_value() == "npg?/", "a field of the page keeps its keys"
    assert selected(page) == "cell-5"
    page.evaluate("document.getElementById('own').remove()")
    page.locator("[data-do=help-open]").click()
    expect(page.locator("dialog")).to_be_visible()
    page.keyboard.press("Escape")


def test_buttons_step_through_the_findings_and_say_where_they_are(mount: Mount) -> None:
    page = mount(built_in(LEAK))
    at = page.locator("[data-part=finding-at]")
    expect(at).to_have_text("3 findings")
    page.locator("[data-do=finding-next]").click()
    expect(at).to_have_text("1 of 3 findings")
    page.locator("[data-do=finding-next]").click()
    expect(at).to_have_text("2 of 3 findings")
    assert selected(page) == "cell-21"
    page.locator("[data-do=finding-back]").click()
    expect(at).to_have_text("1 of 3 findings")


def test_find_goes_from_match_to_match_and_marks_them(mount: Mount) -> None:
    page = mount(built_in(LEAK))
    page.keyboard.press("Control+f")
    page.keyboard.type("WEATHER")
    count = page.locator("[data-part=find-count]")
    expect(count).to_have_text("1 of 2")
    assert selected(page) == "cell-4"
    hits = page.locator(".cell.hit")
    assert hits.evaluate_all("cells => cells.map(cell => Number(cell.dataset.i))") == [4, 16]
    page.keyboard.press("Enter")
    expect(count).to_have_text("2 of 2")
    assert selected(page) == "cell-16"
    page.keyboard.press("Shift+Enter")
    expect(count).to_have_text("1 of 2")
    page.locator("[data-part=find-words]").fill("")
    page.get_by_role("checkbox", name="not delivered").check()
    expect(hits).to_have_count(1)
    assert selected(page) == "cell-21"
    page.keyboard.press("Escape")
    expect(page.locator(".find")).to_be_hidden()
    expect(hits).to_have_count(0)
    page.keyboard.press("ArrowRight")
    assert selected(page) == "cell-22", "the focus is back on the tokens"


def test_find_reaches_tokens_that_are_not_drawn(mount: Mount) -> None:
    page = mount(long_stream(5000))
    page.keyboard.press("/")
    page.keyboard.type("200002")
    expect(page.locator("[data-part=find-count]")).to_have_text("1 of 1")
    expect(page.locator("#cell-4999")).to_be_visible()


def test_buttons_copy_ids_and_texts(mount: Mount) -> None:
    page = mount(built_in(LEAK))
    copied = "window.copied = []; document.execCommand = () => copied.push(document.activeElement.value)"
    page.evaluate(f"{copied}; true")
    page.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined, configurable: true})")
    id_button = page.locator("[data-copy=id]")
    expect(id_button).to_be_disabled()
    page.locator("#cell-21").click()
    id_button.click()
    expect(id_button).to_have_attribute("data-done", "copied")
    page.locator("[data-copy=message-text]").click()
    page.wait_for_function("copied.length === 2")
    assert page.evaluate("copied") == ["10848", '{"city":"Paris","unit":"celsius"}']


def test_hover_shows_what_focus_shows_and_gives_it_back(mount: Mount) -> None:
    page = mount(built_in(LEAK), token=21)
    chosen = page.locator(".token").inner_text()
    page.locator("#cell-4").hover()
    expect(page.locator(".token h2")).to_have_text("Token 4")
    hovered = page.locator(".token").inner_text()
    page.mouse.move(5, 5)
    expect(page.locator(".token h2")).to_have_text("Token 21")
    assert page.locator(".token").inner_text() == chosen
    page.locator(".scroller").focus()
    page.evaluate("strip.select(4)")
    assert page.locator(".token").inner_text() == hovered


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
    page = mount(payload(inspector.loads(b"[200005, 17196, 200008, 12194, 200002]", "ids.json")[0]))
    expect(page.locator(".pace")).to_contain_text("12 tokens per second")
    page.evaluate("strip.time.moveTo(3)")
    assert page.evaluate("strip.time.place / strip.time.axis.length") == pytest.approx(0.6)


def test_a_capture_that_shows_nothing_says_so(mount: Mount) -> None:
    page = mount(payload(chat([], finish=None, done=False)))
    expect(page.locator(".scroller")).to_contain_text("no tokens and no delivered text")
    expect(page.locator(".bar")).to_be_hidden()
    expect(page.locator(".token")).to_be_hidden()
    page.locator(".scroller").focus()
    for key in ("ArrowRight", "ArrowDown", "End", "n", "p", "[", "]", " "):
        page.keyboard.press(key)
    assert selected(page) is None


def test_rows_break_at_line_feeds_on_request(mount: Mount) -> None:
    steps = [("<|channel|>final<|message|>", {}), ("a\nb\nc", {"content": "a\nb\nc"}), ("<|return|>", {})]
    page = mount(payload(chat(steps)))
    rows = page.locator(".row")
    expect(rows).to_have_count(1)
    page.get_by_label("break at ↵").check()
    expect(rows).to_have_count(3)
    assert mount(built_in(LEAK)).get_by_label("break at ↵").is_hidden()


def test_only_what_is_in_sight_is_in_the_page(mount: Mount) -> None:
    page = mount(long_stream(131_072))
    nodes = "document.getElementById('host').shadowRoot.querySelectorAll('*').length"
    assert page.evaluate(nodes) < 4000
    scroller = page.locator(".scroller")
    height = scroller.evaluate("one => one.scrollHeight")
    page.locator(".scroller").focus()
    page.keyboard.press("End")
    assert selected(page) == "cell-131071"
    expect(page.locator("#cell-131071")).to_be_in_viewport()
    assert page.evaluate(nodes) < 4000
    assert scroller.evaluate("one => one.scrollHeight") == height, "the height was right from the start"
    page.keyboard.press("g")
    page.keyboard.type("65536")
    page.keyboard.press("Enter")
    expect(page.locator("#cell-65536")).to_be_in_viewport()


def test_cells_never_overlap_nor_leave_their_row(mount: Mount) -> None:
    drawn = built_in("responses-dropped-tokens-long-vllm-0.13.0")
    for width in (1100, 400):
        page = mount(drawn, width=width)
        for place in (0, 3000, 9000):
            page.locator(".scroller").evaluate("(one, top) => { one.scrollTop = top; }", place)
            page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
            wrong = page.evaluate(
                """() => [...strip.view.rows.values()].flatMap(row => {
                  const boxes = row.cells.map(cell => cell.element.getBoundingClientRect());
                  const right = strip.view.scroller.getBoundingClientRect().right;
                  const texts = row.cells.map(cell => cell.element.querySelector(".text"));
                  return boxes.filter((box, k) => (k && box.left < boxes[k - 1].right) || box.right > right)
                    .concat(texts.filter(text => text.scrollWidth > text.clientWidth + 1));
                }).length"""
            )
            assert wrong == 0, (width, place)


HOSTILE = {
    "markup": "<script>alert(1)</script><img src=x onerror=alert(2)>",
    "bidi": "abc\u202edcba\u2066x",
    "controls": "\0\x07\x1b[31m\r",
    "zero width": "a\u200bb\u200d\ufeff",
    "surrogate": "\ud83d",
    "template": "${alert(3)} {{x}} javascript:alert(4)",
    "long": "x" * 100_000,
    "spaces": " " * 5000 + "\n" * 40,
    "emoji": "👩\u200d🚀 ❤\ufe0f",
    "marks": "\u0301" * 50,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_is_shown_as_text_everywhere(mount: Mount, text: str) -> None:
    steps = [("<|channel|>final<|message|>", {}), ("Hi", {"content": "Hi"}), (".", {}), ("<|return|>", {})]
    drawn = payload(chat(steps))
    drawn["texts"] = {"3": text}
    drawn["blocks"][0] |= {"recipient": text, "content_type": text, "role": text}
    drawn["ribbons"][0]["label"] = text
    drawn["findings"][0] |= {
        "explanation": text,
        "line": text,
        "title": text,
        "generated": text,
        "delivered": text,
    }
    page = mount(drawn, finding=0, token=3)
    inside = page.locator("#host")
    assert (
        inside.evaluate("host => host.shadowRoot.querySelectorAll('script, img, iframe, [onerror]').length")
        == 0
    )
    shown = page.locator("#cell-3 .text").inner_text()
    assert not set(shown) & set("\u202e\u2066\0\x07\x1b\r\u200b\ufeff\ud83d")
    assert page.locator("#cell-3").evaluate("cell => cell.getBoundingClientRect().width") < 1100
    assert page.evaluate("document.documentElement.scrollWidth") <= 1100


def test_control_and_bidi_characters_are_named_and_split_characters_are_bytes(mount: Mount) -> None:
    drawn = payload(
        chat([("<|channel|>final<|message|>", {}), ("Hi.", {"content": "Hi."}), ("<|return|>", {})])
    )
    drawn["vocab"]["12194"] = [None, "f09f"]
    drawn["texts"] = {"3": "", "4": "a\u202e\u200d b\n"}
    page = mount(drawn, token=4)
    assert page.locator("#cell-3 .text").inner_text() == "F0 9F"
    assert page.locator("#cell-4 .name").all_text_contents() == ["RLO", "ZWJ"]
    assert page.locator("#cell-4 .text").inner_text() == "aRLOZWJ·b↵"


def test_an_id_outside_the_vocabulary_is_shown_with_its_number(mount: Mount) -> None:
    page = mount(
        payload(inspector.loads(b"[200005, 17196, 200008, 999999, -5, 200002]", "ids.json")[0]), token=3
    )
    expect(page.locator("#cell-3")).to_contain_text("not in vocabulary999999")
    expect(page.locator("#cell-4")).to_contain_text("-5")
    expect(page.locator(".token")).to_contain_text("not in the vocabulary")


def test_a_refused_run_stands_in_a_block_of_its_own_with_the_parsers_words(mount: Mount) -> None:
    page = mount(built_in("chat-unknown-role-swallowed-vllm-0.32.0"))
    block = page.locator(".block[data-hue=loss]")
    expect(block.locator(".title")).to_have_text("rejected by the parser")
    expect(block.locator(".words")).to_have_text("“Unknown role: assistantary”")
    expect(block.locator(".meta")).to_contain_text("nothing after this was parsed")
    page.locator(".findings button", has_text="bad header").click()
    expect(page.locator(".finding .side-text", has_text="parser error")).to_contain_text(
        "Unknown role: assistantary"
    )


def test_without_token_ids_the_delivered_pieces_are_the_cells(mount: Mount) -> None:
    page = mount(payload(uncounted("responses-dropped-tokens-vllm-0.13.0")))
    assert page.locator(".head .title").all_text_contents() == ["reasoning", "content"]
    assert page.locator(".cell .id").count() == 0
    assert "not delivered" in page.locator(".row .ribbon").all_text_contents()
    expect(page.locator(".token h2")).to_have_text("Piece")
    expect(page.locator(".findings .place").first).to_have_text(re.compile(r"^events? \d"))


def test_two_servers_are_two_ribbons_under_one_row_of_tokens(mount: Mount) -> None:
    drawn = built_in(LEAK)
    drawn["ribbons"].append(
        {
            "label": "vLLM 0.32.0",
            "runs": [[3, 6, "reasoning", "ok"], [21, 31, "tool_calls[0].arguments", "ok"]],
        }
    )
    page = mount(drawn, token=4)
    assert page.locator(".lane-key").all_text_contents() == ["A", "B"]
    expect(page.locator(".token")).to_contain_text("vLLM 0.14.1")
    expect(page.locator(".token")).to_contain_text("in content, not in reasoning")
    assert page.locator(".row .ribbon.ok").count() > page.locator(".row .ribbon.misrouted").count()


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
        runs = [
            [a, min(b, end), field, state] for a, b, field, state in drawn["ribbons"][0]["runs"] if a < end
        ]
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
                "ribbons": [{"label": drawn["ribbons"][0]["label"], "from": 0, "runs": runs}],
                "findings": drawn["findings"] if end == drawn["count"] else [],
            }
        )  # fmt: skip
        start = end
    return found


def test_a_strip_that_grew_looks_like_one_that_was_drawn_whole(mount: Mount) -> None:
    drawn = built_in(LEAK)
    whole = mount(drawn).locator(".canvas").inner_text()
    empty = drawn | {"count": 0, "ids": [], "blocks": [], "ribbons": [], "findings": []}
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
      if (model.lanes.some((lane) => lane.at.values[cell] >= 0) && !layout.rowTall[row]) found.push(cell);
  return found;
}"""


def test_ribbons_that_are_told_after_their_tokens_have_room(mount: Mount) -> None:
    drawn = built_in(LEAK)
    empty = drawn | {"count": 0, "ids": [], "blocks": [], "ribbons": [], "findings": []}
    empty["events"] = {"index": [], "start": [], "at": []}
    page = mount(empty)
    told = 0
    for columns in pieces_of(drawn, [2, 22]):  # the first look finds no text yet
        [lane] = columns["ribbons"]
        page.evaluate("columns => strip.append(columns)", columns | {"ribbons": [], "findings": []})
        # As the audit tells them: runs that stay are counted, the last may have grown.
        kept = max(min(told, len(lane["runs"])) - 1, 0)
        ribbons = [{"label": lane["label"], "from": kept, "runs": lane["runs"][kept:]}]
        look = unchanged(columns["count"]) | {"ribbons": ribbons, "findings": columns["findings"]}
        page.evaluate("columns => strip.append(columns)", look)
        told = len(lane["runs"])
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
