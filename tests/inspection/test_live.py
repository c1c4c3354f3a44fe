"""Responses that are still arriving."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from inspector.capture.capture import Capture, Endpoint, Event, Header, end_line, event_line, header_line
from inspector.capture.errors import InspectorError
from inspector.files.store import load
from inspector.inspection.inspection import inspect
from inspector.inspection.live import LiveInspection, follow
from inspector.views.rows import audit_dict
from tests.support.builtin import CAPTURES


@pytest.mark.parametrize("name", CAPTURES)
def test_the_last_look_is_that_of_the_whole_capture_and_earlier_ones_do_not_change(name: str) -> None:
    capture = CAPTURES[name]
    live = LiveInspection(capture.header, name=name)
    steps = range(0, len(capture.events), max(len(capture.events) // 7, 1))
    earlier = []
    for start in steps:
        stop = min(start + steps.step, len(capture.events))
        live.receive(capture.events[start:stop])
        inspection = live.inspect()
        earlier.append((inspection, audit_dict(inspection)))
        assert "disconnected" not in {str(finding.kind) for finding in inspection.findings}
    live.receive([], capture.end)
    if capture.end is not None:
        assert audit_dict(live.inspect()) == audit_dict(inspect(capture, name=name))
    assert [audit_dict(inspection) for inspection, _ in earlier] == [row for _, row in earlier]


def test_nothing_follows_the_end() -> None:
    capture = next(recorded for recorded in CAPTURES.values() if recorded.end is not None)
    live = LiveInspection(capture.header)
    live.receive(capture.events, capture.end)
    with pytest.raises(InspectorError, match="has ended"):
        live.receive(capture.events)


def growing(path: Path, lines: list[str]) -> Iterator[None]:
    """Writes a capture in pieces that end anywhere, one for each time that the reader waits."""
    content = "".join(f"{line}\n" for line in lines).encode()
    yield  # the file does not exist yet
    with path.open("wb", buffering=0) as file:
        for start in range(0, len(content), 700):
            file.write(content[start : start + 700])
            yield


def test_a_growing_file_is_followed_to_its_end(tmp_path: Path) -> None:
    capture = CAPTURES["chat-tool-call-leak-vllm-0.14.1"]
    assert capture.end is not None
    path = tmp_path / "growing.jsonl"
    lines = [header_line(capture.header), *map(event_line, capture.events), end_line(capture.end)]
    writing = growing(path, lines)
    counts: list[int] = []
    verdicts = []
    for live in follow(path, sleep=lambda _: next(writing, None)):
        counts.append(live.events)
        verdicts.append(live.inspect().verdict)
    assert counts == sorted(counts)
    assert len(counts) > 3
    assert counts[-1] == len(capture.events)
    assert verdicts[-1] == inspect(load(path)).verdict
    assert verdicts[0].sentence.startswith("Unfinished")


def test_a_file_that_is_no_capture_is_not_followed(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_text("a log\n")
    with pytest.raises(InspectorError, match="the header line is truncated or not JSON"):
        next(follow(path))


@pytest.mark.parametrize("recorded", [True, False])
def test_a_recording_without_its_end_is_unfinished_and_another_file_may_be_an_excerpt(recorded: bool) -> None:
    choice = {"index": 0, "delta": {"role": "assistant", "content": "H"}}
    chunk = json.dumps({"object": "chat.completion.chunk", "choices": [choice]})
    header = Header(endpoint=Endpoint.CHAT, started_at="2026-11-20T10:00:00+00:00" if recorded else None)
    row = audit_dict(inspect(Capture(header=header, events=[Event(chunk, 0.1)])))
    assert row["unfinished"] is recorded
    assert row["findings"] == []
    assert row["verdict"]["level"] == "unknown"
    assert ("The recording has no last line" in " ".join(row["notes"])) is recorded
    rows = audit_dict(inspect(Capture(header=header, events=[Event(chunk), Event("[DONE]")])))
    assert not rows["unfinished"]
