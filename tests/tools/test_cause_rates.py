"""The first cause named for each capture of the matrix, against the table of right causes."""

from collections.abc import Sequence
from functools import cache

import pytest

from inspector.files.store import FIXTURES
from tools.cause_rates import Mode, NamedCauses, fixture_names, matrix_names, unstreamed_names
from tools.causes import load

pytestmark = pytest.mark.sweep

TABLE = load()
FLOORS = {Mode.FULL: 0.98, Mode.UNVERSIONED: 0.975, Mode.DUMP: 0.97}
UNSTREAMED_FLOORS = {Mode.FULL: 1.0, Mode.DUMP: 0.985}


@cache
def names(mode: Mode) -> Sequence[NamedCauses]:
    return [*matrix_names(FIXTURES / "matrix", TABLE, mode), *fixture_names(FIXTURES, TABLE, mode)]


def right(named_causes: NamedCauses) -> bool:
    assert named_causes.right is not None, named_causes.place
    return (
        named_causes.by_verdict == named_causes.right.cause
        or named_causes.by_verdict in named_causes.right.also
    )


@pytest.mark.parametrize("mode", Mode)
def test_first_cause_of_streams(mode: Mode) -> None:
    named = names(mode)
    assert len(named) > 2500
    wrong = [
        f"{named_causes.place}: {named_causes.by_verdict}"
        for named_causes in named
        if not right(named_causes)
    ]
    assert len(wrong) <= len(named) * (1 - FLOORS[mode]), "\n".join(wrong)


@pytest.mark.parametrize("mode", list(UNSTREAMED_FLOORS))
def test_first_cause_of_unstreamed_responses(mode: Mode) -> None:
    named = list(unstreamed_names(FIXTURES / "matrix", TABLE, mode, each_once=True))
    assert len(named) > 1500
    assert not [named_causes.place for named_causes in named if named_causes.right is None]
    wrong = [
        f"{named_causes.place}: {named_causes.by_verdict}"
        for named_causes in named
        if not right(named_causes)
    ]
    assert len(wrong) <= len(named) * (1 - UNSTREAMED_FLOORS[mode]), "\n".join(wrong)


def test_stream_after_end_token_is_not_a_stale_generation_config() -> None:
    after_end = ("text_after_end", "dot_between", "text_between")
    named = [named_causes for named_causes in names(Mode.FULL) if named_causes.place.endswith(after_end)]
    assert named
    assert not [
        named_causes.place for named_causes in named if named_causes.by_verdict == "stale-generation-config"
    ]
