"""One interrupt ends a program that serves, while streams are open; captures say who ended them."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from inspector.files.store import load
from inspector.inspection.inspection import inspect
from tests.support.answers import CHAT, STREAM_EVENTS
from tests.support.listening import free_port
from tests.support.programs import bounded
from tests.support.raw_server import RawRequest, chunked, raw_server, stream

ROOT = Path(__file__).parents[2]
ENDS_WITHIN_S = 30


def address_of(process: "subprocess.Popen[str]", name: str, port: int) -> str:
    """Where the program listens, once it does."""
    if name == "tap":
        assert process.stdout is not None
        match = re.match(r"(http://\S+)/v1 ->", process.stdout.readline())
        assert match
        return match[1]
    with httpx.Client(transport=httpx.HTTPTransport(retries=8)) as client:
        assert client.get(f"http://127.0.0.1:{port}/playback/health", timeout=180).status_code == 200
    return f"http://127.0.0.1:{port}/tap/up"


@pytest.mark.parametrize("name", ["dashboard", "tap"])
def test_one_interrupt_ends_it_while_a_stream_is_open_and_blames_nobody(name: str, tmp_path: Path) -> None:
    def endless(_: RawRequest) -> Iterator[bytes]:
        yield from stream(STREAM_EVENTS[:2], end=False)
        while not server.release.wait(0.05):
            yield chunked(b": \n\n")

    captures, port = tmp_path / "captures", free_port()
    with raw_server({CHAT: endless}) as server:
        words = [
            "-m",
            "inspector",
            "tap",
            "--upstream",
            server.v1,
            "--out",
            str(captures),
            "--port",
            "0",
        ]
        if name == "dashboard":
            words = ["-m", "streamlit", "run", "app.py", "--server.port", str(port)]
        variables = {
            "HARMONY_INSPECTOR_CAPTURES": str(captures),
            "HARMONY_INSPECTOR_UPSTREAMS": f"up={server.address}",
        }
        started = subprocess.Popen(
            [sys.executable, *words],
            cwd=ROOT,
            env={**os.environ, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        with bounded(started) as process:
            try:
                address = address_of(process, name, port)
                first_bytes, ended = threading.Event(), threading.Event()

                def read() -> None:
                    try:
                        with httpx.stream("POST", address + CHAT, json={"model": "m"}, timeout=180) as answer:
                            for _ in answer.iter_raw():
                                first_bytes.set()
                    except httpx.HTTPError:
                        ended.set()

                reader = threading.Thread(target=read)
                reader.start()
                assert first_bytes.wait(120)
                process.send_signal(signal.SIGINT)
                process.wait(ENDS_WITHIN_S)
                reader.join(10)
            finally:
                process.kill()
    assert ended.is_set(), "the stream was not cut"
    (file,) = captures.iterdir()
    capture = load(file)
    assert capture.end is not None
    assert capture.end.detail == "the tap was stopped"
    assert "client" not in inspect(capture).verdict.sentence
