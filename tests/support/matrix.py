"""What the program says of every capture of the matrix, read once for all tests that ask."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import inspector
from inspector import Endpoint, Finding
from inspector.analysis.audit import FieldTexts, Rejection
from inspector.analysis.audit.verdict import Verdict
from inspector.inspection.inspection import Inspection
from inspector.matrix.results import MatrixRun, Score, all_runs, captures_of
from inspector.matrix.scripts import Script
from inspector.matrix.scripts import load as lab_scripts
from tests.support.tiers import part

__all__ = ["MatrixInspection", "inspections_of", "inspections_with_script"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixInspection:
    """What tests ask of an inspected capture; the whole of all of them would take too much memory."""

    script: Script
    endpoint: Endpoint
    score: Score
    findings: Sequence[Finding]
    verdict: Verdict
    stopped: Rejection | None
    errors: Sequence[str]
    """What the server told as errors."""
    ids: Sequence[int]
    """Tokens of the first choice."""
    has_final: bool
    """Whether a final object came."""
    fields: Sequence[FieldTexts]
    """The field tables of its choices."""


def _from_inspection(script: Script, score: Score, inspection: Inspection) -> MatrixInspection:
    return MatrixInspection(
        script=script,
        endpoint=inspection.reading.header.endpoint,
        score=score,
        findings=inspection.findings,
        verdict=inspection.verdict,
        stopped=inspection.rejection,
        errors=[error.message for error in inspection.transmission.errors],
        ids=inspection.reading.choice.tokens.ids,
        has_final=inspection.reading.stream.final_object is not None,
        fields=[field for choice in inspection.reading.choices for field in inspection.fields(choice)],
    )


def inspections_of(run: MatrixRun) -> Sequence[MatrixInspection]:
    """A run with its captures as a user has them: nothing is known but what the server sent.

    By the tier it is a part of the captures; which one depends on the run.
    """
    if run.name not in _INSPECTIONS:
        _INSPECTIONS[run.name] = [
            _from_inspection(_scripts()[name], run.scores[endpoint, name], inspector.inspect(capture))
            for endpoint, name, capture in part(captures_of(run), all_runs().index(run))
            if name in _scripts()
        ]
    return _INSPECTIONS[run.name]


def inspections_with_script(run: MatrixRun) -> Sequence[MatrixInspection]:
    """Captures of Responses of one turn, the script's tokens in place of the ids that are not sent."""
    return [
        _from_inspection(
            _scripts()[name],
            run.scores[endpoint, name],
            inspector.inspect(capture, truth=capture.header.script),
        )
        for endpoint, name, capture in part(captures_of(run, Endpoint.RESPONSES), all_runs().index(run))
        if name in _scripts() and len(_scripts()[name].turns) == 1
    ]


_INSPECTIONS: dict[str, Sequence[MatrixInspection]] = {}


@cache
def _scripts() -> Mapping[str, Script]:
    return {script.name: script for script in lab_scripts()}
