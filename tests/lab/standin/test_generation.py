"""One request of the engine: where its steps are cut, and when it ends."""

from typing import Any

import pytest

from inspector.lab.standin.generation import Finish, Generation, Step, generation_of
from inspector.lab.standin.layouts import layouts_of
from inspector.lab.standin.steps import schedule_of
from tests.support.lab import SOURCE

CALL, RETURN = 200012, 200002


def made(steps: str = "3", tokens: tuple[int, ...] = (1, 2, 3, 4, 5, RETURN), **params: Any) -> Generation:
    row = ["id", [7, 8], {"max_tokens": 100, "stop_token_ids": [CALL], **params}, RETURN]
    return generation_of(
        row,
        layouts_of(SOURCE, release="0.14.1").request,
        tokens=tokens,
        script="plain",
        schedule=schedule_of(steps),
        max_model_len=4096,
    )


def ids(generation: Generation) -> list[tuple[int, ...]]:
    while generation.finish is None:
        generation.next_step()
    return generation.steps


def test_steps_have_the_schedules_sizes_and_end_at_the_end_of_text() -> None:
    generation = made()
    assert ids(generation) == [(1,), (2, 3, 4), (5, RETURN)]
    assert generation.finish is Finish.STOP


def test_a_stop_id_ends_with_its_id_and_cuts_the_step() -> None:
    generation = made(tokens=(1, CALL, 3, 4))
    generation.next_step()
    assert generation.next_step() == Step((CALL,), Finish.STOP, CALL)


@pytest.mark.parametrize(("budget", "steps"), [(1, [(1,)]), (3, [(1,), (2, 3)]), (4, [(1,), (2, 3, 4)])])
def test_the_budget_ends_with_length(budget: int, steps: list[tuple[int, ...]]) -> None:
    generation = made(max_tokens=budget)
    assert ids(generation) == steps
    assert generation.finish is Finish.LENGTH


def test_a_stop_at_the_end_of_the_budget_is_a_stop() -> None:
    generation = made(tokens=(1, RETURN), max_tokens=2)
    ids(generation)
    assert generation.finish is Finish.STOP


def test_ignored_ends_of_text_go_on_and_stop_ids_do_not() -> None:
    assert ids(made(tokens=(1, RETURN, 2, CALL), ignore_eos=True)) == [(1,), (RETURN, 2, CALL)]


def test_nothing_ends_before_the_least_number_of_tokens() -> None:
    assert ids(made(tokens=(RETURN, 1, RETURN), min_tokens=2)) == [(RETURN,), (1, RETURN)]


def test_after_its_last_token_a_script_returns() -> None:
    assert ids(made(tokens=(1,))) == [(1,), (RETURN,)]


def test_the_context_is_a_budget_too() -> None:
    generation = made(tokens=(1,) * 9, ignore_eos=True)
    generation.room = 2
    assert ids(generation) == [(1,), (1,)]
    assert generation.finish is Finish.LENGTH


def test_end_of_text_is_found_among_the_parameters_of_newer_releases() -> None:
    assert made(_eos_token_id=4).eos == 4
    assert made(ignore_eos=True).eos is None


def test_unstreamed_requests_are_known_by_their_output_kind() -> None:
    assert made(output_kind=1).streamed
    assert not made(output_kind=2).streamed


def test_a_schedule_ends_or_kills_at_its_step() -> None:
    generation = made("1+error@2")
    assert ids(generation) == [(1,), (2,)]
    assert generation.finish is Finish.ERROR
    dying = made("1+stall:250@2+die@2")
    assert not dying.dies()
    dying.next_step()
    assert dying.dies()
    assert dying.wait_ms() == 250
