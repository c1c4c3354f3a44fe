"""A folder of captures, one file an answer."""

import asyncio
from pathlib import Path

import httpx
import pytest

from inspector.analysis.reading import read
from inspector.capture.capture import Capture, Endpoint, Header
from inspector.capture.errors import StoreError
from inspector.files.store import load
from inspector.net.client.recorder import Recorder
from inspector.net.tap import FolderSink
from tests.support.builtin import COMPLETE_CHAT, RESPONSES, TEXT
from tests.support.upstreams import tapped


def test_a_folder_that_cannot_be_written_is_refused_before_anything_passes(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot write captures there"):
        FolderSink(tmp_path / "file" / "captures")


def captures_in(folder: Path) -> list[Capture]:
    return [load(path) for path in sorted(folder.iterdir())]


def test_a_folder_holds_one_file_an_answer(playback: str, tmp_path: Path) -> None:
    lines: list[str] = []
    with tapped(playback, sink=FolderSink(tmp_path / "new" / "folder", say=lines.append)) as (address, _):
        for name in (COMPLETE_CHAT, RESPONSES):
            path = "responses" if name == RESPONSES else "chat/completions"
            httpx.post(f"{address}/v1/{path}", json={"model": name, "stream": True})
    by_endpoint = {capture.header.endpoint: capture for capture in captures_in(tmp_path / "new" / "folder")}
    assert set(by_endpoint) == {Endpoint.CHAT, Endpoint.RESPONSES}
    assert read(by_endpoint[Endpoint.CHAT]).choice.delivered().content == TEXT
    assert len(lines) == 2
    assert all("events, complete" in line for line in lines)


def test_a_long_event_is_written_in_a_turn_of_its_own(tmp_path: Path) -> None:
    async def recorded() -> int:
        recorder = Recorder(Header(endpoint=Endpoint.CHAT), FolderSink(tmp_path))
        recorder.response(200, {"content-type": "text/event-stream"})
        for _ in recorder.steps(b"data: " + b"x" * 2_000_000 + b"\n\n"):
            await asyncio.sleep(0)
        [file] = tmp_path.iterdir()
        written = file.stat().st_size
        recorder.close()
        return written

    assert asyncio.run(recorded()) > 2_000_000
