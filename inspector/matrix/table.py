"""The matrix of one endpoint as a table: classes of scripts, their scripts, and totals for each release."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from inspector.capture.capture import Endpoint
from inspector.matrix.results import MatrixRun, ScriptOutcome
from inspector.matrix.scripts import Script, ScriptClass

Outcomes = tuple[ScriptOutcome | None, ...]
"""One outcome for each run; None where the script was not recorded."""


class ScriptRow(NamedTuple):
    """A script and its outcomes."""

    script: Script
    outcomes: Outcomes
    replaced: tuple[bool, ...]
    """For each run, whether its sampler took other tokens than the script's."""


class ClassRows(NamedTuple):
    """The scripts of a class."""

    script_class: ScriptClass
    rows: list[ScriptRow]


def matrix_table(
    runs: Sequence[MatrixRun],
    scripts: Iterable[Script],
    endpoint: Endpoint,
    *,
    words: str = "",
    only_differing: bool = False,
    beside: int = 0,
) -> list[ClassRows]:
    """The scripts that the endpoint has, by class in the order of `ScriptClass`; empty classes are left out.

    `words` leaves the scripts with these words in their name, sentence or class, `only_differing` those with
    different outcomes among the runs without the last ones, which stand `beside` the others.
    """
    classes: dict[ScriptClass, list[ScriptRow]] = {script_class: [] for script_class in ScriptClass}
    for script in scripts:
        if endpoint not in script.endpoints:
            continue
        searched = f"{script.name} {script.sentence} {script.example_of.words}".casefold()
        outcomes = tuple(_outcome(run, endpoint, script) for run in runs)
        if words.casefold() in searched and not (
            only_differing and len(set(outcomes[: len(runs) - beside])) < 2
        ):
            scores = [run.scores.get((endpoint, script.name)) for run in runs]
            replaced = tuple(score is not None and bool(score.sampler) for score in scores)
            classes[script.example_of].append(ScriptRow(script, outcomes, replaced))
    return [ClassRows(script_class, rows) for script_class, rows in classes.items() if rows]


def totals(rows: Sequence[ScriptRow]) -> list[Counter[ScriptOutcome]]:
    """For each run, how many scripts have each outcome; scripts that were not recorded are not counted."""
    columns = zip(*(row.outcomes for row in rows), strict=True)
    return [Counter(outcome for outcome in column if outcome is not None) for column in columns]


def _outcome(run: MatrixRun, endpoint: Endpoint, script: Script) -> ScriptOutcome | None:
    score = run.scores.get((endpoint, script.name))
    return None if score is None else score.outcome
