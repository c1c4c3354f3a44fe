"""Speed of the Replay page in Chromium: a long capture from its upload to the screen, and a scrub step.

    python -m bench.page [--tokens 131072] [--rounds 3]

Starts the app, uploads a capture with one token per event, and measures the time from the response to the
upload until the strip has drawn it; then moves the time bar, jumps, presses keys and scrolls. Times are from
the page's own clock, so each includes layout and drawing of the frame. On a busy machine the app's CPU time
between the same two moments is more meaningful than the clock.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Error, Page, Request, sync_playwright

from bench.core import capture, stream
from inspector.capture.capture import render
from tests.support.listening import free_port

ROOT = Path(__file__).parent.parent
CHROMIUM = "/usr/bin/chromium"
WAIT_MS = 300_000

SHOWN = """key => new Promise(done => {
  const look = () => {
    const roots = [...document.querySelectorAll("*")].map(one => one.shadowRoot);
    const root = roots.find(one => one?.querySelector(".hi"));
    const strip = root?.querySelector(".hi");
    if (strip?.strip?.model?.count === key && root.querySelector(".cell"))
      requestAnimationFrame(() => setTimeout(() => { window.strip = strip.strip; done(Date.now()); }));
    else requestAnimationFrame(look);
  };
  look();
})"""

STEPS = """async () => {
  const { strip } = window, found = {};
  const frame = () => new Promise(done => requestAnimationFrame(() => setTimeout(done)));
  const timed = async (name, count, act) => {
    const times = [];
    for (let k = 0; k < count; k++) {
      await frame();
      const start = performance.now();
      act(k);
      await frame();
      times.push(performance.now() - start);
    }
    times.sort((a, b) => a - b);
    found[name] = [times[Math.floor(count / 2)], times[Math.floor(count * 0.95)]];
  };
  const scrub = strip.elements.scrub;
  await timed("scrub step", 60, k => {
    scrub.value = (k * 7919) % 10000;
    scrub.dispatchEvent(new Event("input"));
  });
  strip.time.moveTo(strip.model.count);
  await timed("jump to a token", 60, k => strip.select((k * 104729) % strip.model.count));
  await timed("key", 60, () =>
    strip.view.scroller.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true })));
  strip.view.scroller.scrollTop = 0;
  await timed("scroll by 300 px", 120, () => { strip.view.scroller.scrollTop += 300; });
  found.nodes = strip.root.querySelectorAll("*").length;
  return found;
}"""


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--tokens", type=int, default=131_072)
    options.add_argument("--rounds", type=int, default=3)
    arguments = options.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="bench-page-"))
    port = free_port()
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT)
        try:
            with sync_playwright() as driver:
                browser = driver.chromium.launch(
                    executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
                )
                page = browser.new_page(viewport={"width": 1400, "height": 900}, reduced_motion="reduce")
                page.add_init_script("localStorage.setItem('harmony-inspector-tokens', 'yes')")  # as read
                page.set_default_timeout(WAIT_MS)
                _open(page, f"http://127.0.0.1:{port}/")
                rounds = [
                    _upload(page, folder, arguments.tokens + number, server.pid)
                    for number in range(arguments.rounds)
                ]
                steps: dict[str, Any] = page.evaluate(STEPS)
                browser.close()
        finally:
            server.terminate()
            server.wait()
    print(f"{arguments.tokens:,} tokens, one per event; {arguments.rounds} rounds")
    for name, times in zip(
        ("upload to screen", "of which CPU time of the app"), zip(*rounds, strict=True), strict=True
    ):
        print(f"  {name:26} median {statistics.median(times):.2f} s  min {min(times):.2f} s")
    nodes = steps.pop("nodes")
    for name, (median, late) in steps.items():
        print(f"  {name:26} median {median:.0f} ms  p95 {late:.0f} ms")
    print(f"  {'DOM elements of the strip':26} {nodes:,}")


def _open(page: Page, address: str) -> None:
    """The first page, once the app answers."""
    for _ in range(600):
        try:
            page.goto(address)
            break
        except Error:  # not up yet
            time.sleep(0.2)
    page.wait_for_selector(".hi[data-ready]")


def _upload(page: Page, folder: Path, tokens: int, app: int) -> tuple[float, float]:
    """Seconds from the end of the upload to the strip on screen, and the app's CPU seconds in that time."""
    path = folder / f"{tokens}.jsonl"
    path.write_text("".join(f"{line}\n" for line in render(capture(stream(tokens), 1))), "utf-8")
    ended: list[tuple[float, float]] = []

    def note(request: Request) -> None:
        if "upload_file" in request.url:
            ended.append((_end(request), _processor(app)))

    page.on("requestfinished", note)
    page.locator("input[type=file]").set_input_files(path)
    drawn: float = page.evaluate(SHOWN, tokens)
    used = _processor(app)
    page.remove_listener("requestfinished", note)
    return (drawn - ended[-1][0]) / 1000, used - ended[-1][1]


def _processor(process: int) -> float:
    """CPU seconds that a process has used (Linux)."""
    fields = Path(f"/proc/{process}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _end(request: Request) -> float:
    timing = request.timing
    return float(timing["startTime"] + timing["responseEnd"])


if __name__ == "__main__":
    main()
