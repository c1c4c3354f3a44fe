"""The dashboard as the README starts it, in a process of its own."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.support.listening import free_port
from tests.support.loops import has_uvloop, on_loop

__all__ = ["dashboard"]

_ROOT = Path(__file__).parents[2]


@contextmanager
def dashboard(
    captures: Path, upstreams: str, *options: str, loop: str = "asyncio", **environment: str
) -> Iterator[str]:
    """The app with upstreams, and Streamlit's options, on an event loop; its address."""
    port = free_port()
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port), *options]
    variables = {"HARMONY_INSPECTOR_CAPTURES": str(captures), "HARMONY_INSPECTOR_UPSTREAMS": upstreams}
    with subprocess.Popen(
        command,
        cwd=_ROOT,
        env={**os.environ, **on_loop(loop), **variables, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as app:
        try:
            transport = httpx.HTTPTransport(retries=8)
            with httpx.Client(transport=transport, base_url=f"http://127.0.0.1:{port}") as client:
                assert client.get("/playback/health", timeout=180).status_code == 200
            assert has_uvloop(app.pid) in {None, loop == "uvloop"}
            yield f"http://127.0.0.1:{port}"
        finally:
            app.kill()
