"""The components' modules in a real Chromium: below a base path, kept by the browser, and without app.py."""

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, Response, expect

from tests.browser.conftest import started

Open = Callable[..., Page]


def test_pages_work_below_a_base_path_and_load_each_module_once(tmp_path: Path, open_page: Open) -> None:
    page = open_page()
    loaded: list[Response] = []
    page.on("response", lambda answer: loaded.append(answer) if "/inspector/" in answer.url else None)
    with started(tmp_path, "app.py", base="tools/harmony") as address:
        page.goto(address)
        page.wait_for_selector(".hi[data-ready]")
        before = len(loaded)
        assert before
        assert {answer.status for answer in loaded} == {200}
        assert all(answer.url.startswith(f"{address}inspector/modules/") for answer in loaded)
        page.get_by_role("link", name="Live").click()
        page.get_by_role("button", name="Start").click()
        expect(page.get_by_role("button", name="Open in Replay")).to_be_visible()
        feeds = [answer.url for answer in loaded if answer.url.endswith("/feed")]
        assert feeds
        assert all(url.startswith(f"{address}inspector/runs/") for url in feeds)
        page.get_by_role("link", name="Replay").click()
        page.wait_for_selector(".hi[data-ready]")
        modules = [answer.url for answer in loaded if "/modules/" in answer.url]
        assert len(modules) == len(set(modules)), "a module that the page has is not asked for again"
        assert len(modules) > before, "the Live page has one of its own"


def test_without_app_py_a_component_says_how_to_start(tmp_path: Path, open_page: Open) -> None:
    page = open_page()
    with started(tmp_path, "pages/frame.py") as address:
        page.goto(address)
        expect(page.get_by_text("start the dashboard with `streamlit run app.py`").first).to_be_visible()
