"""Reconstructed tokens of the matrix equal the sampled ones, or are marked as uncertain."""

from collections import Counter

import pytest

from inspector.matrix.results import all_runs
from inspector.protocol.harmony.reconstruction import reconstruct
from inspector.protocol.harmony.spelling import ReportedMessage as Message
from tools.reconstruction_rates import Grade, MessageSource, grade, run_reconstructions

FLOORS = {MessageSource.MESSAGES: 995, MessageSource.ITEMS: 675}
"""Captures with all IDs right; `python -m bench.responses` counts them."""


@pytest.mark.sweep
@pytest.mark.parametrize("source", MessageSource)
def test_no_reconstruction_is_wrong_where_certain(source: MessageSource) -> None:
    reconstructions = [graded for run in all_runs() for graded in run_reconstructions(run, source)]
    wrong = [
        (graded.run.name, graded.script.name) for graded in reconstructions if graded.grade is Grade.WRONG
    ]
    assert wrong == []
    assert Counter(graded.grade for graded in reconstructions)[Grade.EXACT] >= FLOORS[source]


def test_grade() -> None:
    message = Message(text="Hello.", channels=("final",))
    reconstruction = reconstruct([[message]], total=len(reconstruct([[message]], total=None).ids))
    assert grade(reconstruction, reconstruction.ids) is Grade.EXACT
    assert grade(reconstruction, (*reconstruction.ids[:-1], 0)) is Grade.BUT_FOR_STOP
    assert grade(reconstruction, (0, *reconstruction.ids[1:])) is Grade.WRONG
    assert grade(reconstruction, reconstruction.ids[1:]) is Grade.WRONG
    assert grade(None, reconstruction.ids) is Grade.CANNOT_KNOW
