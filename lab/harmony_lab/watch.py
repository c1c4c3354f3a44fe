"""New releases on the package index: record those without results, and report what each changed.

Checks once; run it from cron or a pipeline.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from harmony_lab.gate import GateResult, gate, gate_lines, gate_markdown
from harmony_lab.matrix import condition_targets, run_matrix
from harmony_lab.recording import Target
from harmony_lab.session import LabSession
from inspector.capture.capture import Endpoint
from inspector.capture.errors import LabError
from inspector.matrix.results import MatrixRun, load_runs, version_key


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchReport:
    """The new releases of one check."""

    newest: str | None
    """The newest release that was recorded before; None if there was none."""
    recorded: tuple[str, ...]
    """Releases that this check recorded, oldest first."""
    changes: tuple[GateResult, ...]
    """Each of them compared with the release before it."""
    failed: Mapping[str, str] = field(default_factory=dict)
    """Releases that could not be recorded, and why."""

    @property
    def passed(self) -> bool:
        """Whether every new release was recorded and none has a regression."""
        return not self.failed and all(change.passed for change in self.changes)


def unrecorded(available: Sequence[str], newest: str | None) -> list[str]:
    """The releases after the newest recorded one, oldest first; only the latest if none is recorded."""
    if newest is None:
        return list(available[-1:])
    return [version for version in available if version_key(version) > version_key(newest)]


def record_new(
    lab: LabSession,
    available: Sequence[str],
    targets: Sequence[Target],
    *,
    folder: Path,
    steps: Sequence[str],
    other_runs: Sequence[MatrixRun] = (),
    after: str | None = None,
) -> WatchReport:
    """Record the releases without results; `other_runs` are results besides those of the folder.

    With `after`, all later releases are recorded in the folder, also those in `other_runs`.
    """
    before = {run.name: run for run in (*other_runs, *load_runs(folder)) if run.package == lab.package}
    newest = after or max(
        _complete_releases(before.values(), lab.package, targets, steps), key=version_key, default=None
    )
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
    return WatchReport(newest=newest, recorded=tuple(recorded), changes=changes, failed=failed)


def _complete_releases(
    runs: Iterable[MatrixRun], package: str, targets: Sequence[Target], steps: Sequence[str]
) -> Iterator[str]:
    """The releases with every cell recorded; without interrupted ones and wheels."""
    cells: dict[str, set[tuple[str, Endpoint, str]]] = defaultdict(set)
    for run in runs:
        if "+" not in run.version:
            cells[run.version] |= {(run.step, *key) for key in run.scores}
    for version, recorded in cells.items():
        expected = {
            (step, endpoint, script.name)
            for step in steps
            for endpoint, script in condition_targets(package, version, step, targets)
        }
        if expected <= recorded:
            yield version


def report_lines(report: WatchReport) -> list[str]:
    """The report for the terminal."""
    failed = [f"{version} was not recorded: {reason}" for version, reason in report.failed.items()]
    if not report.recorded:
        return failed or [f"No release after {report.newest} on the package index."]
    recorded = [f"Recorded: {', '.join(report.recorded)}."]
    return recorded + failed + [line for change in report.changes for line in gate_lines(change)]


def report_markdown(report: WatchReport) -> str:
    """The change report of all new releases as Markdown."""
    if not report.changes:
        return "\n\n".join(report_lines(report))
    failed = [f"{version} was not recorded: {reason}" for version, reason in report.failed.items()]
    return "\n\n".join([*failed, *(gate_markdown(change) for change in report.changes)])
