"""A prompt sent to two servers, once or several times: the runs of both. No I/O."""

from dataclasses import dataclass
from typing import Final

from inspector.capture.errors import InspectorError
from inspector.net.client.outcome import OutcomeKind
from inspector.net.runs.run import LiveRun, RunState

RUNS_AT_MOST: Final = 50
"""Runs of each side."""

AT_ONCE: Final = 2
"""Requests that each side answers at the same time: more would measure the load and not the version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """The same number of runs of two servers; the n-th of each are a pair."""

    id: str
    left: tuple[LiveRun, ...]
    right: tuple[LiveRun, ...]

    @property
    def runs(self) -> tuple[LiveRun, ...]:
        """All of them."""
        return (*self.left, *self.right)

    @property
    def ended(self) -> bool:
        """True once all runs of both sides have ended."""
        return all(run.state is RunState.ENDED for run in self.runs)

    @property
    def counted(self) -> tuple[tuple[LiveRun, ...], tuple[LiveRun, ...]]:
        """The runs of each side without those stopped by the user, which say nothing about the server."""
        left, right = (
            tuple(run for run in runs if run.outcome.kind is not OutcomeKind.STOPPED_BY_USER)
            for runs in (self.left, self.right)
        )
        return left, right

    def stop(self) -> None:
        """End every run; what was received stays."""
        for run in self.runs:
            run.stop()

    def troubles(self) -> list[str]:
        """A sentence for each way in which a side failed, with how often where it did several times."""
        sentences = []
        for side, runs in (("Left", self.left), ("Right", self.right)):
            failures = [run.outcome.failure for run in runs if run.outcome.failed]
            for failure in dict.fromkeys(failures):
                count = failures.count(failure)
                often = f", {count} of {len(runs)} runs" if len(runs) > 1 else ""
                sentences.append(f"{side}{often}: {failure}.")
        return sentences


def has_output(run: LiveRun) -> bool:
    """True if anything of a response arrived, so that there is something to compare."""
    return any(choice.tokens or choice.deltas or choice.finals for choice in run.reading().choices)


def checked_runs(count: int) -> int:
    """The number of runs of each side; raises InspectorError for an invalid one."""
    if not 1 <= count <= RUNS_AT_MOST:
        raise InspectorError(f"invalid number of runs: {count}; choose 1 to {RUNS_AT_MOST}")
    return count
