"""The Diagnose page of the running app, in a real browser."""

import re
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect

Open = Callable[..., Page]
LOG = Path(__file__).parents[2] / "fixtures" / "logs" / "vllm-0.13.0.log.gz"


def diagnose(page: Page, app: str, query: str = "") -> Page:
    page.goto(f"{app}diagnose{query}")
    expect(page.get_by_text("The cause of an error message, a server log or a capture")).to_be_visible()
    return page


def paste(page: Page, text: str) -> None:
    box = page.get_by_role("textbox")
    box.fill(text)
    page.get_by_role("button", name="Diagnose", exact=True).click()


def test_a_frequent_message_is_answered_on_a_click(app: str, open_page: Open) -> None:
    page = diagnose(open_page(), app)
    page.get_by_role("button", name="Unexpected token 200002").click()
    expect(page.locator(".banner")).to_contain_text("At fault: the model output or the server parser.")
    expect(page.get_by_text("2. ignore_eos, as benchmarks send it")).to_be_visible()
    expect(page.get_by_test_id("stException")).to_have_count(0)


def test_missing_tool_calls_on_a_release_lead_to_the_evidence_that_it_is_not_that(
    app: str, open_page: Open
) -> None:
    page = diagnose(open_page(), app)
    paste(page, "empty tool calls on 0.33")
    expect(page.locator(".banner")).to_contain_text("Not your version")
    page.get_by_role("link", name="The 25 scripts in the Matrix").click()
    page.wait_for_url("**/matrix?*release=0.33.0*")
    row = page.get_by_role("row", name=re.compile("tool calls"))
    expect(row.first).to_be_visible()


def test_replay_and_diagnose_lead_to_each_other(app: str, open_page: Open) -> None:
    page = open_page()
    page.goto(f"{app}?capture=chat-unexpected-token-200002-vllm-0.13.0")
    page.get_by_role("link", name="Tell them apart").click()
    page.wait_for_url("**/diagnose?*")
    expect(page.locator(".banner")).to_contain_text("The model closes a message with")
    page.get_by_role("link", name="Open in Replay").click()
    expect(page.locator(".banner")).to_contain_text("Your client got an error and no answer.")
    expect(page.get_by_role("button", name="Check this server")).to_have_count(0)


def test_pasted_text_runs_nothing(app: str, open_page: Open) -> None:
    page = diagnose(open_page(), app)
    paste(page, "Unknown role: <img/src=x/onerror=alert(1)>[a](javascript:alert(1))")
    expect(page.locator(".banner")).to_contain_text("A header begins with a word that is not a role.")
    expect(page.get_by_text("<img/src=x/onerror=alert(1)>").first).to_be_visible()
    assert page.locator("a[href^=javascript], img[src=x]").count() == 0


def test_an_unknown_failure_is_called_unknown(app: str, open_page: Open) -> None:
    page = diagnose(open_page(), app)
    paste(page, "RuntimeError: the moon is in the seventh house")
    expect(page.locator(".banner")).to_contain_text("Unknown: no known issue produces")
    expect(page.locator(".banner")).to_contain_text("paste its log")
    expect(page.get_by_text("No match:")).to_have_count(0)


def test_an_uploaded_log_is_counted_and_plotted(app: str, open_page: Open) -> None:
    page = diagnose(open_page(), app)
    page.get_by_role("button", name="Log", exact=True).or_(
        page.get_by_role("radio", name="Log", exact=True)
    ).click()
    upload = page.get_by_test_id("stMain").locator("input[type=file]")
    upload.set_input_files(
        {"name": "vllm.log.gz", "mimeType": "application/gzip", "buffer": LOG.read_bytes()}
    )
    expect(page.locator(".banner")).to_contain_text("generation_config.json does not list 200012")
    expect(page.get_by_text("by start-up line")).to_be_visible()
    expect(page.locator(".js-plotly-plot").first).to_be_visible()
    expect(page.get_by_text("Lines around").first).to_be_visible()
    expect(page.get_by_text("harmony_parser.process(token_id)").first).to_be_visible()
    expect(page.locator(".legendtext", has_text="Unexpected token 12606")).to_have_count(1)
    expect(page.get_by_test_id("stException")).to_have_count(0)


def test_a_link_diagnoses_a_capture_and_offers_its_report(app: str, open_page: Open) -> None:
    page = diagnose(open_page(width=420), app, "?capture=chat-tool-call-leak-vllm-0.14.1")
    expect(page.locator(".banner")).to_contain_text("At fault: the server parser.")
    expect(page.get_by_text("Upgrade to vLLM 0.24.0 or newer, the first release").first).to_be_visible()
    page.get_by_role("button", name="Download", exact=True).click()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Report (HTML)").click()
    report = waiting.value.path().read_text("utf-8")
    assert "chat-tool-call-leak-vllm-0.14.1" in report
    assert report.count("<script") == 2  # the stream as data, and the player of the picture
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
