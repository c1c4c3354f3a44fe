"""The screenshots of the docs, taken from the running app.

    python -m tools.take_screenshots

Starts the app on a free port and drives Chromium; needs what requirements-dev.txt brings, chromium, and for
the notebook `pip install nbconvert ipykernel`.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import httpx
from playwright.sync_api import Page, ViewportSize, sync_playwright

from tests.support.listening import free_port

ROOT = Path(__file__).parent.parent
SCREENSHOTS = ROOT / "docs" / "screenshots"

LEAK = "?capture=chat-tool-call-leak-vllm-0.14.1&token=21"
SWALLOWED = "?capture=chat-unexpected-token-swallowed-vllm-0.32.0"
SHOTS = (
    ("replay", LEAK, 1400, 900, "light"),
    ("replay-dark", LEAK, 1400, 900, "dark"),
    ("replay-narrow", LEAK, 420, 900, "light"),
    ("replay-unexpected-token", SWALLOWED, 1400, 900, "light"),
)


def shoot(page: Page, name: str) -> None:
    """Keep the page as it is, once its picture is drawn."""
    page.wait_for_selector(".hi[data-ready]")
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(1_000)
    page.screenshot(path=SCREENSHOTS / f"{name}.png")


def shoot_live(page: Page, address: str) -> None:
    """What a newcomer sees who opens Live and presses Start, some seconds later."""
    page.goto(f"{address}/live")
    page.get_by_role("button", name="Start").click()
    page.get_by_text("leaked 2 reasoning tokens").first.wait_for()
    page.get_by_text("get_weather(…)").first.wait_for()
    page.screenshot(path=SCREENSHOTS / "live.png")


def shoot_probe(page: Page, address: str) -> None:
    """A probe of the built-in server, once it has ended."""
    page.goto(f"{address}/probe")
    page.get_by_role("button", name="Start", exact=True).click()
    page.get_by_text("responses").first.wait_for()
    page.wait_for_timeout(10_000)
    page.screenshot(path=SCREENSHOTS / "probe.png")


def shoot_table(page: Page, address: str, name: str) -> None:
    """A page of tables."""
    page.goto(f"{address}/{name}")
    page.get_by_role("table").or_(page.get_by_role("grid")).first.wait_for()
    page.wait_for_timeout(2_000)
    page.screenshot(path=SCREENSHOTS / f"{name.partition('?')[0]}.png")


CELL = (
    'import inspector\n\ninspector.inspect(inspector.load("fixtures/chat-tool-call-leak-vllm-0.14.1.jsonl"))'
)
NOTEBOOK = {
    "nbformat": 4,
    "nbformat_minor": 5,
    "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
    "cells": [
        {
            "cell_type": "code",
            "id": "leak",
            "metadata": {},
            "source": CELL,
            "outputs": [],
            "execution_count": None,
        }
    ],
}


def shoot_notebook(page: Page) -> None:
    """An inspection as the last line of a cell, run by a kernel."""
    command = [sys.executable, "-m", "nbconvert", "--execute", "--to", "html", "--stdin", "--stdout"]
    run = subprocess.run(
        command, cwd=ROOT, input=json.dumps(NOTEBOOK).encode(), stdout=subprocess.PIPE, check=True
    )
    page.route("https://**", lambda route: route.abort())
    page.set_content(run.stdout.decode())
    page.frame_locator("iframe").locator("canvas").first.wait_for()
    page.wait_for_timeout(1_000)
    page.locator(".jp-Cell").first.screenshot(path=SCREENSHOTS / "notebook.png")


def main() -> None:
    """Take them all."""
    port = free_port()
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    with (
        tempfile.TemporaryDirectory() as captures,
        tempfile.TemporaryFile() as log,
        subprocess.Popen(
            command,
            cwd=ROOT,
            stdout=log,
            stderr=log,
            env={**os.environ, "HARMONY_INSPECTOR_CAPTURES": captures},
        ) as app,
    ):
        try:
            with sync_playwright() as driver:
                chromium = driver.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
                with httpx.Client(transport=httpx.HTTPTransport(retries=9)) as client:
                    client.get(f"http://127.0.0.1:{port}/_stcore/health", timeout=60).raise_for_status()
                for name, query, width, height, scheme in SHOTS:
                    page = chromium.new_page(
                        viewport={"width": width, "height": height},
                        color_scheme="dark" if scheme == "dark" else "light",
                        reduced_motion="reduce",
                    )
                    page.goto(f"http://127.0.0.1:{port}/{query}")
                    shoot(page, name)
                    page.close()
                page = chromium.new_page(viewport={"width": 1400, "height": 900}, color_scheme="light")
                shoot_live(page, f"http://127.0.0.1:{port}")
                shoot_probe(page, f"http://127.0.0.1:{port}")
                for name in ("matrix?endpoint=chat&interval=3", "library"):
                    shoot_table(page, f"http://127.0.0.1:{port}", name)
                page.close()
                viewport = ViewportSize(width=1100, height=900)
                shoot_notebook(chromium.new_page(viewport=viewport, reduced_motion="reduce"))
                chromium.close()
        finally:
            app.terminate()


if __name__ == "__main__":
    main()
