"""What the commands of `lab` do; `lab` has their options."""

import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Final

from inspector.analysis.metrics import figures
from inspector.analysis.reading import read
from inspector.capture.capture import Endpoint
from inspector.capture.errors import LabError
from inspector.commands.asking import server_of
from inspector.commands.shared import one_capture, print_json, say, tell, write_text
from inspector.files.store import save
from inspector.lab import html, matrix, reporting, scripts
from inspector.lab.bisect import (
    asking,
    bisect,
    endpoint_of,
    recorded_scores,
    releases,
    script_of_capture,
)
from inspector.lab.derender import checked, derender, scale_out
from inspector.lab.gate import gate, gate_lines, gate_markdown, gate_row
from inspector.lab.install import NEWEST, adopt, installed_versions
from inspector.lab.load import load_row, load_sentence, run_load
from inspector.lab.paths import LabPaths
from inspector.lab.process import check_port
from inspector.lab.publish import publish
from inspector.lab.recording import Target
from inspector.lab.results import Run, Shelf, every_run, load_runs
from inspector.lab.server import ServerOptions
from inspector.lab.session import LabSession
from inspector.lab.shrink import asker, shrink, wanted
from inspector.lab.standin.install import FRONT_END, RUST, use_source, use_wheel
from inspector.lab.standin.steps import CONDITIONS, UNSTREAMED, check_condition, schedule_of
from inspector.lab.watch import record_new, report_lines, report_markdown

BISECTED_AT_ONCE: Final = 2
"""Front ends that a search starts together; a release with its own engine needs all memory for itself."""


def _chosen(arguments: Namespace) -> tuple[str, str]:
    """Package and version."""
    if arguments.front_end:
        return FRONT_END, arguments.front_end
    return (RUST, arguments.rust) if arguments.rust else (arguments.package, arguments.vllm)


def _session(arguments: Namespace) -> LabSession:
    return LabSession(paths=LabPaths(arguments.lab), package=arguments.package, say=tell)


def install_command(arguments: Namespace) -> int:
    """Install releases."""
    lab = _session(arguments)
    wanted = {lab.package: arguments.versions, FRONT_END: arguments.front_end, RUST: arguments.rust}
    if not any(wanted.values()):
        wanted = {lab.package: [NEWEST]}
    for package, versions in wanted.items():
        for version in versions:
            replace(lab, package=package).prepare(version, python=arguments.python)
        if versions:
            say(f"{package} installed: {', '.join(installed_versions(lab.paths, package))}")
    return 0


def adopt_command(arguments: Namespace) -> int:
    """Use an environment that was made by other means."""
    environment = adopt(LabPaths(arguments.lab), arguments.path, say=tell)
    say(f"adopted: {environment.package} {environment.version}")
    return 0


def serve_command(arguments: Namespace) -> int:
    """Start one release and keep it running."""
    package, version = _chosen(arguments)
    lab = replace(_session(arguments), package=package)
    if arguments.port:
        check_port(arguments.port)
    steps: str = arguments.stream_interval
    schedule_of(steps)
    if package not in {FRONT_END, RUST} and not steps.isdigit():
        raise LabError(f"{steps} tokens per step need the stand-in engine: --front-end or --rust")
    environment = lab.prepare(version)
    options = ServerOptions(
        stream_interval=int(steps) if steps.isdigit() else 0,
        schedule=steps,
        load=arguments.load,
        step_ms=arguments.step_ms,
        port=arguments.port,
        tools=arguments.tools,
        flags=arguments.flags,
    )
    with ExitStack() as stack:
        running = lab.serving(stack, environment, options)
        say(running.base_url)
        sys.stdout.flush()
        tell(f"vLLM {version} is ready; log: {running.log}; press Ctrl-C to stop")
        try:
            running.wait()
        except KeyboardInterrupt:
            tell("stopping")
    return 0


def record_command(arguments: Namespace) -> int:
    """Record the scripts of one release."""
    package, version = _chosen(arguments)
    runs = _run_matrix(arguments, {package: [version]}, arguments.out)
    for run in runs:
        say(f"{run.captures}: {len(run.scores)} captures")
    return 0


def matrix_command(arguments: Namespace) -> int:
    """Record and score releases, or read existing results."""
    folder: Path = arguments.out or LabPaths(arguments.lab).root / "matrix"
    if arguments.rescore:
        for run in load_runs(folder):
            matrix.rescore(Shelf(folder, run.package, run.version, run.step))
    wanted = {
        arguments.package: arguments.versions,
        FRONT_END: arguments.front_end,
        RUST: arguments.rust,
    }
    _run_matrix(arguments, wanted, folder)
    runs = [
        run
        for run in load_runs(folder)
        if not any(wanted.values()) or run.version in wanted.get(run.package, [])
    ]
    if not runs:
        raise LabError(f"{folder}: no results; name the releases to record, for example: lab matrix 0.32.0")
    if arguments.html:
        write_text(str(arguments.html), html.page(runs, scripts.load()))
    if arguments.publish:
        tell(f"{len(publish(runs, scripts.load(), arguments.publish))} files in {arguments.publish}")
    if arguments.json:
        print_json([row for run in runs for row in reporting.score_rows(run)])
    elif arguments.twins:
        say(reporting.twin_lines(runs, [Endpoint(name) for name in arguments.endpoint]))
    elif arguments.changes:
        say(reporting.change_lines(runs, [Endpoint(name) for name in arguments.endpoint]))
    elif not (arguments.html or arguments.publish):
        say(reporting.summary(runs))
    return 0


def _run_matrix(arguments: Namespace, wanted: Mapping[str, Sequence[str]], folder: Path) -> list[Run]:
    """Record what is missing, by package and version."""
    targets = matrix.targets_of(
        [Endpoint(name) for name in arguments.endpoint], scripts.named(arguments.script)
    )
    runs: list[Run] = []
    for package, versions in wanted.items():
        stand_in = package in {FRONT_END, RUST}
        steps = arguments.stream_interval or (list(CONDITIONS) if stand_in else ["1", "3"])
        for step in steps:
            check_condition(step)
        lab = replace(_session(arguments), package=package, jobs=arguments.jobs)
        runs += matrix.run_matrix(lab, versions, targets, folder=folder, steps=steps)
    return runs


def bisect_command(arguments: Namespace) -> int:
    """Find the first release where an outcome changes."""
    if arguments.good == arguments.bad:
        raise LabError(f"--good and --bad are both {arguments.good}; name two different releases")
    file = Path(arguments.what)
    endpoint = Endpoint(arguments.endpoint) if arguments.endpoint else Endpoint.CHAT
    if file.is_file():
        _, capture = one_capture(str(file))
        script = script_of_capture(capture)
        endpoint = Endpoint(arguments.endpoint) if arguments.endpoint else endpoint_of(capture)
    else:
        script = scripts.named([arguments.what])[0]
    lab, target = _session(arguments), Target(endpoint, script)
    steps: str = arguments.stream_interval
    check_condition(steps)
    if lab.package not in {FRONT_END, RUST} and not steps.isdigit() and steps != UNSTREAMED:
        raise LabError(f"{steps} tokens per step need the stand-in engine: --package {FRONT_END} or {RUST}")
    scorer = asking(lab, target, steps=steps, repeat=arguments.repeat)
    known = every_run() if script.name != "capture" and not arguments.again else []
    change = bisect(
        lab,
        scorer,
        releases(lab.package),
        good=arguments.good,
        bad=arguments.bad,
        ready=installed_versions(lab.paths, lab.package),
        at_once=BISECTED_AT_ONCE if lab.package in {FRONT_END, RUST} else 1,
        recorded=recorded_scores(known, lab.package, target, steps),
    )
    if arguments.json:
        print_json(reporting.change_row(change))
    else:
        say(reporting.change_sentence(change, arguments.what))
    return 0


def shrink_command(arguments: Namespace) -> int:
    """Find the shortest token list that a release still loses."""
    _, capture = one_capture(str(arguments.capture))
    script = script_of_capture(capture)
    reading = read(capture)
    version = arguments.vllm or reading.server_version
    if version is None:
        raise LabError(f"{arguments.capture}: unknown vLLM version; set --vllm")
    wanted(capture)  # fails before a server is started
    interval = arguments.stream_interval or max(figures(reading).tokens_per_event_max, 1)
    endpoint = Endpoint(arguments.endpoint) if arguments.endpoint else endpoint_of(capture)
    lab = _session(arguments)
    environment = lab.prepare(version)
    options = ServerOptions(stream_interval=interval, tools=bool(script.built_in))
    with ExitStack() as stack:
        running = lab.serving(stack, environment, options)
        server = asker(running.base_url, script, endpoint, version=version, stream_interval=interval)
        found = shrink(capture, script.sampled, server, tries=arguments.tries, say=tell)
    if arguments.json:
        print_json(reporting.shrunk_row(found, version, interval))
    else:
        say(reporting.shrunk_lines(found, version, interval))
    return 0


def derender_command(arguments: Namespace) -> int:
    """Have another release parse the tokens of a capture; exit code 1 if it loses text of them."""
    _, capture = one_capture(str(arguments.capture))
    checked(capture)  # fails before a server is started
    if arguments.base_url:
        found = derender(capture, server_of(arguments))
    else:
        lab = replace(_session(arguments), package=FRONT_END)
        environment = lab.prepare(arguments.front_end)
        with ExitStack() as stack:
            running = lab.serving(stack, environment, ServerOptions(flags=scale_out(arguments.front_end)))
            found = derender(capture, server_of(arguments, running.base_url))
    if arguments.out:
        try:
            arguments.out.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise LabError(
                f"{arguments.out}: cannot be created ({error.strerror}); choose another --out"
            ) from error
        for name, one in found.answers.items():
            save(one.capture, arguments.out / f"{name}.jsonl")
    if arguments.json:
        print_json(reporting.derendered_row(found))
    else:
        say(reporting.derendered_lines(found))
    return int(not found.passed)


def load_command(arguments: Namespace) -> int:
    """Send one script many times at once."""
    schedule_of(arguments.stream_interval)
    package, version = (FRONT_END, arguments.front_end) if arguments.front_end else (RUST, arguments.rust)
    found = run_load(
        replace(_session(arguments), package=package),
        version,
        Target(Endpoint(arguments.endpoint), scripts.named([arguments.script])[0]),
        steps=arguments.stream_interval,
        streams=arguments.streams,
        step_ms=arguments.step_ms,
        out=arguments.out,
    )
    if arguments.json:
        print_json(load_row(found))
    else:
        say(load_sentence(found))
    return 0


def gate_command(arguments: Namespace) -> int:
    """Compare a release or a wheel with a base."""
    folder: Path = arguments.out or LabPaths(arguments.lab).root / "matrix"
    lab = replace(_session(arguments), package=RUST if arguments.rust else FRONT_END, jobs=arguments.jobs)
    if arguments.source and arguments.rust:
        raise LabError("--source has Python files only; compare the Rust front end of a wheel (--wheel)")
    if arguments.source:
        lab.prepare(arguments.base)
        change = use_source(lab.paths, arguments.source, over=arguments.base)
    else:
        change = arguments.front_end or use_wheel(lab.paths, arguments.wheel)
    targets = matrix.targets_of(
        [Endpoint(name) for name in arguments.endpoint], scripts.named(arguments.script)
    )
    steps = arguments.stream_interval or list(CONDITIONS)
    for step in steps:
        check_condition(step)
    sides = [
        matrix.run_matrix(lab, [version], targets, folder=folder, steps=steps)
        for version in (arguments.base, change)
    ]
    found = gate(*sides)
    if arguments.markdown:
        write_text(str(arguments.markdown), gate_markdown(found) + "\n")
    if arguments.json:
        print_json(gate_row(found))
    else:
        say(gate_lines(found))
    return int(not found.passed)


def watch_command(arguments: Namespace) -> int:
    """Record new releases, and say what they changed; exit code 1 if one is worse or was not recorded."""
    folder: Path = arguments.out or LabPaths(arguments.lab).root / "matrix"
    lab = replace(_session(arguments), package=RUST if arguments.rust else FRONT_END, jobs=arguments.jobs)
    steps = arguments.stream_interval or list(CONDITIONS)
    for step in steps:
        check_condition(step)
    found = record_new(
        lab,
        releases(lab.package),
        matrix.targets_of([Endpoint(name) for name in arguments.endpoint], scripts.named(arguments.script)),
        folder=folder,
        steps=steps,
        known=every_run(),
        after=arguments.after,
    )
    if arguments.markdown:
        write_text(str(arguments.markdown), report_markdown(found) + "\n")
    if arguments.publish:
        runs = {run.name: run for run in (*every_run(), *load_runs(folder))}
        publish(list(runs.values()), scripts.load(), arguments.publish)
    if arguments.json:
        print_json(
            {
                "recorded": list(found.recorded),
                "failed": dict(found.failed),
                "changes": [gate_row(one) for one in found.changes],
            }
        )
    else:
        say(report_lines(found))
    return int(not found.passed)


def scripts_command(arguments: Namespace) -> int:
    """List the scripts."""
    if arguments.json:
        print_json([reporting.script_row(script) for script in scripts.load()])
    else:
        for script in scripts.load():
            say(f"{script.name:26}{'' if script.well_formed else 'malformed: '}{script.sentence}")
    return 0
