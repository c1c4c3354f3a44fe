"""New releases on the package index: which the results lack, and what each of them changed.

One look, not a loop: whatever runs commands at fixed times (cron, a pipeline) runs this one.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from inspector.capture.capture import Endpoint
from inspector.capture.errors import LabError
from inspector.lab.gate import Gate, gate, gate_lines, gate_markdown
from inspector.lab.matrix import asked_for, run_matrix
from inspector.lab.recording import Target
from inspector.lab.results import Run, load_runs, version_key
from inspector.lab.session import LabSession


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """What one look found."""

    newest: str | None
    """The newest release recorded before; None where there was none."""
    recorded: tuple[str, ...]
    """Releases recorded now, oldest first."""
    changes: tuple[Gate, ...]
    """Each of them against the release before it."""
    failed: Mapping[str, str] = field(default_factory=dict)
    """Releases that could not be recorded, and why."""

    @property
    def passed(self) -> bool:
        """Whether every new release was recorded and none delivers anything worse."""
        return not self.failed and all(one.passed for one in self.changes)


def unrecorded(available: Sequence[str], newest: str | None) -> list[str]:
    """The releases after the newest recorded one, oldest first; the last one alone where none is recorded."""
    if newest is None:
        return list(available[-1:])
    return [one for one in available if version_key(one) > version_key(newest)]


def record_new(
    lab: LabSession,
    available: Sequence[str],
    targets: Sequence[Target],
    *,
    folder: Path,
    steps: Sequence[str],
    known: Sequence[Run] = (),
    after: str | None = None,
) -> Watched:
    """Record the releases that the results lack; `known` are results besides those of the folder.

    With `after`, all releases after that one are recorded in the folder, also those that `known` has.
    """
    before = {run.name: run for run in (*known, *load_runs(folder)) if run.package == lab.package}
    newest = after or max(_whole(before.values(), lab.package, targets, steps), key=version_key, default=None)
    sides = [[run for run in before.values() if run.version == newest]] if newest else []
    recorded: list[str] = []
    failed: dict[str, str] = {}
    for version in unrecorded(available, newest):
        try:
            sides.append(run_matrix(lab, [version], targets, folder=folder, steps=steps))
            recorded.append(version)
        except LabError as error:
            lab.say(f"{version}: {error}")
            failed[version] = str(error)
    changes = tuple(gate(older, newer) for older, newer in pairwise(side for side in sides if side))
    return Watched(newest=newest, recorded=tuple(recorded), changes=changes, failed=failed)


def _whole(
    runs: Iterable[Run], package: str, targets: Sequence[Target], steps: Sequence[str]
) -> Iterator[str]:
    """The releases of which every cell is recorded; an interrupted one is not among them, nor a wheel's."""
    wanted = {
        (step, endpoint, script.name)
        for step in steps
        for endpoint, script in asked_for(package, step, targets)
    }
    cells: dict[str, set[tuple[str, Endpoint, str]]] = defaultdict(set)
    for run in runs:
        if "+" not in run.version:
            cells[run.version] |= {(run.step, *key) for key in run.scores}
    return (version for version, some in cells.items() if wanted <= some)


def report_lines(found: Watched) -> list[str]:
    """What was found, for a terminal."""
    failed = [f"{version} was not recorded: {reason}" for version, reason in found.failed.items()]
    if not found.recorded:
        return failed or [f"No release after {found.newest} on the package index."]
    recorded = [f"Recorded: {', '.join(found.recorded)}."]
    return recorded + failed + [line for change in found.changes for line in gate_lines(change)]


def report_markdown(found: Watched) -> str:
    """The change report of all new releases."""
    if not found.changes:
        return "\n\n".join(report_lines(found))
    failed = [f"{version} was not recorded: {reason}" for version, reason in found.failed.items()]
    return "\n\n".join([*failed, *(gate_markdown(change) for change in found.changes)])
