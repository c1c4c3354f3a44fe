"""Compare reconstructed tokens of the matrix's Responses captures with the sampled ones."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from inspector.analysis.reading import read
from inspector.capture.capture import Capture, Endpoint
from inspector.matrix.results import MatrixRun, ScriptOutcome, captures_of, load_runs
from inspector.matrix.scripts import Script
from inspector.matrix.scripts import load as load_scripts
from inspector.protocol.harmony.reconstruction import Certainty, Reconstruction
from inspector.protocol.wire.final_messages import reconstructed


class MessageSource(StrEnum):
    """The part of the final object from which tokens are reconstructed."""

    MESSAGES = "output_messages"
    ITEMS = "output items"
    """The only part without `enable_response_messages`."""


class Grade(StrEnum):
    """How a reconstruction compares with the sampled tokens."""

    EXACT = "all ids right"
    BUT_FOR_STOP = "all ids right but the stop token"
    WHERE_CERTAIN = "right in all ids that are said to be certain"
    CANNOT_KNOW = "says that it cannot know"
    WRONG = "an id that is said to be certain is wrong"
    NO_FINAL = "no final object came"


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedReconstruction:
    """The reconstruction of one capture."""

    run: MatrixRun
    script: Script
    outcome: ScriptOutcome
    grade: Grade
    certainty: Certainty | None
    """None if the final object has no messages."""
    missing: int


def matrix_reconstructions(folder: Path, source: MessageSource) -> Iterator[GradedReconstruction]:
    """Every Responses capture of every run in a folder."""
    for run in load_runs(folder):
        yield from run_reconstructions(run, source)


def run_reconstructions(run: MatrixRun, source: MessageSource) -> Iterator[GradedReconstruction]:
    """Every Responses capture of one run."""
    scripts = {script.name: script for script in load_scripts()}
    for endpoint, name, capture in captures_of(run, Endpoint.RESPONSES):
        final, reconstruction = _reconstruction(capture, source)
        yield GradedReconstruction(
            run=run,
            script=scripts[name],
            outcome=run.scores[endpoint, name].outcome,
            grade=grade(reconstruction, scripts[name].sampled) if final else Grade.NO_FINAL,
            certainty=None if reconstruction is None else reconstruction.certainty,
            missing=0 if reconstruction is None else reconstruction.missing,
        )


def _reconstruction(capture: Capture, source: MessageSource) -> tuple[bool, Reconstruction | None]:
    final: Any = read(capture).stream.final_object
    if final is None:
        return False, None
    if source is MessageSource.ITEMS:
        final = {key: value for key, value in final.items() if key != "output_messages"}
    return True, reconstructed(final, limit=capture.header.request.get("max_output_tokens"))


def grade(reconstruction: Reconstruction | None, sampled: Sequence[int]) -> Grade:
    """The grade of a reconstruction against the sampled token IDs."""
    if reconstruction is None or not reconstruction.confirmed:
        return Grade.CANNOT_KNOW
    if reconstruction.ids == tuple(sampled):
        return Grade.EXACT
    if len(reconstruction.ids) != len(sampled):
        return Grade.WRONG
    wrong = [place for place, token_id in enumerate(sampled) if reconstruction.ids[place] != token_id]
    if wrong == [len(sampled) - 1]:
        return Grade.BUT_FOR_STOP
    return Grade.WRONG if any(reconstruction.is_certain(place) for place in wrong) else Grade.WHERE_CERTAIN
