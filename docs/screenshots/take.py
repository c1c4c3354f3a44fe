"""The screenshots of the docs, taken from the running app.

    python docs/screenshots/take.py

Starts the app on a free port and drives Chromium; needs what requirements-dev.txt brings, and chromium.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT))

from inspector.lab.process import free_port  # noqa: E402 -- the path first

LEAK = "?capture=chat-tool-call-leak-vllm-0.14.1&token=21"
SWALLOWED = "?capture=chat-unexpected-token-swallowed-vllm-0.32.0"
SHOTS = (
    ("replay", LEAK, 1400, 900, "light"),
    ("replay-dark", LEAK, 1400, 900, "dark"),
    ("replay-narrow", LEAK, 420, 900, "light"),
    ("replay-unexpected-token", SWALLOWED, 1400, 900, "light"),
)


def shoot(page: Page, name: str) -> None:
    """Keep the page as it is, once its strip and the texts under it are drawn."""
    page.wait_for_selector(".hi[data-ready] .cell.selected")
    page.wait_for_selector(".fields .text")
    page.wait_for_load_state("networkidle")
    page.screenshot(path=HERE / f"{name}.png")


def main() -> None:
    """Take them all."""
    port = free_port()
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    with tempfile.TemporaryFile() as log, subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log) as app:
        try:
            with sync_playwright() as driver:
                chromium = driver.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
                request = driver.request.new_context()
                request.get(f"http://127.0.0.1:{port}/_stcore/health", max_retries=20, timeout=60_000)
                for name, query, width, height, scheme in SHOTS:
                    page = chromium.new_page(
                        viewport={"width": width, "height": height},
                        color_scheme="dark" if scheme == "dark" else "light",
                    )
                    page.goto(f"http://127.0.0.1:{port}/{query}")
                    shoot(page, name)
                    page.close()
                chromium.close()
        finally:
            app.terminate()


if __name__ == "__main__":
    main()
