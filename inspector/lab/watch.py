"""New releases on the package index: which the results lack, and what each of them changed.

One look, not a loop: whatever runs commands at fixed times (cron, a pipeline) runs this one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from inspector.lab.gate import Gate, gate, gate_lines, gate_markdown
from inspector.lab.matrix import run_matrix
from inspector.lab.recording import Target
from inspector.lab.results import Run, load_runs, version_key
from inspector.lab.session import LabSession

__all__ = ["Watched", "record_new", "report_lines", "report_markdown", "unrecorded"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """What one look found."""

    newest: str | None
    """The newest release recorded before; None where there was none."""
    recorded: tuple[str, ...]
    """Releases recorded now, oldest first."""
    changes: tuple[Gate, ...]
    """Each of them against the release before it."""


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
) -> Watched:
    """Record the releases that the results lack; `known` are results besides those of the folder."""
    before = {run.name: run for run in (*known, *load_runs(folder)) if run.package == lab.package}
    newest = max((run.version for run in before.values()), key=version_key, default=None)
    new = unrecorded(available, newest)
    sides = [[run for run in before.values() if run.version == newest]] if newest else []
    for version in new:
        sides.append(run_matrix(lab, [version], targets, folder=folder, steps=steps))
    changes = tuple(gate(older, newer) for older, newer in pairwise(sides))
    return Watched(newest=newest, recorded=tuple(new), changes=changes)


def report_lines(found: Watched) -> list[str]:
    """What was found, for a terminal."""
    if not found.recorded:
        return [f"No release after {found.newest} on the package index."]
    recorded = [f"Recorded: {', '.join(found.recorded)}."]
    return recorded + [line for change in found.changes for line in gate_lines(change)]


def report_markdown(found: Watched) -> str:
    """The change report of all new releases."""
    if not found.changes:
        return report_lines(found)[0]
    return "\n\n".join(gate_markdown(change) for change in found.changes)
