"""`compare --server-side --client-side`: captures of two taps, joined, with what happened between them."""

import json
from pathlib import Path

import httpx

from inspector.capture.capture import Capture
from inspector.files.store import save
from inspector.testing import serving
from tests.support.builtin import COMPLETE_CHAT
from tests.support.command import inspector
from tests.support.upstreams import tapped

BODY = {
    "model": COMPLETE_CHAT,
    "stream": True,
    "return_token_ids": True,
    "messages": [{"role": "user", "content": "hi"}],
}


def between_two_taps() -> tuple[Capture, Capture]:
    """What a tap behind another one, and that other one, record of one response."""
    with (
        serving() as server,
        tapped(f"{server.base_url}") as (behind, server_side),
        tapped(f"{behind}/v1") as (before, client_side),
    ):
        httpx.post(f"{before}/v1/chat/completions", json=BODY, timeout=60).raise_for_status()
        return server_side.capture(), client_side.capture()


def test_what_passes_unchanged_and_what_does_not(tmp_path: Path) -> None:
    server_side, client_side = between_two_taps()
    for folder in ("behind", "before", "lossy"):
        (tmp_path / folder).mkdir()
    save(server_side, tmp_path / "behind/a.jsonl")
    save(client_side, tmp_path / "before/a.jsonl")
    sides = ["--server-side", str(tmp_path / "behind/*.jsonl"), "--client-side"]
    passed = inspector("compare", *sides, str(tmp_path / "before/*.jsonl"))
    assert passed.returncode == 0, passed.stderr
    assert b"The gateway passed the response on with the same texts." in passed.stdout
    assert passed.stdout.decode().splitlines()[-1] == "1 response passed the gateway; it changed 0."

    text = (tmp_path / "before/a.jsonl").read_text("utf-8")
    (tmp_path / "lossy/a.jsonl").write_text(text.replace("Hello", ""), "utf-8")
    lossy = inspector("compare", *sides, str(tmp_path / "lossy/*.jsonl"), "--json")
    assert lossy.returncode == 1
    [row] = json.loads(lossy.stdout)
    assert row["gateway"]["outcome"] == "lost"
    assert row["gateway"]["words"].startswith("content: 5 of ")


def test_captures_that_do_not_fit_are_named(tmp_path: Path) -> None:
    server_side, _ = between_two_taps()
    _, other = between_two_taps()
    save(server_side, tmp_path / "behind.jsonl")
    save(other, tmp_path / "before.jsonl")
    sides = ["--server-side", str(tmp_path / "behind.jsonl"), "--client-side", str(tmp_path / "before.jsonl")]
    alone = inspector("compare", *sides)
    assert alone.returncode == 2
    assert b"behind.jsonl: no capture of the other side fits" in alone.stderr
    assert inspector("compare", *sides[:2]).returncode == 2
