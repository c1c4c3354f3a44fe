"""Probes that pages start: they go on by themselves, can be stopped, and say why they never began."""

from pathlib import Path

from inspector.fleet.probe import Budget
from inspector.fleet.probe_registry import KEPT, ProbeRun, Probes
from inspector.net.runs.registry import Registry
from tests.support.answers import CHAT, DONE_EVENT, STREAM_EVENTS, counted
from tests.support.listening import free_port
from tests.support.probes import plan
from tests.support.raw_server import Answer, raw_server, stream

COMPLETE: dict[str, Answer] = {CHAT: lambda _: stream([*STREAM_EVENTS, DONE_EVENT])}


def test_a_probe_runs_beside_the_page_and_keeps_its_rows_in_the_folder_of_captures(tmp_path: Path) -> None:
    probes = Probes(Registry(tmp_path))
    with raw_server(COMPLETE) as server:
        run = probes.start(plan(server.v1, budget=Budget(requests=4)))
        assert probes.get(run.id) is run is probes.runs()[0]
        assert run.wait(120)
    assert run.probe is not None
    assert len(run.probe.rows) == 4
    assert (tmp_path / f"probe-{run.id}" / "rows.jsonl").read_text().count("\n") == 4


def test_stop_keeps_what_was_done() -> None:
    probes = Probes(Registry(None))
    answers, count = counted(20)
    with raw_server(answers) as server:
        run = probes.start(plan(server.v1, budget=Budget(requests=100_000)))
        assert count.wait(120)
        run.stop()
        assert run.wait(120)
    assert run.probe is not None
    assert run.probe.stopped
    assert 2 < len(run.probe.rows) < 100_000


def test_a_server_that_is_not_there_is_a_sentence() -> None:
    run = Probes(Registry(None)).start(plan(f"http://127.0.0.1:{free_port()}/v1"))
    assert run.wait(120)
    assert run.probe is None
    assert run.trouble.startswith("connection refused at")


def test_the_oldest_that_has_ended_gives_way() -> None:
    probes = Probes(Registry(None))
    address = f"http://127.0.0.1:{free_port()}/v1"

    def begun() -> ProbeRun:
        run = probes.start(plan(address))
        assert run.wait(120)
        return run

    first, *_, last = [begun() for _ in range(KEPT + 1)]
    assert probes.get(first.id) is None
    assert probes.get(last.id) is last
    assert probes.runs()[0] is last
