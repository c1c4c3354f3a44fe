"""What is dropped or pasted anywhere in the window reaches the page for it."""

import json
import re
from collections.abc import Callable

import pytest
from playwright.sync_api import FilePayload, Page, expect

from inspector.capture.capture import render
from inspector.protocol.harmony.vocab import encode
from tests.support.streams import chat

Open = Callable[..., Page]
CAPTURE = "".join(f"{line}\n" for line in render(chat([("<|channel|>final<|message|>Hi<|return|>", {})])))
GIVE = """([kind, text, name, target]) => {
  const data = new DataTransfer();
  if (name) data.items.add(new File([text], name));
  else data.setData("text/plain", text);
  const options = { bubbles: true, cancelable: true, composed: true };
  const event = kind === "paste"
    ? new ClipboardEvent(kind, { ...options, clipboardData: data })
    : new DragEvent(kind, { ...options, dataTransfer: data });
  (document.querySelector(target) ?? document.body).dispatchEvent(event);
  return event.defaultPrevented;
}"""


def give(page: Page, kind: str, text: str, name: str = "", target: str = "body") -> bool:
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
    page.wait_for_timeout(1500)
    taken: bool = page.evaluate(GIVE, [kind, text, name, target])
    return taken


@pytest.mark.parametrize("path", ["", "live", "matrix"])
def test_a_dropped_capture_opens_on_replay(app: str, open_page: Open, path: str) -> None:
    page = open_page()
    page.goto(f"{app}{path}")
    assert give(page, "drop", CAPTURE, "mine.jsonl")
    page.wait_for_url(re.compile(r"/\?capture=mine\.jsonl&"))
    expect(page.get_by_role("heading", level=1)).to_have_text(
        "Your client got no answer: all of it was lost."
    )


def test_pasted_token_ids_open_on_replay_and_an_error_text_on_diagnose(app: str, open_page: Open) -> None:
    page = open_page()
    page.goto(f"{app}matrix")
    assert give(page, "paste", json.dumps(encode("<|channel|>final<|message|>Hi<|return|>")))
    page.wait_for_url(re.compile(r"/\?capture=pasted-"))
    expect(page.locator(".scroller .cell")).to_have_count(5)
    assert give(page, "paste", "Unexpected token 12606 while expecting start token 200006")
    page.wait_for_url(re.compile("/diagnose"))
    expect(page.get_by_role("textbox").first).to_have_value(re.compile("Unexpected token 12606"))
    expect(page.get_by_role("heading", level=1)).to_be_visible()


@pytest.mark.parametrize("width", [1400, 768])
def test_the_button_opens_files_and_names_those_that_were_not_read(
    app: str, open_page: Open, width: int
) -> None:
    page = open_page(width)
    page.goto(app)
    page.wait_for_selector(".hi[data-ready]")
    place = "stSidebar" if width > 768 else "stMain"
    button = page.get_by_test_id(place).get_by_role("button", name="Open, drop or paste").filter(visible=True)
    with page.expect_file_chooser() as chooser:
        button.click()
    bad = [FilePayload(name=f"{name}.json", mimeType="text/plain", buffer=b"{}") for name in ("a", "b")]
    good = FilePayload(name="mine.jsonl", mimeType="text/plain", buffer=CAPTURE.encode())
    chooser.value.set_files([*bad, good])
    page.wait_for_url(re.compile(r"capture=mine\.jsonl"))
    line = page.get_by_text("2 of 3 files were not read: a.json and b.json.")
    expect(line).to_be_visible()
    page.get_by_role("button", name="Details").click()
    expect(page.get_by_text("a.json: unrecognized JSON object")).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Dismiss").click()
    expect(line).to_have_count(0)


def test_the_window_shows_that_what_is_dragged_can_be_dropped(app: str, open_page: Open) -> None:
    page = open_page()
    page.goto(f"{app}live")
    expect(page.get_by_role("button", name="Start")).to_be_visible()
    overlay = page.get_by_text("Drop to open")
    give(page, "dragover", CAPTURE, "mine.jsonl")
    expect(overlay).to_be_visible()
    give(page, "dragover", CAPTURE, "mine.jsonl", target="[data-testid=stMain] input")
    expect(overlay).to_be_hidden()
    give(page, "dragover", CAPTURE, "mine.jsonl")
    give(page, "dragleave", CAPTURE, "mine.jsonl")
    expect(overlay).to_be_hidden()


def test_a_rejected_file_is_gone_with_its_page(app: str, open_page: Open) -> None:
    page = open_page()
    page.goto(f"{app}matrix")
    give(page, "drop", "{}", "models.json")
    line = page.get_by_text("models.json: unrecognized JSON object")
    expect(line).to_be_visible()
    page.get_by_role("link", name="Probe").click()
    expect(page.get_by_text("Send many requests")).to_be_visible()
    expect(line).to_have_count(0)


def test_a_file_that_is_rejected_on_another_page_is_named_there_until_it_is_dismissed(
    app: str, open_page: Open
) -> None:
    page = open_page()
    page.goto(f"{app}matrix")
    give(page, "drop", "{}", "models.json")
    line = page.get_by_text("models.json: unrecognized JSON object")
    expect(line).to_be_visible()
    page.get_by_role("button", name="Dismiss").click()
    expect(line).to_have_count(0)


@pytest.mark.parametrize("path", ["matrix", ""])
def test_a_file_that_is_too_large_is_named(app: str, open_page: Open, path: str) -> None:
    page = open_page()
    page.goto(f"{app}{path}")
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
    page.wait_for_timeout(1500)
    page.evaluate(
        """(mb) => {
          const data = new DataTransfer();
          data.items.add(new File([new Uint8Array(mb * 2 ** 20)], "large.jsonl"));
          document.body.dispatchEvent(new DragEvent("drop", { bubbles: true, dataTransfer: data }));
        }""",
        257,
    )
    expect(page.get_by_text("large.jsonl: more than 256 MB")).to_be_visible()


def test_a_field_keeps_what_is_pasted_into_it(app: str, open_page: Open) -> None:
    page = open_page()
    page.goto(f"{app}live")
    expect(page.get_by_role("button", name="Start")).to_be_visible()
    assert not give(page, "paste", "200005 35644", target="[data-testid=stMain] input")
    expect(page).to_have_url(re.compile("/live"))


def test_uploads_are_there_again_after_a_reload(app: str, open_page: Open) -> None:
    page = open_page()
    page.goto(app)
    give(page, "drop", CAPTURE, "mine.jsonl")
    page.wait_for_url(re.compile(r"capture=mine\.jsonl&.*uploads="))
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_have_text(
        "Your client got no answer: all of it was lost."
    )
    expect(page.get_by_role("combobox", name="Capture")).to_have_value(re.compile("mine.jsonl"))
