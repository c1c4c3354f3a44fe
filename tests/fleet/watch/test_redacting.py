"""Recordings that are redacted before they are written: by a tap, by a canary."""

import json
from dataclasses import replace
from pathlib import Path
from threading import Event as Flag
from typing import Any

from inspector.capture.capture import Capture, End, Event
from inspector.files.store import load
from inspector.fleet.watch import Retention, Watch
from inspector.fleet.watch.canary import Canary
from inspector.fleet.watch.redacting import RedactingSink
from inspector.inspection.inspection import inspect
from inspector.net.client.address import Server
from inspector.net.client.request import LiveRequest
from tests.support.answers import DONE_EVENT, STREAM_EVENTS, answering
from tests.support.builtin import CAPTURES, COMPLETE_CHAT, TOOL
from tests.support.counting_metrics import CountingMetrics, value
from tests.support.raw_server import raw_server
from tests.support.upstreams import ask, tapped


def test_a_tap_writes_only_what_is_redacted(tmp_path: Path) -> None:
    lines, written = list[str](), list[Path]()
    sink = RedactingSink(tmp_path, say=lines.append, finished=written.append)
    with (
        raw_server(answering([*STREAM_EVENTS, DONE_EVENT])) as server,
        tapped(server.v1, sink=sink) as (address, _),
    ):
        passed = ask(address, {"messages": [{"role": "user", "content": "My own secret text"}]})
        assert passed.content == b"".join([*STREAM_EVENTS, DONE_EVENT])
        sink.close()
    assert [path.name for path in tmp_path.iterdir()] == [path.name for path in written]
    capture = load(written[0])
    assert inspect(capture).findings == []
    assert inspect(capture).reading.choice.delivered().reasoning != "Think"
    assert "secret" not in written[0].read_text("utf-8")
    assert lines == [f"{written[0]}: 6 events, redacted"]
    sink.close()


def test_what_is_more_than_is_held_is_dropped_and_said(tmp_path: Path) -> None:
    lines, failed = list[str](), Flag()
    sink = RedactingSink(tmp_path, say=lines.append, failed=failed.set, most=3000)
    header = CAPTURES[TOOL].header
    run, second_run = sink.opened(header), sink.opened(header)
    for _ in range(20):
        sink.event(run, Event("x" * 200, 0.1))
    sink.ended(run, End(at_s=0.2, cut=False))
    assert failed.is_set()
    assert "was not kept" in lines[0]
    sink.event(second_run, Event("[DONE]", 0.1))
    sink.ended(second_run, End(at_s=0.2, cut=False))
    sink.close()
    assert len(list(tmp_path.iterdir())) == 1


def test_requests_count_as_what_is_held(tmp_path: Path) -> None:
    """Many open requests with long prompts take memory before any event has come."""
    lines = list[str]()
    sink = RedactingSink(tmp_path, say=lines.append, most=10_000)
    prompt: Any = "x" * 4_000
    for _ in range(2_000):  # deeper than a call of a function per level goes
        prompt = [prompt]
    header = replace(CAPTURES[TOOL].header, request={"messages": prompt})
    runs = [sink.opened(replace(header, request={"prompt": "x" * 6_000})), sink.opened(header)]
    for run in runs:
        sink.event(run, Event("[DONE]", 0.1))
        sink.ended(run, End(at_s=0.2, cut=False))
    sink.close()
    assert sum("was not kept" in line for line in lines) == 1
    assert len(list(tmp_path.iterdir())) == 1


def test_what_cannot_be_redacted_is_not_written(tmp_path: Path) -> None:
    deep = '{"choices":' + "[" * 600 + "]" * 600 + "}"
    lines, failed = list[str](), Flag()
    sink = RedactingSink(tmp_path, say=lines.append, failed=failed.set)
    run = sink.opened(Capture(header=CAPTURES[TOOL].header, events=[]).header)
    sink.event(run, Event(deep, 0.1))
    sink.ended(run, End(at_s=0.2, cut=False))
    sink.close()
    assert failed.is_set()
    assert "findings" in lines[0]
    assert list(tmp_path.iterdir()) == []


def test_a_canary_keeps_no_text(playback: str, tmp_path: Path) -> None:
    metrics = CountingMetrics()
    watch = Watch(metrics, Retention(tmp_path))
    requests = [LiveRequest(model=name, prompt="My own secret text") for name in (COMPLETE_CHAT, TOOL)]
    Canary(Server(base_url=playback), requests, tmp_path, watch, metrics, redact=True).once()
    metrics.wait(2)
    watch.close()
    assert value(metrics, "streams_total", verdict="clean") == 1
    assert value(metrics, "streams_total", verdict="error") == 1
    paths = list(tmp_path.glob("*.jsonl"))
    assert len(paths) == 2
    for path in paths:
        text = path.read_text("utf-8")
        assert "secret" not in text
        assert "weather" not in text
        assert "messages" in json.loads(text.splitlines()[0])["request"]
