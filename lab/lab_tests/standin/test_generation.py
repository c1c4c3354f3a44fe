"""One request of the engine: its steps and its end."""

from typing import Any

import pytest

from harmony_lab.standin.generation import EngineStep, Finish, Generation, generation_of
from harmony_lab.standin.layouts import layouts_of
from harmony_lab.standin.steps import schedule_of
from lab_tests.support.scripts import SOURCE

CALL, RETURN = 200012, 200002


def generated(
    steps: str = "3", tokens: tuple[int, ...] = (1, 2, 3, 4, 5, RETURN), **params: Any
) -> Generation:
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


def test_next_step_sizes_and_end_token() -> None:
    generation = generated()
    assert ids(generation) == [(1,), (2, 3, 4), (5, RETURN)]
    assert generation.finish is Finish.STOP


def test_next_step_stop_id() -> None:
    generation = generated(tokens=(1, CALL, 3, 4))
    generation.next_step()
    assert generation.next_step() == EngineStep((CALL,), Finish.STOP, CALL)


@pytest.mark.parametrize(("budget", "steps"), [(1, [(1,)]), (3, [(1,), (2, 3)]), (4, [(1,), (2, 3, 4)])])
def test_next_step_token_budget(budget: int, steps: list[tuple[int, ...]]) -> None:
    generation = generated(max_tokens=budget)
    assert ids(generation) == steps
    assert generation.finish is Finish.LENGTH


def test_next_step_stop_before_budget() -> None:
    generation = generated(tokens=(1, RETURN), max_tokens=2)
    ids(generation)
    assert generation.finish is Finish.STOP


def test_next_step_ignore_eos() -> None:
    assert ids(generated(tokens=(1, RETURN, 2, CALL), ignore_eos=True)) == [(1,), (RETURN, 2, CALL)]


def test_next_step_min_tokens() -> None:
    assert ids(generated(tokens=(RETURN, 1, RETURN), min_tokens=2)) == [(RETURN,), (1, RETURN)]


def test_next_step_after_the_last_token() -> None:
    assert ids(generated(tokens=(1,))) == [(1,), (RETURN,)]


def test_next_step_context_length() -> None:
    generation = generated(tokens=(1,) * 9, ignore_eos=True)
    generation.room = 2
    assert ids(generation) == [(1,), (1,)]
    assert generation.finish is Finish.LENGTH


def test_generation_of_newer_releases_end_token() -> None:
    assert generated(_eos_token_id=4).eos == 4
    assert generated(ignore_eos=True).eos is None


def test_generation_of_unstreamed_requests() -> None:
    assert generated(output_kind=1).streamed
    assert not generated(output_kind=2).streamed


def test_next_step_schedule_events() -> None:
    generation = generated("1+error@2")
    assert ids(generation) == [(1,), (2,)]
    assert generation.finish is Finish.ERROR
    dying = generated("1+stall:250@2+die@2")
    assert not dying.dies()
    dying.next_step()
    assert dying.dies()
    assert dying.wait_ms() == 250
