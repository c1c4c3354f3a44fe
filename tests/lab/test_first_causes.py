"""The first cause named for each capture of the matrix, against the table of right causes."""

from collections.abc import Sequence
from functools import cache

import pytest

from inspector.files.store import FIXTURES
from inspector.lab.causes import load
from inspector.lab.naming import Mode, Named, fixture_names, matrix_names, unstreamed_names

TABLE = load()
FLOORS = {Mode.WHOLE: 0.98, Mode.UNVERSIONED: 0.975, Mode.DUMP: 0.97}
UNSTREAMED_FLOORS = {Mode.WHOLE: 1.0, Mode.DUMP: 0.985}


@cache
def names(mode: Mode) -> Sequence[Named]:
    return [*matrix_names(FIXTURES / "matrix", TABLE, mode), *fixture_names(FIXTURES, TABLE, mode)]


def right(one: Named) -> bool:
    assert one.right is not None, one.place
    return one.by_verdict == one.right.cause or one.by_verdict in one.right.also


@pytest.mark.parametrize("mode", Mode)
def test_the_first_cause_is_right(mode: Mode) -> None:
    named = names(mode)
    assert len(named) > 2500
    wrong = [f"{one.place}: {one.by_verdict}" for one in named if not right(one)]
    assert len(wrong) <= len(named) * (1 - FLOORS[mode]), "\n".join(wrong)


@pytest.mark.parametrize("mode", list(UNSTREAMED_FLOORS))
def test_the_first_cause_of_a_response_that_was_not_streamed_is_right(mode: Mode) -> None:
    named = list(unstreamed_names(FIXTURES / "matrix", TABLE, mode, each_once=True))
    assert len(named) > 1500
    assert not [one.place for one in named if one.right is None]
    wrong = [f"{one.place}: {one.by_verdict}" for one in named if not right(one)]
    assert len(wrong) <= len(named) * (1 - UNSTREAMED_FLOORS[mode]), "\n".join(wrong)


def test_a_stream_that_ended_in_end_is_no_stale_generation_config() -> None:
    after_end = ("text_after_end", "dot_between", "text_between")
    named = [one for one in names(Mode.WHOLE) if one.place.endswith(after_end)]
    assert named
    assert not [one.place for one in named if one.by_verdict == "stale-generation-config"]
