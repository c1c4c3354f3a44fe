"""How soon the Library page answers a filter, in headless Chromium.

python -m bench.library [--scan DIR] [--captures 10000] [--rounds 10]

Types a filter into the page of a scan and presses Enter; the times are those until the page shows its
sentence, and until it has drawn everything else. Without --scan, captures of 20 tokens are made first.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
from playwright.sync_api import Page, sync_playwright

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.scan import write_captures
from inspector.data.scan import Library, scan, summarise

ROOT = Path(__file__).parent.parent
PORT = 8609
BOX = "input[aria-label='Filter']"
FILTERS = (
    "kind = 'dropped' AND tokens > {}",
    "version IN ('0.23.0', '0.14.1') AND NOT tokens > {}",
    "finding(kind = 'misrouted' AND channel = 'analysis') OR tokens > {}",
    "name ILIKE '%{}%'",
)
ARM = """([sentence]) => {
  window.begun = performance.now(); window.answered = null; window.drawn = null;
  const look = () => {
    const shown = [...document.querySelectorAll("h1")].map((one) => one.innerText).join(" ");
    if (window.answered === null && shown.includes(sentence)) window.answered = performance.now();
    if (window.answered !== null &&
        document.querySelector("[data-testid=stApp]").dataset.testScriptState === "notRunning") {
      window.drawn = performance.now();
    } else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}"""


def answered(page: Page, words: str, sentence: str) -> tuple[float, float]:
    """Milliseconds from Enter to the sentence, and to the whole page."""
    page.fill(BOX, words)
    page.evaluate(ARM, [sentence])
    page.press(BOX, "Enter")
    page.wait_for_function("window.drawn !== null", timeout=60_000)
    times: list[float] = page.evaluate("[window.answered - window.begun, window.drawn - window.begun]")
    return times[0], times[1]


def measured(folder: Path, rounds: int) -> tuple[list[float], list[float], float]:
    """The times of all filters on the page, and the median of the same summaries without it."""
    environment = {**os.environ, "HARMONY_INSPECTOR_SCANS": str(folder), "HARMONY_INSPECTOR_CAPTURES": "none"}
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(PORT)]
    summary_ms = []
    with (
        Library(folder) as library,
        subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL) as app,
        sync_playwright() as driver,
    ):
        try:
            with httpx.Client(transport=httpx.HTTPTransport(retries=8)) as client:
                client.get(f"http://127.0.0.1:{PORT}/playback/health", timeout=60)
            browser = driver.chromium.launch(
                executable_path="/usr/bin/chromium",
                args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
            )
            page = browser.new_page(viewport={"width": 1400, "height": 1000})
            page.goto(f"http://127.0.0.1:{PORT}/library")
            page.wait_for_selector(BOX, timeout=60_000)
            page.wait_for_timeout(3000)
            sentences, page_s = [], []
            for number in range(rounds * len(FILTERS)):
                words = FILTERS[number % len(FILTERS)].format(20 + number)
                start = time.perf_counter()
                sentence = summarise(library, words).headline
                summary_ms.append(1000 * (time.perf_counter() - start))
                first, last = answered(page, words, sentence)
                if number >= len(FILTERS):  # the first of each are warmer of all caches
                    sentences.append(first)
                    page_s.append(last)
                page.wait_for_timeout(300)
            browser.close()
        finally:
            app.terminate()
    return sentences, page_s, statistics.median(summary_ms)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scan", metavar="DIR")
    parser.add_argument("--captures", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=10)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(arguments.scan or temporary) / ("" if arguments.scan else "scan")
        if not arguments.scan:
            write_captures(Path(temporary) / "captures", arguments.captures, 20)
            scan([f"{temporary}/captures"], folder)
        with Library(folder) as library:
            counts = library.counts()
        sentences, page_s, summary_ms = measured(folder, arguments.rounds)
    for name, times in (("sentence", sentences), ("whole page", page_s)):
        ordered = sorted(times)
        last = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
        print(f"{name}: p50 {statistics.median(times):.0f} ms, p95 {last:.0f} ms")
    print(f"{counts.captures:,} captures, {len(page_s)} filters; the summary alone: p50 {summary_ms:.0f} ms")


if __name__ == "__main__":
    main()
