"""Runs that are stopped, started at once, or kept without a folder."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from inspector.files.store import load
from inspector.net.client.address import Server
from inspector.net.client.outcome import OutcomeKind
from inspector.net.runs.registry import Registry
from inspector.net.runs.run import LiveRun
from tests.support.answers import CHAT, DONE_EVENT, STREAM_EVENTS, answering
from tests.support.asked import REQUEST, ask, kinds
from tests.support.raw_server import RawRequest, raw_server, stream


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "captures"


def test_stop_during_prefill_tells_the_server_and_keeps_a_capture(folder: Path) -> None:
    requested = threading.Event()

    def waits(_: RawRequest) -> Iterator[bytes]:
        requested.set()
        while not server.release.wait(0.01):
            # An interim answer: a server sees only by writing that its client has gone.
            yield b"HTTP/1.1 100 Continue\r\n\r\n"

    with raw_server({CHAT: waits}) as server:
        registry = Registry(folder)
        run = registry.start(Server(base_url=server.v1), REQUEST)
        assert requested.wait(120)
        run.stop()
        assert registry.wait(run, 120)
        assert server.client_gone.wait(120)
    assert run.outcome.failure == "stopped by you"
    assert run.outcome.kind is OutcomeKind.STOPPED_BY_USER
    assert run.path is not None
    capture = load(run.path)
    assert capture.end is not None
    assert capture.end.cut
    assert capture.end.detail == "stopped by the client"
    assert capture.end.stopped


def test_stop_in_mid_stream_keeps_what_had_come(folder: Path) -> None:
    def endless(_: RawRequest) -> Iterator[bytes]:
        yield from stream(STREAM_EVENTS[:2], end=False)
        while not server.release.wait(0.01):
            yield b"4\r\n: \n\n\r\n"

    with raw_server({CHAT: endless}) as server:
        registry = Registry(folder)
        run = registry.start(Server(base_url=server.v1), REQUEST)
        while len(run.events) < 2 and not run.ended.wait(0.01):
            pass
        run.stop()
        run.stop()
        assert registry.wait(run, 120)
        assert server.client_gone.wait(120)
    assert run.path is not None
    capture = load(run.path)
    assert len(capture.events) >= 2
    assert capture.end is not None
    assert capture.end.cut


def test_two_starts_at_once_are_two_runs_with_a_file_each(folder: Path) -> None:
    with raw_server(answering([*STREAM_EVENTS, DONE_EVENT])) as server:
        registry = Registry(folder)
        target = Server(base_url=server.v1)
        live_runs: list[LiveRun] = []
        barrier = threading.Barrier(2)

        def start() -> None:
            barrier.wait()
            live_runs.append(registry.start(target, REQUEST))

        threads = [threading.Thread(target=start) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert all(registry.wait(run, 120) for run in live_runs)
    assert {run.id for run in registry.runs()} == {run.id for run in live_runs}
    assert len({run.path for run in live_runs}) == 2
    assert [kinds(load(run.path)) for run in live_runs if run.path] == [set(), set()]


def test_a_folder_that_cannot_be_written_leaves_the_run_in_memory(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    with raw_server(answering([*STREAM_EVENTS, DONE_EVENT])) as server:
        run, capture = ask(Server(base_url=server.v1), blocked / "captures")
    assert "cannot be created" in run.trouble
    assert "choose another folder" in run.trouble
    assert run.outcome.failure == ""
    assert kinds(capture) == set()
