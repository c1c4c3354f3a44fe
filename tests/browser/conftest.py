"""A real Chromium, and the real app in a process of its own. Without either these tests fail."""

import json
import os
import shutil
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Dialog,
    Error,
    Locator,
    Page,
    Route,
    expect,
    sync_playwright,
)

from inspector.files.store import FIXTURES
from inspector.views.payload import Payload as StripPayload
from pages.ui import modules
from pages.ui.strip import pack, styles
from tests.support.archives import scanned
from tests.support.loops import on_loop

ROOT = Path(__file__).parents[2]
UI = ROOT / "pages" / "ui"
ALONE = "http://127.0.0.1:9/alone/"
"""Where the strip is drawn without Streamlit: requests there are answered here."""
STARTS_WITHIN_S = 90
ANSWERS_WITHIN_MS = 60_000
OPENED_WITHIN_MS = 5_000
OPENINGS = 12

expect.set_options(timeout=ANSWERS_WITHIN_MS)


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """One browser for the tests of this folder.

    It is closed with the last of them: while it is open, Playwright's loop runs in this thread, and
    `asyncio.run` of other tests would refuse to start a second one.
    """
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert found, "no chromium on this machine; install it, as .ci/run does: apt-get install chromium"
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=found, args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of the app, started as the README says, on a free port; with a scan of some captures."""
    folder = tmp_path_factory.mktemp("app")
    scanned(folder / "captures" / "scan", *FIXTURES.glob("*.jsonl"))
    with started(folder, "app.py") as address:
        yield address


@contextmanager
def started(folder: Path, script: str, *, base: str = "") -> Iterator[str]:
    """Run a script of the dashboard below a base path; its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = folder / "log"
    command = [sys.executable, "-m", "streamlit", "run", script, "--server.port", str(port)]
    command += ["--server.baseUrlPath", base] if base else []
    address = f"http://127.0.0.1:{port}/{base}/" if base else f"http://127.0.0.1:{port}/"
    with log.open("wb") as out:
        server = subprocess.Popen(
            command,
            cwd=ROOT,
            stdout=out,
            stderr=subprocess.STDOUT,
            env={**os.environ, **on_loop(), "HARMONY_INSPECTOR_CAPTURES": str(log.parent / "captures")},
        )
        try:
            waited(server, f"{address}_stcore/health", log)
            yield address
        finally:
            server.terminate()
            try:
                server.wait(15)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def pick(page: Page, box: Locator, words: str, *, typed: str = "") -> None:
    """Choose the first option with `words`, found by typing `typed` (the words themselves by default).

    Only the options in view are in the page, hence the typing. A page that is drawn anew closes a list
    that was just opened; then it is opened again.
    """
    option = page.get_by_role("option").filter(has_text=words).first
    for _ in range(OPENINGS):
        expect(box).to_have_count(1)
        try:  # a rerun may replace the box, and for a moment the page has both
            box.click()
            box.fill(typed or words)
            option.click(timeout=OPENED_WITHIN_MS)
        except Error:
            continue
        return
    pytest.fail(f"no option with {words!r} stays open long enough to be chosen")


def waited(server: "subprocess.Popen[bytes]", address: str, log: Path) -> None:
    """Until the app answers: each try waits on the connection, an exit of the process ends it."""
    for _ in range(STARTS_WITHIN_S * 5):
        try:
            with urllib.request.urlopen(address, timeout=5):  # noqa: S310 -- our own server
                return
        except (urllib.error.URLError, OSError):
            try:
                server.wait(0.2)
            except subprocess.TimeoutExpired:
                continue
            break
    pytest.fail(f"the app did not start:\n{log.read_text(errors='replace')}")


class Watched:
    """A page that remembers what must not happen: script errors, dialogs, requests to other machines."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.wrong: list[str] = []
        page.set_default_timeout(ANSWERS_WITHIN_MS)
        page.on("pageerror", lambda error: self.wrong.append(f"script error: {error}"))
        page.on("dialog", self._dialog)
        page.on("request", lambda request: self._request(request.url))

    def _dialog(self, dialog: Dialog) -> None:
        self.wrong.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _request(self, url: str) -> None:
        if not url.startswith(("http://127.0.0.1:", "file:", "data:", "blob:", "about:")):
            self.wrong.append(f"request to another machine: {url}")

    def check(self) -> None:
        """Fail when something of that happened since the last look."""
        wrong, self.wrong = self.wrong, []
        assert wrong == []


def reader(chromium: Browser, *, tokens: bool = True, **options: Any) -> BrowserContext:
    """A browser of someone who came before: nothing plays by itself, and "All tokens" was left open.

    Without `tokens` it is a first visit, but for the motion.
    """
    context = chromium.new_context(**{"reduced_motion": "reduce", **options})
    if tokens:
        context.add_init_script("localStorage.setItem('harmony-inspector-tokens', 'yes')")
    return context


@pytest.fixture
def open_page(chromium: Browser) -> Iterator[Callable[..., Page]]:
    """Pages of a given size in contexts of their own."""
    opened: list[Watched] = []

    def open_one(width: int = 1400, height: int = 900, **options: Any) -> Page:
        context = reader(chromium, viewport={"width": width, "height": height}, **options)
        opened.append(Watched(context.new_page()))
        return opened[-1].page

    yield open_one
    for watched in opened:
        watched.page.context.close()
    for watched in opened:
        watched.check()


@pytest.fixture(scope="package")
def bench(chromium: Browser) -> Iterator[Watched]:
    """One page for the strip alone, emptied for each test."""
    context = reader(chromium)
    context.route(f"{ALONE}**", _answer)
    yield Watched(context.new_page())
    context.close()


def _answer(route: Route) -> None:
    """The empty page and the modules, without a server."""
    name = route.request.url.removeprefix(ALONE)
    if not name:
        body = "<!doctype html><body style='margin:12px'><div id=host></div></body>"
        route.fulfill(body=body, content_type="text/html")
    elif (content := modules.FILES.get(name)) is not None:
        route.fulfill(body=content, content_type="text/javascript")
    else:
        route.fulfill(status=404, body="")


@pytest.fixture
def mount(bench: Watched) -> Iterator[Callable[..., Page]]:
    """The strip alone on an empty page: the component's own files, no Streamlit."""
    page = bench.page

    def mount_one(payload: dict[str, Any], *, width: int = 1100, height: int = 860, **head: Any) -> Page:
        page.set_viewport_size({"width": width, "height": height})
        page.goto(ALONE)
        page.evaluate(
            """async ([html, css]) => {
              const root = document.getElementById("host").attachShadow({ mode: "open" });
              root.innerHTML = `<style>${css}</style><div id="place">${html}</div>`;
              const draw = (await import("./ui/strip/component.js")).default;
              window.told = [];
              window.closings = [];
              window.show = (payload) => {
                const close = draw({
                  data: Uint8Array.from(atob(payload), (char) => char.charCodeAt(0)),
                  parentElement: root.getElementById("place"),
                  setStateValue: (name, value) => window.told.push(value),
                });
                window.closings.push(close);
                window.strip = root.querySelector(".hi").strip;
              };
            }""",
            [
                (UI / "strip/strip.html").read_text("utf-8"),
                styles(),
            ],
        )
        show(page, payload, **head)
        return page

    yield mount_one
    bench.check()


def show(page: Page, payload: dict[str, Any], **head: Any) -> None:
    """Hand a payload to a mounted strip."""
    told = {"digest": str(hash(json.dumps(payload))), "nonce": 1, "token": None, "finding": None, **head}
    sent = json.dumps(told).encode() + b"\n" + pack(cast(StripPayload, payload), digest="").content
    page.evaluate("sent => show(sent)", b64encode(sent).decode("ascii"))
