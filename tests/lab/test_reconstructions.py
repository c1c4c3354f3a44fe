"""The matrix holds the reconstruction: equal to the sampled tokens, or it says that it cannot know."""

from collections import Counter

import pytest

from inspector.lab.reconstructions import Grade, Told, grade, run_reconstructions
from inspector.lab.results import all_runs
from inspector.protocol.harmony.reconstruction import reconstruct
from inspector.protocol.harmony.spelling import ReportedMessage as Message

FLOORS = {Told.MESSAGES: 995, Told.ITEMS: 675}
"""Captures whose ids are all right; `python -m bench.responses` counts them."""


@pytest.mark.parametrize("told", Told)
def test_reconstructed_tokens_are_those_sampled_or_it_says_that_it_cannot_know(told: Told) -> None:
    found = [one for run in all_runs() for one in run_reconstructions(run, told)]
    wrong = [(one.run.name, one.script.name) for one in found if one.grade is Grade.WRONG]
    assert wrong == []
    assert Counter(one.grade for one in found)[Grade.EXACT] >= FLOORS[told]


def test_a_wrong_id_is_graded_as_wrong() -> None:
    told = Message(text="Hello.", channels=("final",))
    found = reconstruct([[told]], total=len(reconstruct([[told]], total=None).ids))
    assert grade(found, found.ids) is Grade.EXACT
    assert grade(found, (*found.ids[:-1], 0)) is Grade.BUT_FOR_STOP
    assert grade(found, (0, *found.ids[1:])) is Grade.WRONG
    assert grade(found, found.ids[1:]) is Grade.WRONG
    assert grade(None, found.ids) is Grade.CANNOT_KNOW
