"""The token strip alone, in a real browser: what is drawn, what is not, and what the keys do."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from playwright.sync_api import Page, expect

import inspector
from inspector.files.store import builtin
from inspector.views.strip.complete import tables
from tests.support.streams import chat
from tests.support.strips import LEAK, built_in, payload, selected

Mount = Callable[..., Page]


def uncounted(name: str) -> inspector.Capture:
    """A built-in capture of Responses without the server's token count, by which tokens are reconstructed."""
    capture = inspector.load(next(one.path for one in builtin() if one.name == name))
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
        "unsent": [],
        "pipelines": [
            {
                "server": "vLLM",
                "lanes": [{"field": "content", "label": "answer", "pieces": [[3, count - 1, None, ""]]}],
                "fates": [[0, 3, "framing", None, None, ""], [3, count - 1, "delivered", 0, 0, ""]],
            }
        ],
        "findings": [],
        **tables(),
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


def test_keys_that_mean_nothing_in_the_strip_stay_the_browsers(mount: Mount) -> None:
    page = mount(built_in(LEAK), token=4)
    focused = "strip.root.getRootNode().activeElement?.dataset.part ?? null"
    for view in ("scroller", "client"):
        page.locator(f".{view}").focus()
        page.evaluate(
            "window.copied = 0; document.addEventListener('copy', () => window.copied++, { once: true })"
        )
        page.keyboard.press("Control+c")
        assert page.evaluate("window.copied") == 1
        page.keyboard.press("Control+f")
        assert page.evaluate(focused) == "find-words"
        page.keyboard.press("Escape")
        page.locator(f".{view}").focus()
        page.keyboard.press("Tab")
        assert page.evaluate(focused) != view
        page.keyboard.press("v")


def test_buttons_step_through_the_findings_and_say_where_they_are(mount: Mount) -> None:
    page = mount(built_in(LEAK))
    at = page.locator("[data-part=finding-at]")
    expect(at).to_be_hidden()  # all of them are in view
    page.set_viewport_size({"width": 420, "height": 900})
    expect(at).to_have_text("3 findings")
    page.locator("[data-do=finding-next]").click()
    expect(at).to_have_text("1 of 3")
    page.locator("[data-do=finding-next]").click()
    expect(at).to_have_text("2 of 3")
    assert selected(page) == "cell-21"
    page.locator("[data-do=finding-back]").click()
    expect(at).to_have_text("1 of 3")


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
    drawn["pipelines"][0]["server"] = text
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
        payload(inspector.loads(b"[200005, 17196, 200008, 999999, -5, 200002]", "ids.json")), token=3
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


def test_a_finding_that_is_not_about_delivery_says_nothing_of_what_was_delivered(mount: Mount) -> None:
    page = mount(payload(inspector.loads(b"[200005, 17196, 200008, 13225, 1354]", "ids.json")))
    page.locator(".scroller").press("n")
    panel = page.locator("aside.finding")
    expect(panel).to_contain_text("generated by the model")
    expect(panel).not_to_contain_text("delivered")
    expect(panel).not_to_contain_text("missing")
