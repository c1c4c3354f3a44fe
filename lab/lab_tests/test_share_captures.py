"""Streams that are equal apart from ids and times are stored once."""

import json
from dataclasses import replace
from pathlib import Path

from harmony_lab.matrix import rescore
from harmony_lab.run_files import RunWriter
from harmony_lab.share_captures import share, stream_digest
from inspector.capture.capture import Capture, End, Endpoint, Event, Header
from inspector.matrix.results import capture_of, captures_of, load_runs
from inspector.matrix.scripts import named

PLAIN = named(["plain"])[0]


def recorded(version: str, number: int, text: str = "Hi") -> Capture:
    chunk = {"id": f"chatcmpl-{number:016x}", "created": 1000 + number, "choices": [], "text": text}
    return Capture(
        header=Header(
            endpoint=Endpoint.CHAT,
            status=200,
            script=PLAIN.sampled,
            server_version=version,
            started_at=f"2026-11-22T00:00:{number:02}+00:00",
            extra={"lab": {"script": "plain", "stream_interval": 3}},
        ),
        events=[Event(json.dumps(chunk), number / 10)],
        end=End(at_s=number / 5, cut=False),
    )


def test_ids_and_times_do_not_tell_streams_apart_and_everything_else_does() -> None:
    stream = recorded("0.32.0", 1)
    assert stream_digest(stream) == stream_digest(recorded("0.33.0", 2))
    assert stream_digest(stream) != stream_digest(recorded("0.32.0", 1, "Ho"))
    cut = replace(stream, end=End(at_s=0.2, cut=True, detail="gone"))
    assert stream_digest(stream) != stream_digest(cut)


def test_an_equal_stream_is_stored_once_and_opens_as_the_other_release_s(tmp_path: Path) -> None:
    for number, version in enumerate(("0.31.0", "0.32.0", "0.33.0"), start=1):
        shelf = RunWriter(tmp_path / "from", "vllm-frontend", version, "ragged")
        shelf.keep(Endpoint.CHAT, "plain", recorded(version, number, "Ho" if number == 1 else "Hi"))
        rescore(shelf)
        shelf.pack()
    assert share(tmp_path / "from", tmp_path / "to") == (3, 2)
    assert not (tmp_path / "to" / "vllm-frontend-0.33.0-siragged.zip").exists()
    shared_twice = share(tmp_path / "from", tmp_path / "to")
    assert shared_twice == (3, 2)
    first, second, third = load_runs(tmp_path / "to")
    assert third.kept_in == {(Endpoint.CHAT, "plain"): "vllm-frontend-0.32.0-siragged"}
    shared = capture_of(third, Endpoint.CHAT, "plain")
    assert shared is not None
    assert shared.header.server_version == "0.33.0"
    assert shared.header.extra["lab"]["recorded_with"] == "0.32.0"
    assert shared.events == recorded("0.32.0", 2).events
    assert [capture for _, _, capture in captures_of(third)] == [shared]
    assert not first.kept_in
    assert not second.kept_in


def test_scores_of_shared_streams_can_be_computed_again(tmp_path: Path) -> None:
    for number, version in enumerate(("0.32.0", "0.33.0"), start=1):
        shelf = RunWriter(tmp_path / "from", "vllm-rs", version, 1)
        shelf.keep(Endpoint.CHAT, "plain", recorded(version, number))
        rescore(shelf)
        shelf.pack()
    share(tmp_path / "from", tmp_path / "to")
    before = load_runs(tmp_path / "to")[1]
    rescored = rescore(RunWriter(tmp_path / "to", "vllm-rs", "0.33.0", 1))
    assert rescored.scores == before.scores
    assert rescored.kept_in == before.kept_in
