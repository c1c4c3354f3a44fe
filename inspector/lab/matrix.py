"""The conformance matrix: releases x stream intervals x endpoints x scripts, recorded and scored.

What is recorded already is not recorded again: an interrupted matrix goes on where it stopped, and a
script whose tokens changed is recorded again. Scores are computed from the kept captures every time,
so they follow the audit.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from inspector.capture.capture import Capture, Endpoint
from inspector.capture.errors import LabError
from inspector.lab.install import Environment
from inspector.lab.recording import Target, record
from inspector.lab.results import STAND_IN, Run, Shelf, capture_of
from inspector.lab.score import Outcome, score
from inspector.lab.scripts import ENDPOINTS, Script, load
from inspector.lab.server import ServerOptions
from inspector.lab.session import LabSession
from inspector.lab.standin.checking import chunking_fault
from inspector.lab.standin.install import FRONT_END, RUST
from inspector.lab.standin.serving import StandinServer
from inspector.lab.standin.steps import UNSTREAMED
from inspector.protocol.engines.vllm_rust import VLLM_RUST

_ATTEMPTS: Final = 3
"""How often a stream is asked for until its steps are those asked for."""


def run_matrix(
    lab: LabSession,
    versions: Sequence[str],
    targets: Sequence[Target],
    *,
    folder: Path,
    steps: Sequence[str] = ("1", "3"),
) -> list[Run]:
    """Install, record and score what is missing; returns the runs of these versions and steps.

    Raises LabError for steps that vary where a real engine makes them.
    """
    runs: list[Run] = []
    for version in versions:
        environment = lab.prepare(version)
        if environment.package in {FRONT_END, RUST}:
            runs += fill_stand_in(lab, environment, steps, targets, folder=folder)
            continue
        if varying := [step for step in steps if not step.isdigit()]:
            raise LabError(f"{varying[0]} tokens per step need the stand-in engine: --front-end or --rust")
        runs += [fill(lab, environment, int(step), targets, folder=folder) for step in steps]
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


def fill_stand_in(
    lab: LabSession,
    environment: Environment,
    steps: Sequence[str],
    targets: Sequence[Target],
    *,
    folder: Path,
) -> list[Run]:
    """The same on the stand-in engine: one server for all steps; only streams cut as asked count.

    Scripts with server-side tools have a server of their own, which starts while the others are recorded.
    """
    if not any(asked_for(environment.package, step, targets) for step in steps):
        raise LabError("none of these scripts runs on these endpoints; 'lab scripts --json' lists both")
    shelves = {step: Shelf(folder, environment.package, environment.version, step) for step in steps}
    runs: list[Run] = []
    try:
        missing = [
            (
                ServerOptions(schedule="1", tools=with_tools),
                {
                    step: [
                        target
                        for target in asked_for(environment.package, step, targets)
                        if bool(target.script.built_in) is with_tools
                        and not _fits(_kept(shelf, target), target.script)
                    ]
                    for step, shelf in shelves.items()
                },
            )
            for with_tools in (False, True)
        ]
        with ExitStack() as stack:
            starting = [
                (lab.serving(stack, environment, options, wait=False), some)
                for options, some in missing
                if any(some.values())
            ]
            for running, some in starting:
                if not isinstance(running, StandinServer):
                    raise LabError(f"{environment.package} is not served by the stand-in engine")
                running.ready()
                for step, wanted in some.items():
                    _record_checked(lab, running, shelves[step], step, wanted)
                running.stop()
    finally:
        for shelf in shelves.values():
            if shelf.loose.is_dir() or shelf.results.exists():
                run = rescore(shelf, environment)
                shelf.pack()
                lab.say(f"{shelf.name}: {_counts(run)}")
                runs.append(run)
    return runs


def asked_for(package: str, step: str, targets: Sequence[Target]) -> list[Target]:
    """The targets as a front end is asked; a script that is never streamed has no twin of its own."""
    if package == RUST:
        targets = [target for target in targets if target.endpoint not in VLLM_RUST.lacks]
    if step != UNSTREAMED:
        return list(targets)
    return [Target(endpoint, replace(script, stream=False)) for endpoint, script in targets if script.stream]


def _record_checked(
    lab: LabSession, running: StandinServer, shelf: Shelf, step: str, wanted: Sequence[Target]
) -> None:
    """Record; a stream whose steps were not those asked for is asked again, and in the end left out."""
    schedule = "1" if step == UNSTREAMED else step
    running.engine.set_steps(schedule)
    faults: dict[Target, str] = {}

    def keep(target: Target, capture: Capture) -> None:
        fault = chunking_fault(running.engine, capture, schedule)
        if fault is None:
            faults.pop(target, None)
            shelf.keep(target.endpoint, target.script.name, capture)
        else:
            faults[target] = fault

    for attempt in range(_ATTEMPTS):
        asked = list(faults) if attempt else list(wanted)
        if not asked:
            break
        lab.say(f"{shelf.name}: recording {len(asked)} captures{' again' if attempt else ''}")
        record(
            running.base_url,
            asked,
            stream_interval=int(step) if step.isdigit() else 0,
            keep=keep,
            # Alone the second time: what else ran then was the likeliest cause.
            jobs=1 if attempt else lab.jobs,
            lab={"steps": step, "engine": STAND_IN},
        )
    for target, fault in faults.items():
        lab.say(f"{shelf.name}: no verdict on {target.endpoint.value} {target.script.name}: {fault}")


def rescore(shelf: Shelf, environment: Environment | None = None) -> Run:
    """Score every capture that a shelf holds, and write its results file."""
    before = shelf.read()
    package, _, rest = shelf.name.rpartition("-si")[0].rpartition("-")
    step = shelf.name.rpartition("-si")[2]
    scores = {}
    kept_in = {}
    recorded = ""
    for target in targets_of():
        capture = shelf.capture(target.endpoint, target.script.name)
        key = target.endpoint, target.script.name
        if capture is None and before is not None and key in before.kept_in:
            capture = capture_of(before, *key)
            kept_in[key] = before.kept_in[key]
        if capture is not None and _fits(capture, target.script):
            scores[key] = score(target.script, capture)
            recorded = max(recorded, capture.header.started_at or "")
    run = Run(
        package=package,
        version=rest,
        stream_interval=int(step) if step.isdigit() else 0,
        steps="" if step.isdigit() else step,
        recorded_at=recorded or datetime.now(UTC).isoformat(timespec="seconds"),
        packages=environment.packages if environment else (before.packages if before else {}),
        scores=scores,
        kept_in={key: name for key, name in kept_in.items() if key in scores},
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


def _kept(shelf: Shelf, target: Target) -> Capture | None:
    key = target.endpoint, target.script.name
    capture = shelf.capture(*key)
    if capture is None and (run := shelf.read()) is not None and key in run.kept_in:
        return capture_of(run, *key)
    return capture


def _fits(capture: Capture | None, script: Script) -> bool:
    """Whether a capture belongs to the current version of the script."""
    return capture is not None and capture.header.script == script.sampled


def _counts(run: Run) -> str:
    seen = [score.outcome for score in run.scores.values()]
    return ", ".join(f"{seen.count(outcome)} {outcome.words}" for outcome in Outcome)
