"""`lab record`, `matrix`, `gate`, `watch`: record scripts of releases, score them, and report changes."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from harmony_lab import reporting
from harmony_lab.bisect import releases
from harmony_lab.commands.options import (
    Packaged,
    Release,
    Results,
    Selection,
    Servers,
    lab_command,
    one_server_option,
    release_of,
    servers_in,
)
from harmony_lab.gate import gate, gate_lines, gate_markdown, gate_row
from harmony_lab.matrix import rescore, run_matrix
from harmony_lab.publish import matrix_page, publish
from harmony_lab.run_files import RunWriter
from harmony_lab.standin.install import FRONT_END, RUST, use_source, use_wheel
from harmony_lab.watch import record_new, report_lines, report_markdown
from inspector.capture.errors import LabError
from inspector.commands.options import flag, option, required
from inspector.commands.shared import as_json, write_text
from inspector.commands.terminal import print_json, say, tell
from inspector.matrix import scripts
from inspector.matrix.receivers import load_clients
from inspector.matrix.results import MatrixRun, every_run, load_runs


class Record(Release, Selection, needs=("release",)):
    """Record every script of one release as captures."""

    out: Path = required("folder in which captures are saved", "DIR")


def _record(options: Record) -> int:
    package, version = release_of(options)
    for run in _record_missing(options, {package: [version]}, options.out):
        say(f"{run.captures}: {len(run.scores)} captures")
    return 0


class Matrix(Packaged, Servers, Results, Selection):
    """Record and score releases; resumes after an interruption."""

    versions: tuple[str, ...] = option(
        "without versions: only read and score existing results", (), "VERSION", positional=True
    )
    front_end: tuple[str, ...] = option(
        "Python front ends of official releases on the stand-in engine", (), "VERSION"
    )
    rust: tuple[str, ...] = option("Rust front ends on the stand-in engine", (), "VERSION")
    json: bool = as_json("the scores as JSON")
    html: Path | None = option("write the matrix as an HTML page", None, "FILE")
    publish: Path | None = option(
        "write static pages with an address for each cell, a feed of changes, and JSON", None, "DIR"
    )
    changes: bool = flag("report what changed from each release to the next")
    twins: bool = flag("report where a stream and the unstreamed response to the same request differ")
    rescore: bool = flag("score the stored captures again")


def _matrix(options: Matrix) -> int:
    folder = options.folder
    if options.rescore:
        for run in load_runs(folder):
            rescore(RunWriter(folder, run.package, run.version, run.step))
    versions_by_package = {
        options.package: options.versions,
        FRONT_END: options.front_end,
        RUST: options.rust,
        **servers_in(options),
    }
    _record_missing(options, versions_by_package, folder)
    runs = [
        run
        for run in load_runs(folder)
        if not any(versions_by_package.values()) or run.version in versions_by_package.get(run.package, [])
    ]
    if not runs:
        raise LabError(f"{folder}: no results; name the releases to record, for example: lab matrix 0.32.0")
    if options.html:
        write_text(str(options.html), matrix_page(runs, scripts.load()))
    if options.publish:
        files = publish(runs, scripts.load(), options.publish, load_clients(folder))
        tell(f"{len(files)} files in {options.publish}")
    if options.json:
        print_json([row for run in runs for row in reporting.score_rows(run)])
    elif options.twins:
        say(reporting.twin_lines(runs, options.endpoint))
    elif options.changes:
        say(reporting.change_lines(runs, options.endpoint))
    elif not (options.html or options.publish):
        say(reporting.summary(runs))
    return 0


def _record_missing(
    options: Selection, versions_by_package: Mapping[str, Sequence[str]], folder: Path
) -> list[MatrixRun]:
    targets = options.targets
    runs: list[MatrixRun] = []
    for package, versions in versions_by_package.items():
        steps = options.conditions(package)
        runs += run_matrix(options.session(package), versions, targets, folder=folder, steps=steps)
    return runs


class Gate(Results, Selection, needs=("change",)):
    """Compare a release or a wheel with a base; exit code 1 if a result became worse."""

    base: str = required("an official release", "VERSION")
    front_end: str = option("an official release as the change", "", "VERSION", one_of="change")
    release: str = option("a release of --server as the change", "", "VERSION", one_of="change")
    wheel: Path | None = option("a wheel of vLLM as the change", None, "FILE", one_of="change")
    source: Path | None = option(
        "a checkout of vLLM as the change: its Python files over those of the base",
        None,
        "DIR",
        one_of="change",
    )
    rust: bool = flag("compare the Rust front ends of both")
    server: str = one_server_option()
    json: bool = as_json()
    markdown: Path | None = option("write the result for a pull request", None, "FILE")


def _gate(options: Gate) -> int:
    lab = options.session(_compared(server=options.server, rust=options.rust))
    if bool(options.server) is not bool(options.release):
        raise LabError("--server and --release go together: the server, and its release as the change")
    if options.source and options.rust:
        raise LabError("--source has Python files only; compare the Rust front end of a wheel (--wheel)")
    if options.source:
        lab.prepare(options.base)
        change = use_source(lab.paths, options.source, over=options.base)
    elif options.wheel:
        change = use_wheel(lab.paths, options.wheel)
    else:
        change = options.front_end or options.release
    folder, targets = options.folder, options.targets
    steps = options.conditions(lab.package)
    base_runs, change_runs = (
        run_matrix(lab, [version], targets, folder=folder, steps=steps) for version in (options.base, change)
    )
    comparison = gate(base_runs, change_runs)
    if options.markdown:
        write_text(str(options.markdown), gate_markdown(comparison) + "\n")
    if options.json:
        print_json(gate_row(comparison))
    else:
        say(gate_lines(comparison))
    return int(not comparison.passed)


def _compared(*, server: str, rust: bool) -> str:
    """The package whose releases are compared."""
    return server or (RUST if rust else FRONT_END)


class WatchReleases(Results, Selection):
    """Record the releases on the package index that are newer than the results, and report what changed.

    Exit code 1 if a release is worse, or was not recorded.
    """

    rust: bool = flag("the Rust front end (default: the Python one)")
    server: str = one_server_option()
    after: str | None = option(
        "record the releases after this one (default: the newest result)", None, "VERSION"
    )
    json: bool = as_json()
    markdown: Path | None = option("write the change report", None, "FILE")
    publish: Path | None = option("write the static pages of all results", None, "DIR")


def _watch(options: WatchReleases) -> int:
    folder = options.folder
    lab = options.session(_compared(server=options.server, rust=options.rust))
    report = record_new(
        lab,
        releases(lab.package),
        options.targets,
        folder=folder,
        steps=options.conditions(lab.package),
        other_runs=every_run(),
        after=options.after,
    )
    if options.markdown:
        write_text(str(options.markdown), report_markdown(report) + "\n")
    if options.publish:
        runs = {run.name: run for run in (*every_run(), *load_runs(folder))}
        publish(list(runs.values()), scripts.load(), options.publish, load_clients())
    if options.json:
        print_json(
            {
                "recorded": list(report.recorded),
                "failed": dict(report.failed),
                "changes": [gate_row(change) for change in report.changes],
            }
        )
    else:
        say(report_lines(report))
    return int(not report.passed)


RECORD: Final = lab_command(Record, _record, "record --vllm 0.32.0 --stream-interval 1 3 --out captures")
MATRIX: Final = lab_command(
    Matrix, _matrix, "matrix 0.13.0 0.14.1 0.32.0 --stream-interval 1 3 --html matrix.html"
)
GATE: Final = lab_command(
    Gate, _gate, "gate --base 0.32.0 --wheel vllm-0.33.1.dev4-cp38-abi3-linux_x86_64.whl"
)
WATCH: Final = lab_command(WatchReleases, _watch, "watch --markdown change.md --publish pages")
