"""The Live page in Chromium at a steady rate: lag from arrival to screen, frames per second, tokens lost.

    python -m bench.live_browser --tokens 20000 --rate 2000

Starts the dashboard and a playback server with one long capture, watches the run in headless
Chromium and notes at every frame how many tokens the strip has. Lag is to 1 ms, on one clock.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Page, sync_playwright

from bench.live import stream
from inspector.analysis.metrics import quantile
from inspector.analysis.reading import read
from inspector.files.store import load, save
from tests.support.listening import free_port

ROOT = Path(__file__).parent.parent
WATCH = """() => {
  const find = () => [document, ...[...document.querySelectorAll("*")].map((e) => e.shadowRoot)]
    .map((root) => root?.querySelector?.(".hi")).find((strip) => strip?.strip?.model);
  window.frames_seen = [];
  let strip = null;
  const look = () => {
    if (!strip?.isConnected) strip = find();
    window.frames_seen.push([Date.now(), strip?.strip?.model?.count ?? 0]);
    requestAnimationFrame(look);
  };
  look();
}"""


def answers(address: str) -> None:
    """Wait until a server answers."""
    with httpx.Client(transport=httpx.HTTPTransport(retries=10), trust_env=False) as client:
        client.get(address, timeout=60)


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--tokens", type=int, default=20_000)
    options.add_argument("--rate", type=int, default=2000)
    arguments = options.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="bench-live-browser-"))
    save(stream(arguments.tokens), folder / "long.jsonl")
    player_port, port = free_port(), free_port()
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "HARMONY_INSPECTOR_CAPTURES": str(folder / "runs"),
    }
    play = [sys.executable, "-m", "inspector", "play", str(folder / "long.jsonl"), "--port", str(player_port)]
    play += ["--tokens-per-s", str(arguments.rate)]
    app = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    with (
        subprocess.Popen(play, cwd=ROOT, env=environment) as player,
        subprocess.Popen(app, cwd=ROOT, env=environment) as dashboard,
    ):
        try:
            answers(f"http://127.0.0.1:{player_port}/health")
            answers(f"http://127.0.0.1:{port}/playback/health")
            with sync_playwright() as driver:
                browser = driver.chromium.launch(
                    executable_path="/usr/bin/chromium",
                    args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
                )
                page = browser.new_page(viewport={"width": 1400, "height": 900})
                frames = watch(page, port, player_port, arguments)
                browser.close()
        finally:
            player.terminate()
            dashboard.terminate()
    report(frames, folder, arguments)


def watch(page: Page, port: int, player_port: int, arguments: argparse.Namespace) -> list[tuple[float, int]]:
    """Start the run on the page; moment and count of each frame until the last token shows."""
    page.set_default_timeout(60_000)
    page.goto(f"http://127.0.0.1:{port}/live")
    field = page.get_by_label("Server", exact=True)
    field.fill(f"http://127.0.0.1:{player_port}/v1")
    field.press("Enter")
    page.wait_for_function(
        "() => [...document.querySelectorAll('input')].some((one) => one.value === 'long')"
        " || [...document.querySelectorAll('[data-testid=stSelectbox]')]"
        ".some((one) => one.innerText.includes('long'))"
    )
    page.evaluate(WATCH)
    page.get_by_role("button", name="Start").click()
    page.wait_for_function(
        "count => (window.frames_seen.at(-1)?.[1] ?? 0) >= count",
        arg=arguments.tokens,
        timeout=(arguments.tokens / arguments.rate + 120) * 1000,
    )
    frames: list[Any] = page.evaluate("window.frames_seen")
    return [(moment / 1000, count) for moment, count in frames]


def report(frames: list[tuple[float, int]], folder: Path, arguments: argparse.Namespace) -> None:
    """Lag of each token, frames while the stream ran, tokens missing."""
    [path] = (folder / "runs").glob("*.jsonl")
    capture = load(path)
    reading = read(capture)
    began = datetime.fromisoformat(capture.header.started_at or "").timestamp()
    arrivals = [began + (reading.arrival_s(event) or 0.0) for event in reading.choice.tokens.events]
    drawn = next(moment for moment, count in frames if count)
    lags: list[float] = []
    drawn_count = 0
    for moment, count in frames:
        for place in range(drawn_count, min(count, len(arrivals))):
            if arrivals[place] > drawn:  # before that the page itself was loading
                lags.append(moment - arrivals[place])
        drawn_count = max(drawn_count, count)
    running = [moment for moment, _ in frames if drawn <= moment <= arrivals[-1]]
    per_s = len(running) / (running[-1] - running[0]) if len(running) > 1 else 0.0
    gaps = sorted(later - earlier for earlier, later in pairwise(running))
    third = max(1, len(lags) // 3)
    rate = len(arrivals) / (arrivals[-1] - arrivals[0])
    print(
        f"{len(arrivals):,} tokens at {rate:,.0f}/s ({arguments.rate:,}/s requested), "
        f"shown {frames[-1][1]:,}; "
        f"lag p50 {quantile(lags, 0.5) * 1000:.0f} ms, p95 {quantile(lags, 0.95) * 1000:.0f} ms "
        f"(first third {quantile(lags[:third], 0.95) * 1000:.0f}, "
        f"last third {quantile(lags[-third:], 0.95) * 1000:.0f}); "
        f"page loaded after {drawn - arrivals[0]:.1f} s; {per_s:.0f} frames/s, "
        f"longest frame {gaps[-1] * 1000 if gaps else 0:.0f} ms; "
        f"{time.strftime('%Y-%m-%d')}"
    )


if __name__ == "__main__":
    main()
