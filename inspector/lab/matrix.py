"""The conformance matrix: releases x stream intervals x endpoints x scripts, recorded and scored.

What is recorded already is not recorded again: an interrupted matrix goes on where it stopped, and a
script whose tokens changed is recorded anew. Scores are computed from the kept captures every time,
so they follow the audit.
"""

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from inspector.capture import Capture, Endpoint
from inspector.errors import LabError
from inspector.lab.install import CPU_PACKAGE, Environment, prepare
from inspector.lab.paths import LabPaths
from inspector.lab.process import ServerProcess, free_port
from inspector.lab.recording import Target, record
from inspector.lab.results import Run, Shelf
from inspector.lab.score import score
from inspector.lab.scripts import ENDPOINTS, Script, load
from inspector.lab.server import STANDALONE, server

__all__ = ["fill", "rescore", "run_matrix", "serving"]

TOOLS: Final = STANDALONE / "tool_server.py"

Say = Callable[[str], None]


def run_matrix(
    paths: LabPaths,
    versions: Sequence[str],
    *,
    folder: Path,
    intervals: Sequence[int] = (1, 3),
    endpoints: Sequence[Endpoint] = ENDPOINTS,
    scripts: Sequence[Script] | None = None,
    package: str = CPU_PACKAGE,
    jobs: int = 4,
    say: Say = print,
) -> list[Run]:
    """Install, record and score what is missing; returns the runs of these versions and intervals."""
    runs: list[Run] = []
    for version in versions:
        environment = prepare(paths, version, package=package, say=say)
        for interval in intervals:
            runs.append(
                fill(
                    paths,
                    environment,
                    interval,
                    folder=folder,
                    endpoints=endpoints,
                    scripts=scripts,
                    jobs=jobs,
                    say=say,
                )
            )
    return runs


def fill(
    paths: LabPaths,
    environment: Environment,
    interval: int,
    *,
    folder: Path,
    endpoints: Sequence[Endpoint] = ENDPOINTS,
    scripts: Sequence[Script] | None = None,
    jobs: int = 4,
    say: Say = print,
) -> Run:
    """Record what is missing of one release at one interval, and score all of it.

    Scripts with server-side tools need another server: its tools change every prompt, so the others
    are recorded without them.
    """
    shelf = Shelf(folder, environment.package, environment.version, interval)
    targets = _targets(endpoints, scripts)
    if not targets:
        raise LabError("none of these scripts is asked on these endpoints; 'lab scripts --json' lists both")
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
                running = serving(stack, paths, environment, interval, tools=with_tools, say=say)
                say(f"{shelf.name}: recording {len(wanted)} captures")

                def keep(target: Target, capture: Capture) -> None:
                    shelf.keep(target.endpoint, target.script.name, capture)

                record(running.base_url, wanted, stream_interval=interval, keep=keep, jobs=jobs)
    finally:
        # Also after an interruption: what came so far is kept and scored.
        if shelf.loose.is_dir() or shelf.archive.exists():
            run = rescore(shelf, environment)
            shelf.pack()
    say(f"{shelf.name}: {_counts(run)}")
    return run


def serving(
    stack: ExitStack,
    paths: LabPaths,
    environment: Environment,
    interval: int,
    *,
    tools: bool,
    port: int = 0,
    flags: Sequence[str] = (),
    extra_scripts: Sequence[Script] = (),
    say: Say,
) -> ServerProcess:
    """A server of one release, answering, inside the stack; with `tools` the MCP tool servers too."""
    tool_server = None
    if tools:
        python_port, browser_port = free_port(), free_port()
        stack.enter_context(
            ServerProcess(
                [
                    str(environment.python),
                    str(STANDALONE / "tool_server.py"),
                    str(python_port),
                    str(browser_port),
                ],
                port=python_port,
                environment={**os.environ, "HARMONY_LAB_PARENT": str(os.getpid())},
                log=paths.logs / f"tools-{environment.package}-{environment.version}-{python_port}.log",
                timeout_s=60,
            )
        )
        tool_server = f"127.0.0.1:{python_port},127.0.0.1:{browser_port}"
    return stack.enter_context(
        server(
            paths,
            environment,
            stream_interval=interval,
            port=port,
            flags=flags,
            tool_server=tool_server,
            extra_scripts=extra_scripts,
            say=say,
        )
    )


def rescore(shelf: Shelf, environment: Environment | None = None) -> Run:
    """Score every capture that a shelf holds, and write its results file."""
    before = shelf.read()
    package, _, rest = shelf.name.rpartition("-si")[0].rpartition("-")
    scores = {}
    recorded = ""
    for target in _targets(ENDPOINTS, None):
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


def _targets(endpoints: Sequence[Endpoint], scripts: Sequence[Script] | None) -> list[Target]:
    return [
        Target(endpoint, script)
        for script in (load() if scripts is None else scripts)
        for endpoint in endpoints
        if endpoint in script.endpoints
    ]


def _fits(capture: Capture | None, script: Script) -> bool:
    """Whether a capture is of the script as it stands now."""
    return capture is not None and capture.header.script == script.sampled


def _counts(run: Run) -> str:
    words = [score.outcome.value for score in run.scores.values()]
    return ", ".join(f"{words.count(word)} {word}" for word in ("whole", "told", "silent"))
