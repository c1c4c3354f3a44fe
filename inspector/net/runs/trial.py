"""One prompt sent to two servers, once or several times to each: the runs of both sides. No I/O."""

from dataclasses import dataclass
from typing import Final

from inspector.capture.errors import InspectorError
from inspector.net.client.outcome import OutcomeKind
from inspector.net.runs.run import Run, RunState

RUNS_AT_MOST: Final = 50
"""Runs of each side."""

AT_ONCE: Final = 2
"""Requests that each side answers at the same time: more would measure the load and not the version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """Runs of two sides, as many of the one as of the other; the n-th of each make a pair."""

    id: str
    left: tuple[Run, ...]
    right: tuple[Run, ...]

    @property
    def runs(self) -> tuple[Run, ...]:
        """All of them."""
        return (*self.left, *self.right)

    @property
    def ended(self) -> bool:
        """True when no run of either side goes on."""
        return all(run.state is RunState.ENDED for run in self.runs)

    @property
    def counted(self) -> tuple[tuple[Run, ...], tuple[Run, ...]]:
        """The runs of each side that rates are of: a run stopped here says nothing about its server."""
        left, right = (
            tuple(run for run in runs if run.outcome.kind is not OutcomeKind.STOPPED_BY_USER)
            for runs in (self.left, self.right)
        )
        return left, right

    def stop(self) -> None:
        """End every run; what came of it stays."""
        for run in self.runs:
            run.stop()

    def troubles(self) -> list[str]:
        """A sentence for each way in which a side failed, with how often where it did several times."""
        told = []
        for side, runs in (("Left", self.left), ("Right", self.right)):
            failures = [run.outcome.failure for run in runs if run.outcome.failed]
            for failure in dict.fromkeys(failures):
                count = failures.count(failure)
                often = f", {count} of {len(runs)} runs" if len(runs) > 1 else ""
                told.append(f"{side}{often}: {failure}.")
        return told


def has_output(run: Run) -> bool:
    """True when anything of an answer came, so that there is something to compare."""
    return any(choice.tokens or choice.deltas or choice.finals for choice in run.reading().choices)


def checked_runs(count: int) -> int:
    """The number of runs of each side; raises InspectorError for one that cannot be."""
    if not 1 <= count <= RUNS_AT_MOST:
        raise InspectorError(f"invalid number of runs: {count}; choose 1 to {RUNS_AT_MOST}")
    return count
