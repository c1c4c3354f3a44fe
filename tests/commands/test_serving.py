"""`play` and `tap` as programs: which hosts they answer to."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from inspector.cli import main
from tests.support.listening import listening
from tests.support.programs import bounded
from tests.support.upstreams import Echo

ROOT = Path(__file__).parents[2]


@contextmanager
def command(*words: str) -> Iterator[str]:
    """A command that serves; its address."""
    started = subprocess.Popen(
        [sys.executable, "-m", "inspector", *words, "--port", "0"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with bounded(started) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            match = re.search(r"http://127\.0\.0\.1:\d+", line)
            assert match, line
            yield match[0]
        finally:
            process.send_signal(signal.SIGINT)


@pytest.mark.parametrize("name", ["tap", "play"])
def test_only_allowed_hosts_are_answered(name: str, tmp_path: Path) -> None:
    with listening(Echo()) as upstream:
        rest = ["--upstream", upstream, "--out", str(tmp_path)] if name == "tap" else []
        with command(name, *rest, "--allow-host", "proxy.example") as address:
            for path in ("/v1/models", "/version", "/control", "/none"):
                response = httpx.get(address + path, headers={"host": "rebound.example"})
                assert response.status_code == 403
                assert "--allow-host rebound.example" in response.text
            for host in ("localhost", "proxy.example:80", address.removeprefix("http://")):
                assert httpx.get(f"{address}/v1/models", headers={"host": host}).status_code == 200


def test_pages_of_an_allowed_origin_may_read_what_is_played_and_others_not() -> None:
    allowed_origin, other_origin = "http://localhost:5173", "http://evil.example"
    with command("play", "--allow-origin", allowed_origin) as address:
        url = f"{address}/v1/chat/completions"
        preflight = {
            "access-control-request-method": "POST",
            "access-control-request-headers": "authorization,content-type,x-stainless-lang",
        }
        for origin, allowed in ((allowed_origin, allowed_origin), (other_origin, None)):
            asked = httpx.options(url, headers={**preflight, "origin": origin})
            assert asked.headers.get("access-control-allow-origin") == allowed
            assert (asked.status_code == 200) is (allowed is not None)
            body = {"model": "playback", "stream": True, "messages": []}
            response = httpx.post(f"{url}?speed=inf", json=body, headers={"origin": origin})
            assert (response.status_code == 200) is (allowed is not None)
            assert response.headers.get("access-control-allow-origin") == allowed
        assert httpx.post(url, json=body, headers={"origin": address}).status_code == 200
    with command("play") as address:
        response = httpx.get(f"{address}/v1/models", headers={"origin": allowed_origin})
        assert "access-control-allow-origin" not in response.headers


@pytest.mark.parametrize("origin", ["localhost:1", "http://localhost:1/", "http://*.example", "HTTP://A", ""])
def test_an_origin_that_no_browser_sends_is_a_mistake(
    origin: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["play", "--allow-origin", origin])
    assert "for example http://localhost:5173" in capsys.readouterr().err
