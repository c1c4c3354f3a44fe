"""The conformance matrix: releases x stream intervals x endpoints x scripts, recorded and scored.

Only missing captures are recorded: an interrupted matrix resumes, and a script with changed tokens is
recorded again. Scores are always computed from the stored captures, so they follow the audit.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from harmony_lab.asking import body_of, fault_of, version_of
from harmony_lab.install import Environment
from harmony_lab.process import ServerProcess
from harmony_lab.recording import Target, record
from harmony_lab.run_files import RunWriter
from harmony_lab.score import score
from harmony_lab.server import ServerOptions
from harmony_lab.servers.table import SERVERS
from harmony_lab.session import LabSession
from harmony_lab.standin.install import FRONT_END, RUST
from harmony_lab.standin.serving import StandinServer
from inspector.capture.capture import Capture, Endpoint
from inspector.capture.errors import LabError
from inspector.matrix.results import STAND_IN, UNSTREAMED, MatrixRun, ScriptOutcome, capture_of
from inspector.matrix.scripts import ENDPOINTS, Script, load
from inspector.protocol.engines.vllm import VLLM
from inspector.protocol.engines.vllm_rust import VLLM_RUST

_ATTEMPTS: Final = 3
"""Requests for a stream until it follows its schedule."""


class _Running(NamedTuple):
    """A release and its server."""

    environment: Environment
    server: ServerProcess


def run_matrix(
    lab: LabSession,
    versions: Sequence[str],
    targets: Sequence[Target],
    *,
    folder: Path,
    steps: Sequence[str] = ("1", "3"),
) -> list[MatrixRun]:
    """Install, record and score what is missing; returns the runs of these versions and steps.

    Raises LabError for varying steps with a real engine.
    """
    runs: list[MatrixRun] = []
    for version in versions:
        environment = lab.prepare(version)
        if environment.package in {FRONT_END, RUST, *SERVERS}:
            runs += fill_stand_in(lab, environment, steps, targets, folder=folder)
            continue
        if varying := [step for step in steps if not step.isdigit()]:
            raise LabError(f"{varying[0]} tokens per step need the stand-in engine: --front-end or --rust")
        runs += [fill(lab, environment, int(step), targets, folder=folder) for step in steps]
    return runs


def fill(
    lab: LabSession, environment: Environment, interval: int, targets: Sequence[Target], *, folder: Path
) -> MatrixRun:
    """Record the missing captures of one release at one interval, and score all.

    Scripts with server-side tools get their own server, because its tools change every prompt.
    """
    shelf = RunWriter(folder, environment.package, environment.version, interval)
    if not targets:
        raise LabError("none of these scripts runs on these endpoints; 'lab scripts --json' lists both")
    missing = [
        target
        for target in targets
        if not _fits(shelf.capture(target.endpoint, target.script.name), target.script)
    ]
    try:
        for with_tools in (False, True):
            pending = [target for target in missing if bool(target.script.built_in) is with_tools]
            if not pending:
                continue
            with ExitStack() as stack:
                options = ServerOptions(stream_interval=interval, tools=with_tools)
                running = lab.serving(stack, environment, options)
                lab.say(f"{shelf.name}: recording {len(pending)} captures")

                def keep(target: Target, capture: Capture) -> None:
                    shelf.keep(target.endpoint, target.script.name, capture)

                record(running.base_url, pending, stream_interval=interval, keep=keep, jobs=lab.jobs)
    finally:
        # Also after an interruption: store and score what was recorded so far.
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
) -> list[MatrixRun]:
    """The same on the stand-in engine, with one server for all steps.

    Only streams that follow their schedule count. Scripts with server-side tools get their own server, which
    starts while the others are recorded.
    """
    package, version = environment.package, environment.version
    if not any(condition_targets(package, version, step, targets) for step in steps):
        raise LabError("none of these scripts runs on these endpoints; 'lab scripts --json' lists both")
    shelves = {step: RunWriter(folder, package, version, step) for step in steps}
    runs: list[MatrixRun] = []
    try:
        missing = [
            (
                ServerOptions(schedule="1", tools=with_tools),
                {
                    step: [
                        target
                        for target in condition_targets(package, version, step, targets)
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
                (lab.serving(stack, environment, options, wait=False), targets_by_step)
                for options, targets_by_step in missing
                if any(targets_by_step.values())
            ]
            for running, targets_by_step in starting:
                running.ready()
                for step, step_targets in targets_by_step.items():
                    _record_checked(lab, _Running(environment, running), shelves[step], step, step_targets)
                running.stop()
    finally:
        for shelf in shelves.values():
            if shelf.loose.is_dir() or shelf.results.exists():
                run = rescore(shelf, environment)
                shelf.pack()
                lab.say(f"{shelf.name}: {_counts(run)}")
                runs.append(run)
    return runs


def condition_targets(package: str, version: str, step: str, targets: Sequence[Target]) -> list[Target]:
    """The targets of one condition on a release; unstreamed, only those of scripts that stream."""
    if (other_server := SERVERS.get(package)) is not None:
        targets = (
            [target for target in targets if other_server.runs(*target)]
            if step in other_server.conditions
            else []
        )
    else:
        engine = VLLM_RUST if package == RUST else VLLM
        targets = [target for target in targets if engine.serves(target.endpoint, version)]
    if step != UNSTREAMED:
        return list(targets)
    return [Target(endpoint, replace(script, stream=False)) for endpoint, script in targets if script.stream]


def _record_checked(
    lab: LabSession, running: _Running, shelf: RunWriter, step: str, targets: Sequence[Target]
) -> None:
    """Record; a stream that does not follow its schedule is requested again, and skipped in the end."""
    schedule = "1" if step == UNSTREAMED else step
    environment, server = running
    other_server = SERVERS.get(environment.package)
    if isinstance(server, StandinServer):
        server.engine.set_steps(schedule)
    faults: dict[Target, str] = {}

    def keep(target: Target, capture: Capture) -> None:
        if other_server is not None:
            capture = other_server.amend(server, capture)
        fault = fault_of(environment.package, server, capture, schedule)
        if fault is None:
            faults.pop(target, None)
            shelf.keep(target.endpoint, target.script.name, capture)
        else:
            faults[target] = fault

    for attempt in range(_ATTEMPTS):
        pending = list(faults) if attempt else list(targets)
        if not pending:
            break
        lab.say(f"{shelf.name}: recording {len(pending)} captures{' again' if attempt else ''}")
        record(
            server.base_url,
            pending,
            stream_interval=int(step) if step.isdigit() else 0,
            keep=keep,
            # Retry alone: concurrent requests are the most likely cause.
            jobs=1 if attempt else min(lab.jobs, other_server.jobs if other_server else lab.jobs),
            lab={"steps": step, "engine": STAND_IN} | ({"server": other_server.name} if other_server else {}),
            version=version_of(environment),
            body=body_of(environment.package, step),
        )
    for target, fault in faults.items():
        lab.say(f"{shelf.name}: no verdict on {target.endpoint.value} {target.script.name}: {fault}")


def rescore(shelf: RunWriter, environment: Environment | None = None) -> MatrixRun:
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
    run = MatrixRun(
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
    """Scripts (default: all of the lab) on those of `endpoints` that each runs on."""
    return [
        Target(endpoint, script)
        for script in (load() if scripts is None else scripts)
        for endpoint in endpoints
        if endpoint in script.endpoints
    ]


def _kept(shelf: RunWriter, target: Target) -> Capture | None:
    key = target.endpoint, target.script.name
    capture = shelf.capture(*key)
    if capture is None and (run := shelf.read()) is not None and key in run.kept_in:
        return capture_of(run, *key)
    return capture


def _fits(capture: Capture | None, script: Script) -> bool:
    """Whether a capture belongs to the current version of the script."""
    if capture is None:
        return False
    lab = capture.header.extra.get("lab")
    scripted = lab.get("scripted") if isinstance(lab, dict) else None
    return (capture.header.script if scripted is None else tuple(scripted)) == script.sampled


def _counts(run: MatrixRun) -> str:
    outcomes = [score.outcome for score in run.scores.values()]
    return ", ".join(f"{outcomes.count(outcome)} {outcome.words}" for outcome in ScriptOutcome)
