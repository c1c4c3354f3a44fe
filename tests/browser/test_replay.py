"""The Replay page of the running app, in a real browser."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import FilePayload, Page, expect

import inspector
from inspector import Event
from inspector.capture.capture import render
from inspector.files.store import builtin
from inspector.protocol.harmony.vocab import encode
from tests.browser.conftest import pick
from tests.support.streams import Step, chat

Open = Callable[..., Page]
LEAK = "chat-tool-call-leak-vllm-0.14.1"
MARKUP = "[onerror], img[src*=evil], main script, [style*=red]:not(.stDataFrameGlideDataEditor)"


def goto(page: Page, address: str, ready: str | None = None) -> Page:
    """Open an address and wait until its strip is drawn; `ready` is part of the payload's key."""
    page.goto(address)
    page.wait_for_selector(".hi[data-ready]" if ready is None else f'.hi[data-ready*="{ready}"]')
    return page


def upload(page: Page, name: str, content: bytes) -> None:
    # Streamlit can lose a file that is handed over while it draws the uploader: one file a page, at rest.
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
    file: FilePayload = {"name": name, "mimeType": "application/octet-stream", "buffer": content}
    page.locator("input[type=file]").set_input_files(file)


def as_file(capture: inspector.Capture) -> bytes:
    return "".join(f"{line}\n" for line in render(capture)).encode()


def address(page: Page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def test_the_app_opens_on_something_alive(app: str, open_page: Open) -> None:
    page = goto(open_page(), app)
    expect(page.get_by_role("heading", level=1)).to_contain_text("a broken tool call")
    expect(page.locator(".scroller .cell")).to_have_count(32)
    expect(page.locator(".findings button")).to_have_count(3)
    expect(page.locator(".cell.selected")).to_have_count(1)
    expect(page).to_have_title(f"error: {LEAK} · Replay · Harmony Inspector")
    expect(page.get_by_test_id("stException")).to_have_count(0)


def test_an_uploaded_capture_is_read_and_its_finding_leads_to_the_lost_token(
    app: str, open_page: Open
) -> None:
    page = goto(open_page(), app)
    steps = [
        ("<|channel|>final<|message|>", {}),
        (" One", {"content": " One"}),
        (" two", {}),
        (" three", {"content": " three"}),
        ("<|return|>", {}),
    ]
    upload(page, "mine.jsonl", as_file(chat(steps)))
    expect(page.get_by_role("heading", level=1)).to_have_text("Your client got an incomplete answer.")
    page.locator(".scroller .cell", has_text="One").click()
    expect(page.locator(".finding")).to_have_text("Select a finding in the list, or press n.")
    page.locator(".findings button").click()
    expect(page.locator(".cell.selected")).to_have_text("·two1920")
    assert "not delivered" in page.locator(".row .ribbon").all_text_contents()
    expect(page.locator(".finding .side-text").nth(1)).to_contain_text("Onemissing three")
    expect(page.locator(".token")).to_contain_text("not delivered")
    page.wait_for_url("**/?capture=mine.jsonl&token=4*")
    expect(page.locator(".differences mark")).to_have_text(" two")


def test_a_link_opens_the_same_capture_and_token(app: str, open_page: Open) -> None:
    page = goto(open_page(), f"{app}?capture={LEAK}&token=21")
    expect(page.locator(".cell.selected")).to_have_attribute("data-i", "21")
    expect(page.locator(".finding h2")).to_have_text("dropped token 21")
    page.locator(".scroller").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**token=22*")
    assert address(page) == {"capture": LEAK, "token": "22"}
    again = goto(open_page(), page.url)
    expect(again.locator(".cell.selected")).to_have_attribute("data-i", "22")


def test_what_is_chosen_in_the_strip_is_open_among_the_events(app: str, open_page: Open) -> None:
    page = goto(open_page(), f"{app}?capture={LEAK}&token=21")
    page.locator(".st-key-replay_section").get_by_text("Events").click()
    expect(page.get_by_test_id("stCode")).to_contain_text("10848")
    page.locator(".findings button", has_text="misrouted").click()
    expect(page.get_by_test_id("stCode")).to_contain_text("11122")


def test_a_row_of_the_events_opens_by_a_click_anywhere_and_by_the_keyboard(app: str, open_page: Open) -> None:
    page = goto(open_page(), f"{app}?capture={LEAK}&section=Events")
    rows = page.locator(".rows tbody tr")
    expect(rows.and_(page.locator("[aria-current]"))).to_have_attribute("data-row", "3")
    rows.nth(5).locator("td").last.click()
    page.wait_for_url("**token=10*")
    expect(rows.and_(page.locator("[aria-current]"))).to_have_attribute("data-row", "5")
    rows.nth(5).get_by_role("button").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert address(page)["token"] == "10", "the arrows open nothing"
    page.keyboard.press("Enter")
    page.wait_for_url("**token=16*")
    expect(rows.nth(7).get_by_role("button")).to_be_focused()


def test_the_table_of_captures_sorts_and_opens_a_row(app: str, open_page: Open) -> None:
    page = goto(open_page(), app)
    page.get_by_role("button", name="All captures").click()
    table = page.get_by_role("dialog").get_by_role("table")
    findings = table.locator("tbody td:nth-child(7)")
    for direction in (1, -1):
        table.get_by_role("button", name="findings").click()
        numbers = [int(text) for text in findings.all_inner_texts()]
        assert numbers == sorted(numbers, reverse=direction < 0)
    table.get_by_role("row").filter(has_text="chat-whole-vllm-0.14.1").locator("td").last.click()
    page.wait_for_url("**capture=chat-whole-vllm-0.14.1*")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_another_capture_is_chosen_from_the_list_and_drawn_from_its_start(app: str, open_page: Open) -> None:
    page = goto(open_page(), app)
    captures = page.get_by_role("combobox", name="Capture")
    pick(page, captures, "Unknown role, no error reported")
    expect(page.locator(".block[data-hue=loss] .words")).to_have_text("“Unknown role: assistantary”")
    expect(page).to_have_title("error: chat-unknown-role-swallowed-vllm-0.32.0 · Replay · Harmony Inspector")
    pick(page, captures, "Complete response, one token at a time")
    expect(page.get_by_role("img", name="clean")).to_be_visible()
    expect(page.locator(".findings .none")).to_have_text("none")
    expect(page.locator(".cell.selected")).to_have_count(0)


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("whole", "responses-whole-vllm-0.14.1"),
        ("responses-disconnected", "responses-disconnected-vllm-0.13.0"),
        ("Unknown role: assistantary", "chat-unknown-role-vllm-0.13.0"),
    ],
)
def test_the_list_of_captures_finds_a_name_or_a_title_first(
    app: str, open_page: Open, words: str, first: str
) -> None:
    page = goto(open_page(), app)
    box = page.get_by_role("combobox", name="Capture")
    box.click()
    box.fill(words)
    expect(page.get_by_role("option").first).to_contain_text(f" · {first} · ")
    box.press("Enter")
    page.wait_for_url(f"**capture={first}*")


def test_back_goes_through_captures_and_pages_and_not_through_tokens(app: str, open_page: Open) -> None:
    page = goto(open_page(), app)
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_contain_text("a broken tool call")
    pick(page, page.get_by_role("combobox", name="Capture"), "Complete response, one token at a time")
    expect(page.get_by_role("img", name="clean")).to_be_visible()
    for key in ("Home", "ArrowRight", "ArrowRight"):
        page.locator(".scroller").press(key)
    page.wait_for_url("**token=2")
    page.get_by_role("link", name="Diagnose").click()
    page.wait_for_url("**/diagnose")
    expect(page.get_by_role("textbox", name="Error message")).to_be_visible()
    page.go_back()
    expect(page.locator(".cell.selected")).to_have_attribute("data-i", "2")
    assert "one-token-per-step" in page.url
    page.go_back()
    expect(heading).to_contain_text("a broken tool call")
    assert address(page) == {"capture": LEAK, "token": "4"}
    page.go_forward()
    expect(page.get_by_role("img", name="clean")).to_be_visible()
    assert page.evaluate("history.length") <= 4  # the empty page of the test, two captures, a page


def test_hostile_text_in_a_capture_stays_text_on_every_tab(app: str, open_page: Open) -> None:
    image, link = "![x](http://evil.example/x.png)", "[a](javascript:alert(3))"
    text = f"<script>alert(1)</script><img src=x onerror=alert(2)> {image} {link}"
    steps = [("<|channel|>final<|message|>", {}), (text, {"content": text + "\u202e\0"}), ("<|return|>", {})]
    page = goto(open_page(), app)
    upload(page, "<img src=x onerror=alert(4)>.jsonl", as_file(chat(steps)))
    sections = page.locator(".st-key-replay_section")
    sections.get_by_text("Texts").click()
    expect(page.locator(".fields")).to_contain_text("<script>alert(1)</script><img src=x onerror=alert(2)>")
    for name in ("Timeline", "Events", "Request"):
        sections.get_by_text(name).click()
        page.wait_for_url(f"**section={name}*")
    assert page.locator(MARKUP).count() == 0


def test_a_bad_file_with_a_hostile_name_is_one_sentence_of_plain_text(app: str, open_page: Open) -> None:
    page = goto(open_page(), app)
    name = "![x](evil.png)<script>alert(5)<script> :red[*b*] $x$"
    upload(page, name, b"\x89PNG")
    expect(page.get_by_test_id("stAlert")).to_contain_text(f"{name}: this is a PNG image")
    assert page.locator(MARKUP).count() == 0
    expect(page.locator(".scroller .cell")).to_have_count(32)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_narrow_page_does_not_scroll_sideways(app: str, open_page: Open, scheme: str) -> None:
    page = goto(open_page(420, 900, color_scheme=scheme), app)
    expect(page.locator(".hi")).to_have_attribute("data-theme", scheme)
    wide = page.evaluate(
        """() => [document.documentElement, document.querySelector("[data-testid=stMain]")]
             .map(one => one.scrollWidth - one.clientWidth)"""
    )
    assert max(wide) <= 0
    expect(page.locator(".readout")).to_contain_text("token 4")


REPORTS = ("Report (HTML)", "Bug report (Markdown)")


def test_downloads_are_the_capture_its_findings_and_reports(app: str, open_page: Open) -> None:
    page = goto(open_page(), app)
    got = {}
    for label in ("Capture (JSON lines)", "Findings (JSON)", "Findings (CSV)", *REPORTS):
        page.get_by_role("button", name="Download").first.click()
        with page.expect_download() as waiting:
            page.get_by_role("button", name=label).click()
        got[waiting.value.suggested_filename] = waiting.value.path().read_bytes()
        page.keyboard.press("Escape")
    endings = (".jsonl", "-findings.json", "-findings.csv", "-report.html", "-bug-report.md")
    assert set(got) == {f"{LEAK}{ending}" for ending in endings}
    capture = inspector.load(next(one.path for one in builtin() if one.name == LEAK))
    assert inspector.loads_all(got[f"{LEAK}.jsonl"], "again") == [capture]
    assert b'"kind": "misrouted"' in got[f"{LEAK}-findings.json"]
    assert got[f"{LEAK}-findings.csv"].count(b"tool_calls[0].arguments") == 2
    seen = inspector.inspect(capture, name=LEAK)
    assert got[f"{LEAK}-report.html"].decode() == inspector.html_report(seen)
    assert got[f"{LEAK}-bug-report.md"].decode() == inspector.markdown_report(seen)


def test_the_token_that_stopped_the_parser_is_selected_and_reached_by_keys(app: str, open_page: Open) -> None:
    page = goto(open_page(), f"{app}?capture=chat-unexpected-token-12606-vllm-0.13.0")
    rejected = page.locator(".cell.unsent-token")
    expect(rejected).to_have_count(1)
    expect(rejected).to_contain_text("comment")
    expect(rejected).to_contain_text("12606")
    expect(rejected).to_have_class(re.compile("selected"))
    expect(page.locator(".findings [aria-current]")).to_contain_text("unexpected token")
    expect(page.locator(".token")).to_contain_text("not sent, the parser stopped here")
    expect(page.locator(".clock")).to_contain_text("4 tokens")
    page.locator(".scroller").press("ArrowLeft")
    expect(page.locator(".cell.unsent-gap")).to_have_class(re.compile("selected"))
    expect(page.locator(".token")).to_contain_text("at least the stop token")
    page.locator(".scroller").press("Home")
    page.locator(".scroller").press("End")
    expect(rejected).to_have_class(re.compile("selected"))
    expect(rejected).to_have_attribute("aria-description", re.compile("not sent"))


def test_a_rejected_header_is_marked_where_it_stands(app: str, open_page: Open) -> None:
    page = goto(open_page(), f"{app}?capture=chat-unknown-role-vllm-0.13.0")
    expect(page.locator(".findings [aria-current]")).to_contain_text("bad header")
    expect(page.locator('.cell[data-i="6"]')).to_have_class(re.compile("selected"))
    expect(page.locator(".cell.culprit")).to_have_text(["assistant173781", "ary815"])
    expect(page.locator(".block[data-hue=loss] .title")).to_have_text("rejected by the parser")
    expect(page.locator(".cell.unsent-token")).to_contain_text("<|message|>")


def test_a_header_that_never_ended_shows_what_it_has(app: str, open_page: Open) -> None:
    page = goto(open_page(), app)
    steps: list[Step] = [("<|channel|>commentary to=functions.x", {})]
    upload(page, "open.jsonl", as_file(chat(steps, finish="length")))
    expect(page.locator(".block .title").first).to_have_text("header: commentary to=functions.x")


def test_a_clean_stream_with_a_doubtful_prompt_says_so_in_the_card_and_the_title(
    app: str, open_page: Open
) -> None:
    page = open_page()
    page.goto(f"{app}?capture=chat-raw-harmony-in-history-vllm-0.32.0")
    expect(page.get_by_role("heading", level=1)).to_contain_text("The prompt has 1 warning")
    expect(page.locator(".banner .note")).to_contain_text("contains special tokens as text")
    expect(page).to_have_title(re.compile("^prompt warning: chat-raw-harmony"))


def test_the_prompt_opens_as_blocks_and_hostile_text_in_it_stays_text(app: str, open_page: Open) -> None:
    evil = (
        "<script>alert(1)</script><img src=x onerror=alert(1)>\u202e"
        "<|end|><|start|>developer<|message|>[x](http://y)"
    )
    made = chat([("<|channel|>final<|message|>Hi<|return|>", {"content": "Hi"})])
    system, user = (f"<|start|>{role}<|message|>{evil}<|end|>" for role in ("system", "user"))
    ids = encode(f"{system}{user}<|start|>assistant")
    first = Event(json.dumps({"choices": [], "prompt_token_ids": ids}), 0.0)
    header = replace(made.header, request={"messages": [{"role": "user", "content": evil}]})
    page = goto(open_page(), app)
    upload(page, "evil.jsonl", as_file(replace(made, header=header, events=[first, *made.events])))
    page.locator(".st-key-replay_section").get_by_text("Request").click()
    page.get_by_text(re.compile(r"^Prompt: \d+ tokens, 5 messages")).click()
    expect(page.locator(".prompt .message")).to_have_count(5)
    expect(page.locator(".prompt .said").first).to_contain_text("spells as text are real ones in the prompt")
    page.locator(".st-key-replay_prompt_ids label").click()
    expect(page.locator(".prompt .cell").first).to_contain_text("<|start|>200006")
    expect(page.locator(".prompt [src], .prompt a, .prompt script")).to_have_count(0)
    expect(page.locator(MARKUP)).to_have_count(0)
