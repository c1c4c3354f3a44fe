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

__all__ = ["Seen", "seen", "seen_with_script"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
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


def _told(script: Script, score: Score, one: Inspection) -> Seen:
    return Seen(
        script=script,
        endpoint=one.reading.header.endpoint,
        score=score,
        findings=one.findings,
        verdict=one.verdict,
        stopped=one.rejection,
        errors=[error.message for error in one.transmission.errors],
        ids=one.reading.choice.tokens.ids,
        has_final=one.reading.stream.final_object is not None,
        fields=[field for choice in one.reading.choices for field in one.fields(choice)],
    )


def seen(run: MatrixRun) -> Sequence[Seen]:
    """A run with its captures as a user has them: nothing is known but what the server sent.

    By the tier it is a part of the captures; which one depends on the run.
    """
    if run.name not in _SEEN:
        _SEEN[run.name] = [
            _told(_scripts()[name], run.scores[endpoint, name], inspector.inspect(capture))
            for endpoint, name, capture in part(captures_of(run), all_runs().index(run))
            if name in _scripts()
        ]
    return _SEEN[run.name]


def seen_with_script(run: MatrixRun) -> Sequence[Seen]:
    """Captures of Responses of one turn, the script's tokens in place of the ids that are not sent."""
    return [
        _told(
            _scripts()[name],
            run.scores[endpoint, name],
            inspector.inspect(capture, truth=capture.header.script),
        )
        for endpoint, name, capture in part(captures_of(run, Endpoint.RESPONSES), all_runs().index(run))
        if name in _scripts() and len(_scripts()[name].turns) == 1
    ]


_SEEN: dict[str, Sequence[Seen]] = {}


@cache
def _scripts() -> Mapping[str, Script]:
    return {script.name: script for script in lab_scripts()}
