"""Loads on real sockets: the built-in server, and servers that fail, defer, or reject what is asked."""

import asyncio
import json
import re
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import pytest
from starlette.applications import Starlette

from inspector.capture.capture import Endpoint
from inspector.capture.errors import ConnectionFailed, InspectorError, StoreError
from inspector.fleet.probe import Budget, ProbeLoad, Result, Sweep, prompts_of_text, summary
from inspector.fleet.probe.loads import levels_of
from inspector.fleet.probe.planning import Plan
from inspector.fleet.probe.reporting import summary_of
from inspector.fleet.probe.sender import retry_after
from inspector.net.playback import PlaybackSettings, playback_routes
from inspector.protocol.harmony.vocab import encode
from tests.support.answers import CHAT, DONE_EVENT, STREAM_EVENTS
from tests.support.builtin import CAPTURES, COMPLETE_CHAT, TOOL
from tests.support.listening import free_port, listening
from tests.support.probes import files, plan, probed
from tests.support.raw_server import Answer, RawRequest, page, raw_server, sse, stream
from tests.support.streams import chat_chunk

WHOLE_ANSWER: dict[str, Answer] = {CHAT: lambda _: stream([*STREAM_EVENTS, DONE_EVENT])}


@pytest.fixture(scope="module")
def playback() -> Iterator[str]:
    fast = PlaybackSettings().changed({"speed": "inf"})
    with listening(Starlette(routes=playback_routes(lambda: CAPTURES, prefix="", settings=fast))) as address:
        yield f"{address}/v1"


def test_workers_send_their_requests_and_every_response_is_audited(playback: str, tmp_path: Path) -> None:
    probe = probed(
        plan(
            playback,
            model=TOOL,
            load=ProbeLoad(concurrency=4),
            budget=Budget(requests=12),
            folder=tmp_path / "p",
        )
    )
    assert sorted(row.number for row in probe.rows) == list(range(12))
    assert {row.result for row in probe.rows} == {Result.DAMAGED}
    assert max(row.in_flight for row in probe.rows) <= 4
    assert len(files(tmp_path / "p")) == 12
    progress = probe.progress()
    assert (progress.done, progress.total, progress.damaged, progress.in_flight) == (12, 12, 12, 0)
    assert probe.targets[0].version is None, "the built-in server has no version of its own"


def test_endpoints_take_turns_and_completions_are_a_control(playback: str) -> None:
    probe = probed(
        plan(
            playback,
            model="playback",
            endpoints=[Endpoint.CHAT, Endpoint.RESPONSES],
            budget=Budget(requests=8),
            control=0.25,
            unstreamed=0.0,
        )
    )
    endpoints = [row.endpoint for row in sorted(probe.rows, key=lambda row: row.number)]
    assert endpoints.count(Endpoint.COMPLETIONS) == 2
    assert {Endpoint.CHAT, Endpoint.RESPONSES} <= set(endpoints)
    totals = summary(probe.rows)
    assert totals.control is not None
    assert (totals.control.requests, totals.total.requests) == (2, 6)


def test_a_fixed_rate_does_not_wait_for_responses() -> None:
    gate = threading.Event()

    def answer(_: RawRequest) -> Iterator[bytes]:
        gate.wait(120)
        return stream([*STREAM_EVENTS, DONE_EVENT])

    with raw_server({CHAT: answer}) as server:
        threading.Timer(0.5, gate.set).start()
        probe = probed(
            plan(server.v1, load=ProbeLoad(concurrency=50, rate=100.0), budget=Budget(requests=12))
        )
    assert len(probe.rows) == 12
    assert max(row.in_flight for row in probe.rows) > 4
    assert {row.level for row in probe.rows} == {0}


def test_failures_are_counted_with_their_reason_and_none_is_dropped() -> None:
    turn = count()

    def answer(_: RawRequest) -> Iterator[bytes]:
        match next(turn) % 4:
            case 0:
                return iter([page(500, '{"error": {"message": "boom"}}', "application/json")])
            case 1:
                return stream(STREAM_EVENTS, end=False)
            case 2:
                return stream(STREAM_EVENTS)
            case _:
                return stream([*STREAM_EVENTS, DONE_EVENT])

    with raw_server({CHAT: answer}) as server:
        probe = probed(plan(server.v1, budget=Budget(requests=8)))
    totals = summary(probe.rows)
    assert (totals.total.requests, totals.total.failed, totals.total.ok) == (8, 6, 2)
    assert {words: amount for words, amount, _ in totals.failures} == {
        "HTTP 500": 2,
        "broken off": 2,
        "no terminal event": 2,
    }
    assert any("boom" in sentence for _, _, sentence in totals.failures)


def test_a_busy_server_is_given_time_and_asked_again() -> None:
    turn = count()

    def answer(_: RawRequest) -> Iterator[bytes]:
        if next(turn) == 0:
            return iter([page(429, "{}", "application/json", extra="retry-after: 0\r\n")])
        return stream([*STREAM_EVENTS, DONE_EVENT])

    with raw_server({CHAT: answer}) as server:
        probe = probed(plan(server.v1, budget=Budget(requests=2)))
    assert [row.result for row in probe.rows] == [Result.OK, Result.OK]
    assert sorted(row.deferred for row in probe.rows) == [0, 1]


def test_a_server_that_asked_for_time_does_not_get_all_at_once_what_was_due_meanwhile() -> None:
    turn = count()

    def answer(_: RawRequest) -> Iterator[bytes]:
        if next(turn) == 0:
            return iter([page(503, "{}", "application/json", extra="retry-after: 1\r\n")])
        return stream([*STREAM_EVENTS, DONE_EVENT])

    with raw_server({CHAT: answer}) as server:
        load = ProbeLoad(concurrency=100, rate=50.0)
        probe = probed(plan(server.v1, load=load, budget=Budget(requests=40)))
    assert len(probe.rows) == 40
    assert max(row.in_flight for row in probe.rows) < 20


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("120", 120.0),
        ("Sun, 22 Nov 2026 18:00:30 GMT", 30.0),
        ("Sun, 22 Nov 2026 17:00:00 GMT", 0.0),
        ("Sunday, 22-Nov-26 18:00:30 GMT", 30.0),
        ("soon", None),
        ("22 Nov 2026 99999999999999999999:00:00 GMT", None),
        ("-1", None),
        ("999999", None),
        ("", None),
        (None, None),
    ],
)
def test_a_server_asks_for_seconds_or_names_a_date(header: str | None, seconds: float | None) -> None:
    assert retry_after(header, datetime(2026, 11, 22, 18, tzinfo=UTC)) == seconds


def test_a_server_that_knows_no_token_ids_is_asked_without_them_once_for_all() -> None:
    def answer(request: RawRequest) -> Iterator[bytes]:
        if "return_token_ids" in request.body:
            return iter([page(400, '{"detail": "Extra inputs are not permitted"}', "application/json")])
        return stream([*STREAM_EVENTS, DONE_EVENT])

    with raw_server({CHAT: answer}) as server:
        probe = probed(plan(server.v1, budget=Budget(requests=3)))
        requests = len(server.bodies(CHAT))
    assert requests == 4
    assert len(probe.rows) == 3
    assert any("rejected the key that asks for token IDs" in note for note in probe.notes)


@pytest.mark.parametrize("budget", [Budget(tokens=20), Budget(seconds=0.3), Budget(requests=3)])
def test_each_budget_ends_a_run(budget: Budget) -> None:
    with raw_server(WHOLE_ANSWER) as server:
        probe = probed(plan(server.v1, budget=budget))
    assert probe.rows
    assert not probe.stopped
    if budget.requests is not None:
        assert len(probe.rows) == 3


def test_two_servers_get_the_same_requests_in_alternating_order() -> None:
    with raw_server(WHOLE_ANSWER) as left, raw_server(WHOLE_ANSWER) as right:
        prompts = prompts_of_text("First\nSecond")
        probe = probed(plan(left.v1, right.v1, prompts=prompts, budget=Budget(requests=6)))
        left_bodies, right_bodies = left.bodies(CHAT), right.bodies(CHAT)
    assert left_bodies == right_bodies
    assert sorted(row.side for row in probe.rows) == ["A"] * 6 + ["B"] * 6
    totals = summary(probe.rows)
    assert totals.against is not None
    assert totals.against.p_value == 1.0


def test_a_sweep_stops_as_soon_as_it_is_certain(playback: str) -> None:
    sweep = Sweep(limit=8, smallest=0.3)
    clean = probed(plan(playback, model=COMPLETE_CHAT, sweep=sweep, budget=Budget()))
    assert sorted({row.level for row in clean.rows}) == [1, 2, 4, 8]
    assert clean.progress().at_level is None, "it has ended"
    assert all(sum(row.level == level for row in clean.rows) <= 20 + 8 for level in (1, 2, 4, 8))
    losing = probed(plan(playback, model=TOOL, sweep=sweep, budget=Budget()))
    assert {row.level for row in losing.rows} == {1}
    assert 20 <= len(losing.rows) <= 22
    assert summary_of(losing).sentence.startswith("Losses begin with one stream at a time")


@pytest.mark.slow
def test_a_sweep_narrows_down_where_losses_begin() -> None:
    lock, going = threading.Lock(), [0]
    lossy = [STREAM_EVENTS[0], sse(chat_chunk(encode("Think"), {})), *STREAM_EVENTS[2:], DONE_EVENT]
    barrier = threading.Event()

    def answer(_: RawRequest) -> Iterator[bytes]:
        with lock:
            going[0] += 1
        barrier.wait(0.3)
        with lock:
            loses_text = going[0] >= 6
            going[0] -= 1
        return stream(lossy if loses_text else [*STREAM_EVENTS, DONE_EVENT])

    with raw_server({CHAT: answer}) as server:
        probe = probed(plan(server.v1, sweep=Sweep(limit=16, smallest=0.4), budget=Budget()))
    levels = sorted({row.level for row in probe.rows})
    assert {1, 2, 4, 8} <= set(levels)
    assert set(levels) & {5, 6, 7}, "between the last load without a loss and the first with one"


def test_one_damaged_response_does_not_end_a_load() -> None:
    requests = count(1)
    lossy = [STREAM_EVENTS[0], sse(chat_chunk(encode("Think"), {})), *STREAM_EVENTS[2:], DONE_EVENT]

    def answer(_: RawRequest) -> Iterator[bytes]:
        return stream(lossy if next(requests) == 3 else [*STREAM_EVENTS, DONE_EVENT])

    with raw_server({CHAT: answer}) as server:
        probe = probed(plan(server.v1, sweep=Sweep(limit=2, smallest=0.2), budget=Budget()))
    assert {row.level for row in probe.rows} == {1, 2}
    assert sum(row.result is Result.DAMAGED for row in probe.rows) == 1
    assert summary_of(probe).smallest_losing is None
    assert summary_of(probe).sentence.startswith(
        "With up to 2 streams at once, a loss rate of 20% or more is ruled"
    )


@pytest.mark.parametrize(
    ("damaged", "loses"),
    [
        ([0] * 331, None),
        ([0] * 332, False),
        ([1] + [0] * 331, None),
        ([1] + [0] * 600, False),
        ([1] * 19, None),
        ([1] * 20, True),
        ([1] * 3 + [0] * 17, True),
        ([1] * 2 + [0] * 18, None),
        ([1] * 3 + [0] * 1000, True),
        ([0] * 400 + [1] * 400, False),
    ],
)
def test_a_load_is_decided_by_the_first_responses_that_suffice(
    damaged: list[int], loses: bool | None
) -> None:
    assert Sweep(smallest=0.01).loses(4, map(bool, damaged)) is loses


def test_a_load_waits_for_twice_as_many_responses_as_it_has_workers() -> None:
    assert Sweep(limit=64).loses(64, [True] * 127) is None
    assert Sweep(limit=64).loses(64, [True] * 128) is True


def test_in_flight_counts_the_requests_of_one_server() -> None:
    with raw_server(WHOLE_ANSWER) as left, raw_server(WHOLE_ANSWER) as right:
        probe = probed(plan(left.v1, right.v1, load=ProbeLoad(concurrency=3), budget=Budget(requests=12)))
    assert max(row.in_flight for row in probe.rows) <= 3


def test_a_warm_up_is_sent_and_not_counted() -> None:
    with raw_server(WHOLE_ANSWER) as server:
        probe = probed(plan(server.v1, warm_up=3, budget=Budget(requests=2)))
        assert len(server.bodies(CHAT)) == 5
    assert len(probe.rows) == 2


def test_levels_double_to_the_limit() -> None:
    assert list(levels_of(Sweep(limit=64))) == [1, 2, 4, 8, 16, 32, 64]
    assert list(levels_of(Sweep(limit=20))) == [1, 2, 4, 8, 16, 20]
    assert list(levels_of(Sweep(limit=1))) == [1]


def test_a_stopped_run_keeps_what_was_done_and_goes_on(playback: str, tmp_path: Path) -> None:
    probe_plan = plan(
        playback,
        model=COMPLETE_CHAT,
        load=ProbeLoad(concurrency=2),
        budget=Budget(requests=40),
        folder=tmp_path / "p",
    )

    async def stopped() -> int:
        probe = await probe_plan.prepared()
        task = asyncio.create_task(probe.run())
        while len(probe.rows) < 5:
            await asyncio.sleep(0.005)
        probe.stop()
        await task
        assert probe.stopped
        return len(probe.rows)

    rows_done = asyncio.run(stopped())
    assert 5 <= rows_done < 40
    resumed = probed(probe_plan)
    assert sorted(row.number for row in resumed.rows) == list(range(40))
    lines = (tmp_path / "p" / "rows.jsonl").read_text().splitlines()
    assert sorted(json.loads(line)["number"] for line in lines) == list(range(40))


def test_a_redacted_run_keeps_nothing_by_which_a_prompt_can_be_guessed(playback: str, tmp_path: Path) -> None:
    folder = tmp_path / "p"

    def asked(*prompts: str, requests: int) -> Plan:
        parsed = [probe_prompt for prompt in prompts for probe_prompt in prompts_of_text(prompt)]
        return plan(
            playback, model=TOOL, prompts=parsed, budget=Budget(requests=requests), folder=folder, redact=True
        )

    probed(asked("Attack at dawn", requests=2))
    contents = [path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()]
    probed(asked("Attack at dawn", requests=4))
    assert len((folder / "rows.jsonl").read_text().splitlines()) == 4, "it goes on"
    assert len(contents) == 4, "what was asked, rows, and two captures"
    assert "dawn" not in "".join(contents)
    for name in ("probe.json", "rows.jsonl"):
        assert not re.search("[0-9a-f]{32}", (folder / name).read_text()), "a digest answers every guess"
    with pytest.raises(StoreError, match="other requests"):
        probed(asked("Attack at dawn", "Attack at dusk", requests=4))


def test_a_disk_that_refuses_ends_the_run_with_its_reason(playback: str, tmp_path: Path) -> None:
    probe_plan = plan(playback, model=TOOL, budget=Budget(requests=50), folder=tmp_path / "p")

    async def run() -> str:
        probe = await probe_plan.prepared()
        (tmp_path / "p" / "captures").rmdir()
        await probe.run()
        return probe.trouble

    assert "the capture was not kept" in asyncio.run(run())


def test_a_server_that_is_not_there_is_said_before_anything_is_sent() -> None:
    with pytest.raises(ConnectionFailed, match="connection refused"):
        probed(plan(f"http://127.0.0.1:{free_port()}/v1"))
    with raw_server(WHOLE_ANSWER) as server, pytest.raises(ConnectionFailed):
        probed(plan(server.v1, model=""))


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InspectorError, match="invalid concurrency: 0"):
        ProbeLoad(concurrency=0)
    with pytest.raises(InspectorError, match="invalid rate"):
        ProbeLoad(rate=-1.0)
    with pytest.raises(InspectorError, match="invalid budget"):
        Budget(requests=0)
    with pytest.raises(InspectorError, match="invalid limit"):
        Sweep(limit=0)
    with pytest.raises(InspectorError, match="invalid smallest rate"):
        Sweep(smallest=0.9)
    with pytest.raises(InspectorError, match="a sweep tests one server"):
        plan("a", "b", sweep=Sweep())
    with pytest.raises(InspectorError, match="invalid warm-up"):
        plan("a", warm_up=-1)
    with pytest.raises(InspectorError, match="3 servers"):
        plan("a", "b", "c")
    with pytest.raises(InspectorError, match="nothing to send"):
        plan("a", prompts=())
    with raw_server(WHOLE_ANSWER) as server, pytest.raises(InspectorError, match="nothing ends this run"):
        probed(plan(server.v1, budget=Budget()))
