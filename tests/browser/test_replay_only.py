"""A dashboard for visitors: no page, route or link makes it ask a server, and one session sees an upload."""

import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import FilePayload, Page, expect

from inspector.capture.replay_only import REPLAY_ONLY_VARIABLE, UPLOAD_MB
from inspector.files.store import FIXTURES
from tests.browser.conftest import started

CAPTURE = next(FIXTURES.glob("chat-tool-call-leak*.jsonl"))


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(REPLAY_ONLY_VARIABLE, "1")
        with started(tmp_path_factory.mktemp("public"), "app.py") as address:
            yield address


def test_the_pages_that_ask_servers_are_not_there(public: str, open_page: Callable[..., Page]) -> None:
    page = open_page()
    page.goto(public)
    expect(page.locator(".hi[data-ready]")).to_be_visible()
    links = page.get_by_test_id("stSidebarNavLink")
    expect(links).to_contain_text(["Replay", "Library", "Compare", "Diagnose", "Matrix"])
    expect(links).to_have_count(5)
    for name in ("live", "probe", "compare?trial=x"):
        page.goto(f"{public}{name}")
        expect(page.get_by_text("This public copy only replays")).to_be_visible()
        expect(page.get_by_role("button", name="Start", exact=True)).to_have_count(0)
        expect(page.get_by_text("Ask two servers")).to_have_count(0)
    for path in ("playback/health", "playback/v1/models", "inspector/runs/x", "tap/main/v1/models"):
        content = httpx.get(f"{public}{path}").text  # Streamlit answers unknown paths with its page
        assert content == httpx.get(f"{public}nothing-of-that-name").text, path


def test_no_path_can_be_typed(public: str, open_page: Callable[..., Page]) -> None:
    page = open_page()
    page.goto(f"{public}library")
    box = page.get_by_role("combobox", name="Scan")
    box.fill("/etc")
    box.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("of 4,800 responses are damaged")


def test_an_upload_is_seen_by_its_session_alone(
    public: str, open_page: Callable[..., Page], tmp_path: Path
) -> None:
    page, stranger = open_page(), open_page()
    page.goto(f"{public}library")
    with zipfile.ZipFile(tmp_path / "mine.zip", "w") as archive:
        archive.write(CAPTURE, "secret-name.jsonl")
    page.get_by_test_id("stFileUploaderDropzoneInput").first.set_input_files(tmp_path / "mine.zip")
    expect(page.get_by_text("secret-name").first).to_be_visible()
    assert "uploads=" not in page.url
    stranger.goto(page.url)
    expect(stranger.get_by_text("This session has no scan")).to_be_visible()
    page.goto(public)
    file = FilePayload(name="mine.jsonl", mimeType="text/plain", buffer=CAPTURE.read_bytes())
    page.get_by_test_id("stFileUploaderDropzoneInput").first.set_input_files(file)
    page.wait_for_url("**capture=mine.jsonl**")
    assert "uploads=" not in page.url
    stranger.goto(page.url)
    expect(stranger.get_by_text("Capture mine.jsonl not found")).to_be_visible()


def test_the_server_too_rejects_a_large_upload(public: str, open_page: Callable[..., Page]) -> None:
    page = open_page()
    page.goto(public)
    file = FilePayload(name="small.jsonl", mimeType="text/plain", buffer=CAPTURE.read_bytes())
    with page.expect_request("**/upload_file/**") as sent:
        page.get_by_test_id("stFileUploaderDropzoneInput").first.set_input_files(file)
    xsrf = {name: value for name, value in sent.value.all_headers().items() if "xsrf" in name}
    for megabytes, status in ((1, 204), (UPLOAD_MB + 2, 413)):
        large = FilePayload(name="large", mimeType="text/plain", buffer=b"x" * (megabytes << 20))
        answer = page.request.put(sent.value.url, headers=xsrf, multipart={"file": large})
        assert answer.status == status
