"""The first page of a fresh process: from the start of the program until the built-in capture is drawn.

    python -m bench.first_page [--rounds 3] [--after 0] [--root DIR]

`answers` is when the server first answers, `page` the time from the first request to the drawn strip, in a
browser that has been started before and has no cache. `--after` is how many seconds the browser waits between
the two. `--root` is another checkout, compared in one run.
Bytecode caching is on, as it is by default, so only the first start of a checkout compiles its modules.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from tests.support.listening import free_port

ROOT = Path(__file__).parent.parent
CHROMIUM = "/usr/bin/chromium"


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument(
        "--after", type=float, default=0, help="seconds from the first answer to the request"
    )
    options.add_argument("--root", type=Path, action="append", help="a checkout; again for another")
    arguments = options.parse_args()
    roots: list[Path] = arguments.root or [ROOT]
    times_by_root: dict[Path, list[tuple[float, float]]] = {root: [] for root in roots}
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        for _ in range(arguments.rounds):
            for root in roots:
                times_by_root[root].append(_round(browser, root, arguments.after))
        browser.close()
    for root, times in times_by_root.items():
        answers, page = (statistics.median(column) for column in zip(*times, strict=True))
        print(f"{root}: answers after {answers:.2f} s, page {page:.2f} s later (median of {len(times)})")


def _round(browser: Browser, root: Path, after_s: float) -> tuple[float, float]:
    port = free_port()
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    with tempfile.TemporaryFile() as log:
        started = time.monotonic()
        server = subprocess.Popen(command, cwd=root, env=environment, stdout=log, stderr=subprocess.STDOUT)
        try:
            address = f"http://127.0.0.1:{port}/"
            while not _answers(f"{address}_stcore/health"):
                time.sleep(0.02)
            answered = time.monotonic()
            time.sleep(after_s)
            page = browser.new_page(viewport={"width": 1400, "height": 900})
            requested = time.monotonic()
            page.goto(address)
            page.wait_for_selector(".hi[data-ready]", timeout=120_000)
            drawn = time.monotonic()
            page.close()
        finally:
            server.terminate()
            server.wait()
    return answered - started, drawn - requested


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=5) as answer:  # noqa: S310 -- our own server
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


if __name__ == "__main__":
    main()
