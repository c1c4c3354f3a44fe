"""The conformance matrix: releases x stream intervals x endpoints x scripts, recorded and scored.

What is recorded already is not recorded again: an interrupted matrix goes on where it stopped, and a
script whose tokens changed is recorded again. Scores are computed from the kept captures every time,
so they follow the audit.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from inspector.capture import Capture, Endpoint
from inspector.errors import LabError
from inspector.lab.install import Environment
from inspector.lab.recording import Target, record
from inspector.lab.results import Run, Shelf
from inspector.lab.score import Outcome, score
from inspector.lab.scripts import ENDPOINTS, Script, load
from inspector.lab.server import ServerOptions
from inspector.lab.session import LabSession

__all__ = ["fill", "rescore", "run_matrix", "targets_of"]


def run_matrix(
    lab: LabSession,
    versions: Sequence[str],
    targets: Sequence[Target],
    *,
    folder: Path,
    intervals: Sequence[int] = (1, 3),
) -> list[Run]:
    """Install, record and score what is missing; returns the runs of these versions and intervals."""
    runs: list[Run] = []
    for version in versions:
        environment = lab.prepare(version)
        runs.extend(fill(lab, environment, interval, targets, folder=folder) for interval in intervals)
    return runs


def fill(
    lab: LabSession, environment: Environment, interval: int, targets: Sequence[Target], *, folder: Path
) -> Run:
    """Record what is missing of one release at one interval, and score all of it.

    Scripts with server-side tools need another server: its tools change every prompt, so the others
    are recorded without them.
    """
    shelf = Shelf(folder, environment.package, environment.version, interval)
    if not targets:
        raise LabError("none of these scripts runs on these endpoints; 'lab scripts --json' lists both")
    missing = [
        target
        for target in targets
        if not _fits(shelf.capture(target.endpoint, target.script.name), target.script)
    ]
    try:
        for with_tools in (False, True):
            wanted = [target for target in missing if bool(target.script.built_in) is with_tools]
            if not wanted:
                continue
            with ExitStack() as stack:
                options = ServerOptions(stream_interval=interval, tools=with_tools)
                running = lab.serving(stack, environment, options)
                lab.say(f"{shelf.name}: recording {len(wanted)} captures")

                def keep(target: Target, capture: Capture) -> None:
                    shelf.keep(target.endpoint, target.script.name, capture)

                record(running.base_url, wanted, stream_interval=interval, keep=keep, jobs=lab.jobs)
    finally:
        # Also after an interruption: what came so far is kept and scored.
        if shelf.loose.is_dir() or shelf.archive.exists():
            run = rescore(shelf, environment)
            shelf.pack()
    lab.say(f"{shelf.name}: {_counts(run)}")
    return run


def rescore(shelf: Shelf, environment: Environment | None = None) -> Run:
    """Score every capture that a shelf holds, and write its results file."""
    before = shelf.read()
    package, _, rest = shelf.name.rpartition("-si")[0].rpartition("-")
    scores = {}
    recorded = ""
    for target in targets_of():
        capture = shelf.capture(target.endpoint, target.script.name)
        if capture is not None and _fits(capture, target.script):
            scores[target.endpoint, target.script.name] = score(target.script, capture)
            recorded = max(recorded, capture.header.started_at or "")
    run = Run(
        package=package,
        version=rest,
        stream_interval=int(shelf.name.rpartition("-si")[2]),
        recorded_at=recorded or datetime.now(UTC).isoformat(timespec="seconds"),
        packages=environment.packages if environment else (before.packages if before else {}),
        scores=scores,
        path=shelf.results,
    )
    shelf.write(run)
    return run


def targets_of(
    endpoints: Sequence[Endpoint] = ENDPOINTS, scripts: Sequence[Script] | None = None
) -> list[Target]:
    """Scripts (all of the lab without `scripts`) on the endpoints at which each is asked."""
    return [
        Target(endpoint, script)
        for script in (load() if scripts is None else scripts)
        for endpoint in endpoints
        if endpoint in script.endpoints
    ]


def _fits(capture: Capture | None, script: Script) -> bool:
    """Whether a capture belongs to the current version of the script."""
    return capture is not None and capture.header.script == script.sampled


def _counts(run: Run) -> str:
    seen = [score.outcome for score in run.scores.values()]
    return ", ".join(f"{seen.count(outcome)} {outcome.words}" for outcome in Outcome)
