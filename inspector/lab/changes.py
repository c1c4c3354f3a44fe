"""What changed between two runs of the matrix: outcomes before and after, with the scripts, as sentences."""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from inspector.capture.capture import Endpoint
from inspector.capture.formats import count, plural
from inspector.lab.results import Run, version_key
from inspector.lab.score import Outcome
from inspector.lab.standin.steps import UNSTREAMED

_WERE: Final = {
    Outcome.TOLD: ("reported error", "reported errors"),
    Outcome.SILENT: ("silent loss", "silent losses"),
}
_BECAME: Final = {
    Outcome.WHOLE: ("complete", "complete"),
    Outcome.TOLD: ("a reported error", "reported errors"),
    Outcome.SILENT: ("a silent loss", "silent losses"),
}


@dataclass(frozen=True, slots=True)
class Shift:
    """Scripts that went from one outcome to another."""

    before: Outcome
    after: Outcome
    scripts: tuple[str, ...]
    streamed: bool = True

    @property
    def better(self) -> bool:
        """Whether more is delivered, or more is said, than before."""
        order = (Outcome.SILENT, Outcome.TOLD, Outcome.WHOLE)
        return order.index(self.after) > order.index(self.before)

    def __str__(self) -> str:
        amount = len(self.scripts)
        whole = "complete stream" if self.streamed else "complete response"
        before = _WERE.get(self.before, (whole, f"{whole}s"))
        return f"{count(amount, *before)} became {plural(amount, *_BECAME[self.after])}"


def shifts(older: Run, newer: Run, endpoint: Endpoint) -> list[Shift]:
    """The changes of outcome between two runs on one endpoint, the most frequent first."""
    moved: dict[tuple[Outcome, Outcome], list[str]] = defaultdict(list)
    for (at, script), before in older.scores.items():
        after = newer.scores.get((at, script))
        if at is endpoint and after is not None and after.outcome is not before.outcome:
            moved[before.outcome, after.outcome].append(script)
    return sorted(
        (Shift(*pair, tuple(names), streamed=newer.streamed) for pair, names in moved.items()),
        key=lambda shift: -len(shift.scripts),
    )


def change_sentence(older: Run, newer: Run, found: Sequence[Shift]) -> str:
    """The changes in one sentence, the releases first; with the front ends where those differ."""
    names = [run.version for run in (older, newer)]
    if older.front_end != newer.front_end:
        names = [f"{run.version} ({run.front_end.title()})" for run in (older, newer)]
    words = "; ".join(map(str, found)) if found else "all outcomes are the same"
    return f"{names[0]} to {names[1]}: {words}."


def twin_of(run: Run, runs: Iterable[Run]) -> Run | None:
    """The same release and front end with the same requests streamed, or not streamed; None if unrecorded.

    The stream is the one with one token per step: what steps do to a stream is not meant here. Of two engines
    the same one is taken where it has such a run: a real one may have merged steps.
    """
    wanted = (run.front_end, run.version, "1" if not run.streamed else UNSTREAMED)
    found = [one for one in runs if (one.front_end, one.version, one.step) == wanted]
    return min(found, key=lambda one: one.engine != run.engine, default=None)


def twins(runs: Sequence[Run]) -> list[tuple[Run, Run]]:
    """Each run that is not streamed, after its twin that is."""
    found = ((twin_of(run, runs), run) for run in runs if not run.streamed)
    return [(streamed, run) for streamed, run in found if streamed is not None]


def neighbours(runs: Iterable[Run]) -> list[tuple[Run, Run]]:
    """Each run with the next release's one, of the same front end and steps."""
    rows: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: version_key(run.version)):
        rows[run.front_end, run.step].append(run)
    return [pair for row in rows.values() for pair in itertools.pairwise(row)]
