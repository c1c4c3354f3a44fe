"""Memory of the dashboard under many sessions and streams.

    python -m bench.sessions [--sessions 8] [--streams 4] [--seconds 90] [--after 60]

Sessions rerun random pages over Streamlit's websocket, streams pass its tap, and readers follow their feeds.
Printed is the resident size after the first pages, at the end of the load, and some time later.
"""

import argparse
import asyncio
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import httpx
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import connect

from tests.support.builtin import CAPTURES
from tests.support.listening import free_port

ROOT: Final = Path(__file__).parents[1]
PAGES: Final = ("live", "replay", "library", "compare", "diagnose", "matrix", "probe", "replay")
_WARM_S: Final = 6.0


class DashboardLoad:
    """What reaches one dashboard until a time."""

    def __init__(self, address: str, folder: Path) -> None:
        self._address = address
        self._folder = folder
        self._random = random.Random(7)
        self.counts: Counter[str] = Counter()

    async def run(self, sessions: int, streams: int, seconds: float) -> None:
        """Load it for some time."""
        until_s = time.monotonic() + seconds
        await asyncio.gather(
            *(self._session(number, until_s) for number in range(sessions)),
            *(self._stream(until_s) for _ in range(streams)),
            *(self._feed(until_s) for _ in range(sessions)),
        )

    async def _session(self, number: int, until_s: float) -> None:
        address = f"{self._address.replace('http', 'ws', 1)}/_stcore/stream"
        async with connect(address, max_size=None) as websocket:
            while time.monotonic() < until_s:
                usual = self._random.random() < 0.7
                page = PAGES[number % len(PAGES)] if usual else self._random.choice(PAGES)
                message = BackMsg()
                message.rerun_script.page_name = page
                if page == "replay":
                    message.rerun_script.query_string = f"capture={self._random.choice(sorted(CAPTURES))}"
                await websocket.send(message.SerializeToString())
                answer = ForwardMsg()
                while answer.WhichOneof("type") != "script_finished":
                    raw = await websocket.recv()
                    answer.ParseFromString(raw if isinstance(raw, bytes) else raw.encode())
                self.counts["reruns"] += 1
                await asyncio.sleep(self._random.random())

    async def _stream(self, until_s: float) -> None:
        chat = sorted(name for name in CAPTURES if name.startswith("chat"))
        async with httpx.AsyncClient(timeout=60) as client:
            while time.monotonic() < until_s:
                model = self._random.choice(chat)
                body = {"model": model, "stream": True, "messages": [], "return_token_ids": True}
                url = f"{self._address}/tap/up/v1/chat/completions?tokens_per_s=25"
                async with client.stream("POST", url, json=body) as response:
                    async for _ in response.aiter_raw():
                        pass
                self.counts["streams"] += 1

    async def _feed(self, until_s: float) -> None:
        async with httpx.AsyncClient(timeout=60) as client:
            while time.monotonic() < until_s:
                files = sorted(self._folder.glob("*.jsonl"))[-4:]
                if files:
                    url = f"{self._address}/inspector/runs/{self._random.choice(files).stem}/feed"
                    async with client.stream("GET", url) as response:
                        async for line in response.aiter_lines():
                            self.counts["feed messages"] += line.startswith("data: ")
                await asyncio.sleep(0.2)


def started(environment: Mapping[str, str], *words: str) -> "subprocess.Popen[bytes]":
    """A Python module as a process of its own, which prints nothing here."""
    out = subprocess.DEVNULL
    return subprocess.Popen(
        [sys.executable, "-m", *words], cwd=ROOT, env={**environment}, stdout=out, stderr=out
    )


def resident_mib(process: int) -> int:
    """The resident size of a process."""
    [size] = re.findall(r"VmRSS:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
    return int(size) // 1024


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.sessions", description=__doc__)
    parser.add_argument("--sessions", type=int, default=8)
    parser.add_argument("--streams", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=90.0)
    parser.add_argument("--after", type=float, default=60.0)
    arguments = parser.parse_args()
    ports = free_port(), free_port()
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "HARMONY_INSPECTOR_CAPTURES": folder,
            "HARMONY_INSPECTOR_UPSTREAMS": f"up=http://127.0.0.1:{ports[0]}",
        }
        played = started(environment, "inspector", "play", "--port", str(ports[0]))
        app = started(environment, "streamlit", "run", "app.py", "--server.port", str(ports[1]))
        try:
            address = f"http://127.0.0.1:{ports[1]}"
            with httpx.Client(transport=httpx.HTTPTransport(retries=8)) as client:
                for port, path in zip(ports, ("/health", "/playback/health"), strict=True):
                    client.get(f"http://127.0.0.1:{port}{path}", timeout=60).raise_for_status()
            load = DashboardLoad(address, Path(folder))
            asyncio.run(load.run(arguments.sessions, arguments.streams, _WARM_S))
            sizes = [resident_mib(app.pid)]
            asyncio.run(load.run(arguments.sessions, arguments.streams, arguments.seconds))
            sizes.append(resident_mib(app.pid))
            time.sleep(arguments.after)
            sizes.append(resident_mib(app.pid))
        finally:
            for process in (app, played):
                process.kill()
                process.wait()
    counted = ", ".join(f"{number:,} {kind}" for kind, number in load.counts.items())
    print(f"{sizes[0]} MiB after the first pages, {sizes[1]} MiB after {counted}, {sizes[2]} MiB later")


if __name__ == "__main__":
    main()
