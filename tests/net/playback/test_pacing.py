"""The pace of an answer, on a clock that only sleeping moves."""

from typing import Any

import httpx
import pytest
from starlette.applications import Starlette

from inspector.capture.capture import Event
from inspector.net.playback import PlaybackSettings, playback_routes
from inspector.net.playback.pacing import due_times
from tests.support.builtin import CAPTURES, COMPLETE_CHAT, RESPONSES
from tests.support.listening import listening
from tests.support.playback import generated_ids


class SteppedClock:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.pauses: list[float] = []

    def __call__(self) -> float:
        return self.now_s

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now_s += seconds


def played(faults: str = "", **settings: Any) -> list[float]:
    """Pauses of one whole answer."""
    watch = SteppedClock()
    changed = PlaybackSettings(**settings).changed({"faults": faults})
    routes = playback_routes(lambda: CAPTURES, prefix="", settings=changed, clock=watch, sleep=watch.sleep)
    with listening(Starlette(routes=routes)) as at:
        body = {"model": COMPLETE_CHAT, "stream": True, "return_token_ids": True}
        httpx.post(f"{at}/v1/chat/completions", json=body).raise_for_status()
    return watch.pauses


def test_the_pauses_are_the_recorded_ones() -> None:
    times = [event.at_s or 0.0 for event in CAPTURES[COMPLETE_CHAT].events][:-2]
    assert sum(played()) == pytest.approx(max(times), abs=0.01)
    assert played()[0] == pytest.approx(times[0])


def test_speed_divides_the_pauses() -> None:
    assert sum(played(speed=4.0)) == pytest.approx(sum(played()) / 4, rel=0.01)


def test_infinite_speed_has_no_pause() -> None:
    assert played(speed=float("inf")) == []


def test_a_pace_in_tokens_takes_the_place_of_the_recorded_one() -> None:
    count = len(generated_ids(CAPTURES[COMPLETE_CHAT]))
    assert sum(played(tokens_per_s=10.0)) == pytest.approx(count / 10, abs=0.11)


def test_a_stall_is_one_long_pause() -> None:
    assert max(played("stall=5:7.5")) == pytest.approx(7.5, abs=0.5)
    assert sum(played("stall=5:7.5")) == pytest.approx(sum(played()) + 7.5, abs=0.01)


def test_events_without_times_come_at_a_steady_pace() -> None:
    assert due_times([Event("a"), Event("b"), Event("c")], speed=2.0, tokens_per_s=None) == [0.0, 0.01, 0.02]


def test_a_pace_counts_the_deltas_of_responses_which_have_no_ids() -> None:
    events = CAPTURES[RESPONSES].events
    deltas = sum('.delta"' in event.data for event in events)
    assert deltas > 5
    times = due_times(events, speed=1.0, tokens_per_s=10.0)
    assert times == sorted(times)
    assert times[-1] == pytest.approx(deltas / 10, abs=0.11)
