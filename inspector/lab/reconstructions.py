"""Reconstructed tokens of the matrix's Responses captures against those that the model was made to sample."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from inspector.analysis.reading import read
from inspector.capture.capture import Capture, Endpoint
from inspector.lab.results import Run, captures_of, load_runs
from inspector.lab.score import Outcome
from inspector.lab.scripts import Script
from inspector.lab.scripts import load as load_scripts
from inspector.protocol.harmony.reconstruction import Certainty, Reconstruction
from inspector.protocol.wire.final_messages import reconstructed


class Told(StrEnum):
    """What the final object tells of the messages."""

    MESSAGES = "output_messages"
    ITEMS = "output items"
    """As without `enable_response_messages`."""


class Grade(StrEnum):
    """One reconstruction against the sampled tokens."""

    EXACT = "all ids right"
    BUT_FOR_STOP = "all ids right but the stop token"
    WHERE_CERTAIN = "right in all ids that are said to be certain"
    CANNOT_KNOW = "says that it cannot know"
    WRONG = "an id that is said to be certain is wrong"
    NO_FINAL = "no final object came"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One capture."""

    run: Run
    script: Script
    outcome: Outcome
    grade: Grade
    certainty: Certainty | None
    """None where the final object does not tell the messages."""
    missing: int


def matrix_reconstructions(folder: Path, told: Told) -> Iterator[Measured]:
    """Every Responses capture of every run in a folder."""
    for run in load_runs(folder):
        yield from run_reconstructions(run, told)


def run_reconstructions(run: Run, told: Told) -> Iterator[Measured]:
    """Every Responses capture of one run."""
    scripts = {script.name: script for script in load_scripts()}
    for endpoint, name, capture in captures_of(run, Endpoint.RESPONSES):
        final, found = _reconstruction(capture, told)
        yield Measured(
            run=run,
            script=scripts[name],
            outcome=run.scores[endpoint, name].outcome,
            grade=grade(found, scripts[name].sampled) if final else Grade.NO_FINAL,
            certainty=None if found is None else found.certainty,
            missing=0 if found is None else found.missing,
        )


def _reconstruction(capture: Capture, told: Told) -> tuple[bool, Reconstruction | None]:
    final: Any = read(capture).stream.final_object
    if final is None:
        return False, None
    if told is Told.ITEMS:
        final = {key: value for key, value in final.items() if key != "output_messages"}
    return True, reconstructed(final, limit=capture.header.request.get("max_output_tokens"))


def grade(found: Reconstruction | None, sampled: Sequence[int]) -> Grade:
    """How a reconstruction compares with the sampled ids."""
    if found is None or not found.confirmed:
        return Grade.CANNOT_KNOW
    if found.ids == tuple(sampled):
        return Grade.EXACT
    if len(found.ids) != len(sampled):
        return Grade.WRONG
    wrong = [place for place, token_id in enumerate(sampled) if found.ids[place] != token_id]
    if wrong == [len(sampled) - 1]:
        return Grade.BUT_FOR_STOP
    return Grade.WRONG if any(found.is_certain(place) for place in wrong) else Grade.WHERE_CERTAIN
