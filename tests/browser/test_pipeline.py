"""The picture of a stream on the page: what it says by itself, what a click chooses, and how it plays."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

import inspector
from inspector.files.store import FIXTURES
from inspector.views.report import html_report
from tests.browser.conftest import Watched, reader, show
from tests.support.builtin import CAPTURES
from tests.support.strips import built_in

Mount = Callable[..., Page]

FIRST = "chat-tool-call-leak-vllm-0.14.1"
PLAYED_WITHIN_MS = 9_000
WORDS_AT_MOST = 120
FOCUSED_AT_MOST = 14

ABOVE_THE_FOLD = """() => {
  const main = document.querySelector("[data-testid=stMain]");
  const inSight = ({ left, top, width, height }) => width && height && top < innerHeight && left >= 0;
  const words = [], focused = [];
  const walk = (root) => {
    for (const node of root.childNodes) {
      if (node.nodeType === Node.TEXT_NODE) {
        const range = document.createRange();
        range.selectNode(node);
        const shown = node.parentElement?.checkVisibility({ visibilityProperty: true });
        if (node.textContent.trim() && shown && inSight(range.getBoundingClientRect())) {
          words.push(...node.textContent.match(/\\S*[\\p{L}\\p{N}]\\S*/gu) ?? []);
        }
      } else if (node instanceof Element && !node.matches("style, script, [data-testid=stIconMaterial]")) {
        const shown = node.checkVisibility({ visibilityProperty: true });
        if (node.tabIndex >= 0 && !node.disabled && shown && inSight(node.getBoundingClientRect())) {
          focused.push(node.outerHTML.slice(0, 80));
        }
        walk(node.shadowRoot ?? node);
      }
    }
  };
  walk(main);
  return { words, focused };
}"""


def opened(page: Page, address: str, capture: str = FIRST) -> None:
    page.goto(f"{address}replay?capture={capture}")
    page.wait_for_selector(".hi[data-ready]")


def of_strip(page: Page, expression: str) -> Any:
    """A value of the strip, which stands in a shadow tree."""
    return page.locator(".hi").evaluate(f"({{ strip }}) => {expression}")


def state(page: Page) -> dict[str, Any]:
    values = "shown: strip.time.shown, playing: strip.time.playing, token: strip.selection.token"
    return dict(of_strip(page, f"({{ count: strip.model.count, {values} }})"))


def place(page: Page, cell: int, lane: int) -> tuple[float, float]:
    """The middle of a cell's box in a lane, on the screen."""
    x, y = page.locator(".hi").evaluate(
        """({ strip: { figure } }, [cell, lane]) => {
          const { left, top } = figure.canvas.getBoundingClientRect();
          const slot = figure.slots.slot(figure.slots.slotOf[cell]);
          const x = left + figure.gutter + (slot.x + slot.width / 2 - figure.left) * figure.scale;
          return [x, top + figure.rows.servers[0].lanes[lane] + 12];
        }""",
        [cell, lane],
    )
    return x, y


def test_the_first_page_says_what_happened_in_few_words(app: str, open_page: Callable[..., Page]) -> None:
    page = open_page(tokens=False)
    opened(page, app)
    expect(page.get_by_role("heading", level=1)).to_have_text(
        "Your client got a broken tool call: the arguments of get_weather are not valid JSON."
    )
    expect(page.locator(".why b")).to_have_text("The server's fault.")
    seen = page.evaluate(ABOVE_THE_FOLD)
    assert len(seen["words"]) <= WORDS_AT_MOST, f"{len(seen['words'])}: {' '.join(seen['words'])}"
    assert len(seen["focused"]) <= FOCUSED_AT_MOST, "\n".join(seen["focused"])
    box = page.locator("canvas[data-part=pipeline]").bounding_box()
    assert box is not None
    assert box["y"] + box["height"] <= 900


@pytest.mark.parametrize(
    "capture", sorted(path.name.split(".jsonl")[0] for path in FIXTURES.glob("*.jsonl*"))
)
def test_every_example_is_told_in_few_words(app: str, open_page: Callable[..., Page], capture: str) -> None:
    page = open_page(tokens=False)
    opened(page, app, capture)
    expect(page.get_by_text("Request", exact=True)).to_be_visible()
    seen = page.evaluate(ABOVE_THE_FOLD)
    assert len(seen["words"]) <= WORDS_AT_MOST, f"{len(seen['words'])}: {' '.join(seen['words'])}"
    steps = page.locator("[data-part=steps] button:visible").count()
    assert len(seen["focused"]) <= FOCUSED_AT_MOST + steps, "\n".join(seen["focused"])


WORDS_OF_THE_PICTURE = """() => {
  const canvas = strip.elements.pipeline, written = [];
  const { fillText } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...more) {
    if (this.canvas === canvas && text) {
      const { width } = this.measureText(text);
      const left = { center: x - width / 2, right: x - width }[this.textAlign] ?? x;
      written.push({ text, left, right: left + width, y, bold: this.font.includes("600 11px") });
    }
    return fillText.call(this, text, x, y, ...more);
  };
  strip.figure.schedule();
  return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {
    CanvasRenderingContext2D.prototype.fillText = fillText;
    done({ words: written.filter(({ bold }) => bold), width: canvas.clientWidth });
  })));
}"""
"""The words beside tokens, where the picture draws them; tokens and names have fonts of their own."""


@pytest.mark.parametrize("width", [380, 700, 1100])
def test_words_beside_tokens_stay_in_the_picture_and_off_each_other(mount: Mount, width: int) -> None:
    page = mount(built_in(FIRST), width=width)
    wrong = []
    for name in CAPTURES:
        show(page, built_in(name))
        for _ in range(3):  # at the first findings
            drawn = page.evaluate(WORDS_OF_THE_PICTURE)
            words = sorted(drawn["words"], key=lambda word: (word["y"], word["left"]))
            wrong += [
                f"{name}: {word['text']}"
                for word in words
                if word["left"] < -0.5 or word["right"] > drawn["width"] + 0.5
            ]
            wrong += [
                f"{name}: {left['text']} over {right['text']}"
                for left, right in pairwise(words)
                if left["y"] == right["y"] and left["right"] > right["left"]
            ]
            page.locator("canvas[data-part=pipeline]").press("n")
    assert not wrong


def test_how_a_loss_is_known_is_told_on_demand(app: str, open_page: Callable[..., Page]) -> None:
    page = open_page(tokens=False)
    opened(page, app)
    details = page.locator(".banner details")
    expect(details.get_by_text("Checked against 32 token IDs.")).to_be_hidden()
    details.locator("summary").press("Enter")
    expect(details.get_by_text("Checked against 32 token IDs.")).to_be_visible()
    expect(details.get_by_role("link", name="vllm#26291")).to_be_visible()


def test_on_a_narrow_screen_the_sentence_and_the_table_come_first(
    app: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(420, 900, tokens=False)
    opened(page, app)
    for place_of in (page.get_by_role("heading", level=1), page.locator(".differences")):
        box = place_of.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= 900
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_click_on_a_hole_chooses_the_token_that_is_missing_there(
    app: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(tokens=False)
    opened(page, app)
    lost = of_strip(page, 'strip.model.findings.find(({ kind }) => kind === "dropped").start')
    page.mouse.click(*place(page, lost, 2))
    expect(page.locator("[data-part=pipeline-words]")).to_contain_text("not delivered")
    assert state(page)["token"] == lost
    page.keyboard.press("ArrowRight")
    assert state(page)["token"] == lost + 1
    page.keyboard.press("p")
    assert state(page)["token"] == lost


def test_the_bar_of_the_server_explains_its_ticks(app: str, open_page: Callable[..., Page]) -> None:
    page = open_page(tokens=False)
    opened(page, app)
    bar = page.locator(".hi").evaluate("({ strip: { figure } }) => figure.rows.servers[0].bar")
    picture = page.locator("canvas[data-part=pipeline]")
    picture.hover(position={"x": 400, "y": bar + 8})
    words = page.locator("[data-part=pipeline-words]")
    expect(words).to_have_text("Each tick is an event of the stream: the server sent up to 3 tokens in one.")
    picture.hover(position={"x": 10, "y": bar - 20})
    expect(words).not_to_contain_text("tick")


def test_the_picture_plays_once_by_itself_and_rests_at_the_first_finding(app: str, chromium: Browser) -> None:
    context = reader(chromium, tokens=False, reduced_motion="no-preference")
    watched = Watched(context.new_page())
    page = watched.page
    opened(page, app)
    expect(page.locator(".hi.playing")).to_be_visible()
    expect(page.locator(".hi:not(.playing)")).to_be_visible(timeout=PLAYED_WITHIN_MS)
    rest = state(page)
    assert rest["shown"] == rest["count"]
    assert rest["token"] == of_strip(page, "strip.model.findings[0].start")
    opened(page, app)
    again = state(page)
    assert not again["playing"]
    assert again["shown"] == again["count"]
    watched.check()
    context.close()


def test_a_reader_who_asks_for_less_motion_sees_the_whole_picture_at_once(
    app: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(tokens=False)
    opened(page, app)
    still = state(page)
    assert not still["playing"]
    assert still["shown"] == still["count"]


def test_the_report_plays_the_same_picture_without_a_network(
    tmp_path: Any, open_page: Callable[..., Page]
) -> None:
    capture = inspector.load(FIXTURES / f"{FIRST}.jsonl")
    report = tmp_path / "report.html"
    report.write_text(html_report(inspector.inspect(capture, name=FIRST)), "utf-8")
    page = open_page()
    page.goto(report.as_uri())
    expect(page.locator("[data-part=pipeline-words]")).to_contain_text("weather")
    painted = page.evaluate("""() => {
      const canvas = document.querySelector("canvas");
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      return new Set(new Uint32Array(data.buffer)).size;
    }""")
    assert painted > 20
    page.goto(f"{report.as_uri()}#t=0.118")
    expect(page.locator("[data-part=pipeline-words]")).to_contain_text("107 ms")


def test_ids_are_legible_as_soon_as_they_are_switched_on(app: str, open_page: Callable[..., Page]) -> None:
    """With IDs the whole stream is wider than the page: it is shown where it was looked at, not as bars."""
    page = open_page()
    opened(page, app)
    page.get_by_role("switch", name="IDs").click()
    expect(page.get_by_role("button", name="whole stream")).to_be_visible()
    assert of_strip(page, "strip.figure.scale") == 1
