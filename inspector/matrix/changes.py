"""What changed between two runs of the matrix: scripts by outcome before and after, and sentences."""

import itertools
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from inspector.capture.capture import Endpoint
from inspector.capture.formats import count, plural
from inspector.matrix.results import UNSTREAMED, MatrixRun, Receiver, ScriptOutcome, version_key

_BEFORE: Final = {
    ScriptOutcome.REPORTED: ("reported error", "reported errors"),
    ScriptOutcome.SILENT: ("silent loss", "silent losses"),
}
_AFTER: Final = {
    ScriptOutcome.COMPLETE: ("complete", "complete"),
    ScriptOutcome.REPORTED: ("a reported error", "reported errors"),
    ScriptOutcome.SILENT: ("a silent loss", "silent losses"),
}


@dataclass(frozen=True, slots=True)
class Shift:
    """Scripts that went from one outcome to another."""

    before: ScriptOutcome
    after: ScriptOutcome
    scripts: tuple[str, ...]
    streamed: bool = True
    receiver: Receiver = Receiver.SERVER

    @property
    def better(self) -> bool:
        """Whether the new outcome is the better one."""
        order = (ScriptOutcome.SILENT, ScriptOutcome.REPORTED, ScriptOutcome.COMPLETE)
        return order.index(self.after) > order.index(self.before)

    def __str__(self) -> str:
        amount = len(self.scripts)
        if self.receiver is not Receiver.SERVER:
            was, became = (self.receiver.words(outcome) for outcome in (self.before, self.after))
            return f"{count(amount, 'response')} went from “{was}” to “{became}”"
        complete = "complete stream" if self.streamed else "complete response"
        before = _BEFORE.get(self.before, (complete, f"{complete}s"))
        return f"{count(amount, *before)} became {plural(amount, *_AFTER[self.after])}"


def shifts(
    older: MatrixRun, newer: MatrixRun, endpoint: Endpoint, scripts: Collection[str] | None = None
) -> list[Shift]:
    """The changes of outcome between two runs on one endpoint, the most frequent first.

    `scripts` are the names to look at; None for all.
    """
    moved: dict[tuple[ScriptOutcome, ScriptOutcome], list[str]] = defaultdict(list)
    for (at, script), before in older.scores.items():
        after = newer.scores.get((at, script))
        if at is not endpoint or after is None or not (scripts is None or script in scripts):
            continue
        if after.outcome is not before.outcome:
            moved[before.outcome, after.outcome].append(script)
    return sorted(
        (
            Shift(*pair, tuple(names), streamed=newer.streamed, receiver=newer.receiver)
            for pair, names in moved.items()
        ),
        key=lambda shift: -len(shift.scripts),
    )


def change_sentence(older: MatrixRun, newer: MatrixRun, moves: Sequence[Shift]) -> str:
    """The changes in one sentence, the releases first; with the front ends where those differ."""
    names = [run.version for run in (older, newer)]
    if older.front_end != newer.front_end:
        names = [f"{run.version} ({run.front_end.title()})" for run in (older, newer)]
    words = "; ".join(map(str, moves)) if moves else "all outcomes are the same"
    return f"{names[0]} to {names[1]}: {words}."


def twin_of(run: MatrixRun, runs: Iterable[MatrixRun]) -> MatrixRun | None:
    """The same release and front end with the same requests streamed, or not streamed; None if unrecorded.

    The streamed twin is the one with one token per step. The run's own engine is preferred, because a real
    engine may have merged steps.
    """
    twin_key = (run.front_end, run.version, "1" if not run.streamed else UNSTREAMED)
    candidates = [
        candidate
        for candidate in runs
        if (candidate.front_end, candidate.version, candidate.step) == twin_key
    ]
    return min(candidates, key=lambda candidate: candidate.engine != run.engine, default=None)


def twins(runs: Sequence[MatrixRun]) -> list[tuple[MatrixRun, MatrixRun]]:
    """Each run that is not streamed, after its twin that is."""
    pairs = ((twin_of(run, runs), run) for run in runs if not run.streamed)
    return [(streamed, run) for streamed, run in pairs if streamed is not None]


def neighbours(runs: Iterable[MatrixRun]) -> list[tuple[MatrixRun, MatrixRun]]:
    """Each run with that of the next release, for the same front end and steps."""
    rows: dict[tuple[str, str], list[MatrixRun]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: version_key(run.version)):
        rows[run.front_end, run.step].append(run)
    return [pair for row in rows.values() for pair in itertools.pairwise(row)]
