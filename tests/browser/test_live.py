"""The Live page in a real Chromium, against the server on the dashboard's own port."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from inspector.files.store import load
from tests.browser.conftest import pick, reader
from tests.support.listening import free_port, listening
from tests.support.raw_server import Answer, raw_server, sse, stream
from tests.support.upstreams import Echo

ROOT = Path(__file__).parents[2]
SLOW_MS = 60_000
STRIP = ".hi"


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("live") / "captures"


@pytest.fixture(scope="module")
def lenient() -> Iterator[str]:
    """A server that lets every web page read its answers, as vLLM does."""
    with listening(Echo(headers=[(b"access-control-allow-origin", b"*")])) as at:
        yield at


@pytest.fixture(scope="module")
def address(captures: Path, lenient: str) -> Iterator[str]:
    port = free_port()
    upstreams = f"played=http://127.0.0.1:{port}/playback lenient={lenient}"
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env={
            **os.environ,
            "HARMONY_INSPECTOR_CAPTURES": str(captures),
            "HARMONY_INSPECTOR_UPSTREAMS": upstreams,
        },
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as app:
        try:
            transport = httpx.HTTPTransport(retries=8)
            with httpx.Client(transport=transport, base_url=f"http://127.0.0.1:{port}") as client:
                assert client.get("/playback/health", timeout=60).status_code == 200
            yield f"http://127.0.0.1:{port}"
        finally:
            app.terminate()


@pytest.fixture
def page(chromium: Browser, address: str) -> Iterator[Page]:
    opened = reader(chromium, viewport={"width": 1400, "height": 900}).new_page()
    opened.set_default_timeout(SLOW_MS)
    opened.goto(f"{address}/live")
    expect(opened.get_by_role("button", name="Start")).to_be_enabled(timeout=SLOW_MS)
    yield opened
    opened.close()


def choose_pace(page: Page, words: str) -> None:
    pick(page, page.get_by_role("combobox", name="Pace"), words)


def count(page: Page) -> int:
    found: int = page.locator(STRIP).evaluate("strip => strip.strip.model.count")
    return found


def wait_for(page: Page, cells: int) -> None:
    page.wait_for_function(
        """cells => { const all = [document, ...[...document.querySelectorAll("*")].map(e => e.shadowRoot)];
             return all.some(root => (root?.querySelector?.(".hi")?.strip?.model?.count ?? 0) >= cells); }""",
        arg=cells,
        timeout=SLOW_MS,
    )


def test_start_alone_shows_a_real_stream_arriving_then_its_verdict(page: Page, captures: Path) -> None:
    page.get_by_role("button", name="Start").click()
    wait_for(page, 3)
    expect(page.get_by_role("button", name="Open in Replay")).to_be_visible(timeout=SLOW_MS)
    expect(page.get_by_role("heading", name=re.compile("Your client got a broken tool call"))).to_be_visible()
    wait_for(page, 32)
    assert count(page) == 32
    [kept] = [load(path) for path in captures.glob("*.jsonl")]
    assert kept.header.server_version == "0.14.1", "that of the capture which was played"
    assert kept.end is not None
    assert not kept.end.cut


def test_a_run_without_token_ids_is_followed_at_full_size_below_one_line_of_what_is_known(
    page: Page, address: str
) -> None:
    httpx.put(f"{address}/playback/control", json={"faults": "stall=60:300"}).raise_for_status()
    try:
        page.get_by_test_id("stMain").get_by_text("responses", exact=True).click()
        pick(page, page.get_by_role("combobox", name="Model"), "responses-dropped-tokens-long")
        page.get_by_role("button", name="Start").click()
        wait_for(page, 40)
        line = page.locator(".now.line")
        expect(line).to_contain_text("now: answer (content) · expected channel: final")
        expect(line.locator("dt")).to_have_text(["events"])
        picture = page.locator("canvas[data-part=pipeline]")
        above, below = line.bounding_box(), picture.bounding_box()
        assert above is not None
        assert below is not None
        assert above["y"] + above["height"] <= below["y"]
        figure = page.locator(STRIP).evaluate("({ strip: { figure } }) => [figure.fitted, figure.scale]")
        assert figure == [False, 1], "also for a reader who asks for less motion"
        expect(page.get_by_role("group", name="What the client received")).to_contain_text("Plan carefully")
        page.get_by_role("button", name="Stop").click()
        expect(page.get_by_role("button", name="Ask again")).to_be_enabled()
    finally:
        httpx.delete(f"{address}/playback/control").raise_for_status()


@pytest.fixture
def stalling(address: str) -> Iterator[None]:
    """The built-in server stops in the middle of each answer."""
    httpx.put(f"{address}/playback/control", json={"faults": "stall=4:300"}).raise_for_status()
    yield
    httpx.delete(f"{address}/playback/control").raise_for_status()


@pytest.mark.usefixtures("stalling")
def test_a_reload_in_mid_stream_goes_on_with_the_run_and_stop_ends_it(page: Page) -> None:
    page.get_by_role("button", name="Start").click()
    wait_for(page, 5)
    expect(page.get_by_text("now:")).to_be_visible(timeout=SLOW_MS)
    before, cells = page.url, count(page)
    page.reload()
    wait_for(page, cells)
    assert page.url == before
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_test_id("stAlert").filter(has_text="Stopped by you after")).to_be_visible(
        timeout=SLOW_MS
    )
    expect(page.get_by_role("button", name="Ask again")).to_be_enabled(timeout=SLOW_MS)


def test_ids_and_messages_are_seen_as_they_arrive_until_the_reader_switches_them_off(
    page: Page, address: str
) -> None:
    def picture() -> list[object]:
        rows = "rows: { ids, band }, slots: { kinds, length }"
        values = "[ids > 0, band !== null, kinds.subarray(0, length).includes(1)]"
        found: list[object] = page.locator(STRIP).evaluate(
            f"({{ strip: {{ figure: {{ {rows} }} }} }}) => {values}"
        )
        return found

    page.get_by_role("button", name="Start").click()
    wait_for(page, 3)
    ids = page.get_by_role("switch", name="token IDs")
    expect(ids).to_be_checked()
    assert picture() == [True, True, False], "IDs, names of messages, and no header in one pill"
    expect(page.get_by_role("button", name="Open in Replay")).to_be_visible()
    ids.click()
    assert picture() == [False, False, True]
    page.reload()
    wait_for(page, 32)
    expect(ids).not_to_be_checked()
    ids.click()
    page.goto(f"{address}/replay")
    wait_for(page, 3)
    expect(ids).not_to_be_checked()
    assert picture() == [False, False, True]


def test_a_growing_stream_is_followed_until_the_reader_looks_elsewhere(page: Page) -> None:
    def left() -> float:
        place: float = page.locator(STRIP).evaluate("({ strip: { figure } }) => figure.left")
        return place

    page.get_by_role("button", name="Start").click()
    wait_for(page, 22)
    assert left() > 0
    back = page.get_by_role("button", name="now", exact=True)
    expect(back).to_be_hidden()
    page.locator("canvas[data-part=pipeline]").press("Home")
    expect(back).to_be_visible()
    wait_for(page, 28)
    assert left() == 0
    back.click()
    assert left() > 0


def test_what_came_opens_in_replay(page: Page) -> None:
    choose_pace(page, "as recorded")
    page.get_by_role("button", name="Start").click()
    page.get_by_role("button", name="Open in Replay").click(timeout=SLOW_MS)
    page.wait_for_url(re.compile(r"capture=\d{8}-\d{6}-chat"), timeout=SLOW_MS)
    wait_for(page, 32)


def test_ground_truth_of_the_same_prompt_is_told_and_opens_beside_it_in_compare(page: Page) -> None:
    choose_pace(page, "as recorded")
    page.get_by_text("Messages, tools, sampling, connection").click()
    page.get_by_text("Also record ground truth").click()
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_text("Ground truth: completions sampled the same 32 tokens.")).to_be_visible(
        timeout=SLOW_MS
    )
    page.get_by_role("button", name="Compare with the ground truth").click()
    page.wait_for_url(
        re.compile(r"/compare\?left=\d{8}-\d{6}-chat\S+right=\d{8}-\d{6}-completions"), timeout=SLOW_MS
    )
    expect(page.get_by_text("The tokens are the same").first).to_be_visible(timeout=SLOW_MS)


def test_a_server_that_is_not_there_is_told_in_words(page: Page) -> None:
    field = page.get_by_label("Server", exact=True)
    field.fill(f"http://127.0.0.1:{free_port()}")
    field.press("Enter")
    expect(page.get_by_text("connection refused at")).to_be_visible(timeout=SLOW_MS)
    expect(page.get_by_text("is the server running?")).to_be_visible()


def test_a_server_without_a_list_of_models_is_asked_for_the_model_that_is_typed(page: Page) -> None:
    chunk = {"choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}]}
    pieces = [sse(chunk), b"data: [DONE]\n\n"]
    answers: dict[str, Answer] = {"/v1/chat/completions": lambda _: stream(pieces)}
    with raw_server(answers) as server:
        field = page.get_by_label("Server", exact=True)
        field.fill(server.v1)
        field.press("Enter")
        expect(page.get_by_role("alert")).to_contain_text("enter a model name")
        model = page.get_by_role("combobox", name="Model")
        expect(model).to_have_count(1)  # while the page is drawn anew there are two
        model.fill("mine")
        model.press("Enter")
        expect(page.get_by_text("enter a model name")).to_have_count(0)
        page.get_by_role("button", name="Start").click()
        page.get_by_role("button", name="Open in Replay").wait_for()
        assert [body["model"] for body in server.bodies("/v1/chat/completions")] == ["mine"]
        page.get_by_role("button", name="Open in Replay").click()
        page.get_by_role("button", name="Check this server").click()
        page.wait_for_url("**/probe")
        expect(page.get_by_label("Server", exact=True)).to_have_value(server.v1)


def test_what_another_client_asks_through_the_tap_is_listed_while_it_streams_and_can_be_watched(
    page: Page, address: str
) -> None:
    told = page.locator("code").filter(has_text="/tap/played/v1").first
    told.wait_for()
    shown = told.text_content()
    assert shown == f"{address}/tap/played/v1"
    body = {"model": "chat-whole-one-token-per-step-vllm-0.13.0", "stream": True, "return_token_ids": True}
    stalled = {"X-Playback-Faults": "stall=12:300"}
    with httpx.stream("POST", f"{shown}/chat/completions", json=body, headers=stalled, timeout=60):
        row = page.locator('[data-testid="stHorizontalBlock"], [data-testid="stLayoutWrapper"]').filter(
            has_text="tap played"
        )
        expect(row.last).to_contain_text("streaming", timeout=SLOW_MS)
        row.last.get_by_role("button", name="Watch").click()
        wait_for(page, 8)
        expect(page.get_by_text("now:")).to_be_visible(timeout=SLOW_MS)
        expect(page.get_by_role("button", name="Stop")).to_have_count(0)
    told = page.get_by_role("alert").get_by_text("the client closed the connection")
    expect(told).to_be_visible(timeout=SLOW_MS)
    expect(page.get_by_role("button", name="Open in Replay")).to_be_visible()


def test_a_page_of_another_site_reads_the_server_but_not_the_tap(
    chromium: Browser, address: str, lenient: str
) -> None:
    page = reader(chromium).new_page()
    page.goto(f"{lenient}/page")
    read = "async url => { try { return await (await fetch(url)).text(); } catch { return 'refused'; } }"
    there = lenient.replace("127.0.0.1", "localhost")
    assert page.evaluate(read, f"{there}/v1/models") == "ok"
    assert page.evaluate(read, f"{address}/tap/lenient/v1/models") == "refused"
    page.close()


def test_the_token_that_stopped_the_parser_shows_in_a_live_run(page: Page) -> None:
    choose_pace(page, "as recorded")
    pick(page, page.get_by_role("combobox", name="Model"), "chat-unexpected-token-12606-vllm-0.13.0")
    page.get_by_role("button", name="Start").click()
    rejected = page.locator(".cell.unsent-token")
    expect(rejected).to_contain_text("12606", timeout=SLOW_MS)
    expect(page.get_by_role("button", name="Open in Replay")).to_be_visible(timeout=SLOW_MS)
    expect(rejected).to_have_count(1)
    assert count(page) == 6
