"""Schedules of the stand-in engine: sizes, and what happens at which step."""

from itertools import islice

import pytest

from inspector.capture.errors import LabError
from inspector.lab.standin.steps import Happening, Turn, schedule_of


def sizes(text: str, number: int = 9) -> list[int]:
    return list(islice(schedule_of(text).sizes(), number))


def test_a_fixed_schedule_begins_with_the_token_of_the_prefill() -> None:
    assert sizes("1", 4) == [1, 1, 1, 1]
    assert sizes("3", 4) == [1, 3, 3, 3]


def test_ragged_steps_have_one_to_eight_tokens_and_depend_on_the_seed_alone() -> None:
    drawn = sizes("ragged:7", 200)
    assert drawn[0] == 1
    assert set(drawn[1:]) == set(range(1, 9))
    assert drawn == sizes("ragged:7", 200)
    assert drawn != sizes("ragged:8", 200)
    assert sizes("ragged", 50) == sizes("ragged:1", 50)


def test_bursts_come_every_fourth_step() -> None:
    assert sizes("burst:16") == [1, 1, 1, 16, 1, 1, 1, 16, 1]


def test_what_happens_is_read_with_its_step() -> None:
    schedule = schedule_of("3+stall:500@4+abort@6")
    assert schedule.at(4) == (Turn(Happening.STALL, 4, 500),)
    assert schedule.at(5) == ()
    assert schedule.at(6) == (Turn(Happening.ABORT, 6),)


@pytest.mark.parametrize(
    "text", ["", "0", "ragged:", "three", "3+", "3+stall@4", "3+die", "3+die@0", "burst"]
)
def test_what_is_no_schedule_is_told_with_what_may_be_written(text: str) -> None:
    with pytest.raises(LabError, match=r"is not a schedule of steps; use 3, ragged, ragged:7 or burst:16"):
        schedule_of(text)
