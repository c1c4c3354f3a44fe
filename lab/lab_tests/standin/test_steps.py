"""Schedules of the stand-in engine: sizes and events."""

from itertools import islice

import pytest

from harmony_lab.standin.steps import StepEvent, StepEventKind, schedule_of
from inspector.capture.errors import LabError


def sizes(text: str, number: int = 9) -> list[int]:
    return list(islice(schedule_of(text).sizes(), number))


def test_fixed_schedule() -> None:
    assert sizes("1", 4) == [1, 1, 1, 1]
    assert sizes("3", 4) == [1, 3, 3, 3]


def test_ragged_schedule() -> None:
    drawn = sizes("ragged:7", 200)
    assert drawn[0] == 1
    assert set(drawn[1:]) == set(range(1, 9))
    assert drawn == sizes("ragged:7", 200)
    assert drawn != sizes("ragged:8", 200)
    assert sizes("ragged", 50) == sizes("ragged:1", 50)


def test_burst_schedule() -> None:
    assert sizes("burst:16") == [1, 1, 1, 16, 1, 1, 1, 16, 1]


def test_schedule_events() -> None:
    schedule = schedule_of("3+stall:500@4+abort@6")
    assert schedule.at(4) == (StepEvent(StepEventKind.STALL, 4, 500),)
    assert schedule.at(5) == ()
    assert schedule.at(6) == (StepEvent(StepEventKind.ABORT, 6),)


@pytest.mark.parametrize(
    "text", ["", "0", "ragged:", "three", "3+", "3+stall@4", "3+die", "3+die@0", "burst"]
)
def test_schedule_of_rejects_other_text(text: str) -> None:
    with pytest.raises(LabError, match=r"is not a schedule of steps; use 3, ragged, ragged:7 or burst:16"):
        schedule_of(text)
