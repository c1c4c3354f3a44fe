"""`lab record`, `matrix`, `gate`, `watch`: record scripts of releases, score them, and report changes."""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path

from inspector.capture.errors import LabError
from inspector.commands.lab.options import (
    add_json,
    add_package,
    add_release,
    add_results_folder,
    add_selection,
    add_server,
    add_servers,
    conditions_in,
    endpoints_in,
    lab_command,
    release_of,
    results_folder,
    servers_in,
    session_of,
    targets_in,
)
from inspector.commands.shared import write_text
from inspector.commands.terminal import Commands, print_json, say, tell
from inspector.lab import reporting, scripts
from inspector.lab.bisect import releases
from inspector.lab.clients import load_clients
from inspector.lab.gate import gate, gate_lines, gate_markdown, gate_row
from inspector.lab.matrix import rescore, run_matrix
from inspector.lab.publish import matrix_page, publish
from inspector.lab.results import MatrixRun, RunFiles, every_run, load_runs
from inspector.lab.standin.install import FRONT_END, RUST, use_source, use_wheel
from inspector.lab.watch import record_new, report_lines, report_markdown


def add_record(commands: Commands) -> None:
    """`lab record`: record the scripts of one release."""
    parser = lab_command(
        commands,
        "record",
        _record,
        "record every script of one release as captures",
        "lab record --vllm 0.32.0 --stream-interval 1 3 --out captures",
    )
    add_package(parser)
    add_release(parser)
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="folder in which captures are saved"
    )
    add_selection(parser)


def _record(arguments: Namespace) -> int:
    package, version = release_of(arguments)
    for run in _record_missing(arguments, {package: [version]}, arguments.out):
        say(f"{run.captures}: {len(run.scores)} captures")
    return 0


def add_matrix(commands: Commands) -> None:
    """`lab matrix`: record and score releases, or read existing results."""
    parser = lab_command(
        commands,
        "matrix",
        _matrix,
        "record and score releases; resumes after an interruption",
        "lab matrix 0.13.0 0.14.1 0.32.0 --stream-interval 1 3 --html matrix.html",
    )
    add_package(parser)
    parser.add_argument(
        "versions",
        nargs="*",
        metavar="VERSION",
        help="without versions: only read and score existing results",
    )
    parser.add_argument(
        "--front-end",
        nargs="+",
        default=[],
        metavar="VERSION",
        help="Python front ends of official releases on the stand-in engine",
    )
    parser.add_argument(
        "--rust", nargs="+", default=[], metavar="VERSION", help="Rust front ends on the stand-in engine"
    )
    add_servers(parser)
    add_results_folder(parser)
    add_json(parser, "the scores")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write the matrix as an HTML page")
    parser.add_argument(
        "--publish",
        type=Path,
        metavar="DIR",
        help="write static pages with an address for each cell, a feed of changes, and JSON",
    )
    parser.add_argument(
        "--changes", action="store_true", help="report what changed from each release to the next"
    )
    parser.add_argument(
        "--twins",
        action="store_true",
        help="report where a stream and the unstreamed response to the same request differ",
    )
    parser.add_argument("--rescore", action="store_true", help="score the stored captures again")
    add_selection(parser)


def _matrix(arguments: Namespace) -> int:
    folder = results_folder(arguments)
    if arguments.rescore:
        for run in load_runs(folder):
            rescore(RunFiles(folder, run.package, run.version, run.step))
    versions_by_package = {
        arguments.package: arguments.versions,
        FRONT_END: arguments.front_end,
        RUST: arguments.rust,
        **servers_in(arguments),
    }
    _record_missing(arguments, versions_by_package, folder)
    runs = [
        run
        for run in load_runs(folder)
        if not any(versions_by_package.values()) or run.version in versions_by_package.get(run.package, [])
    ]
    if not runs:
        raise LabError(f"{folder}: no results; name the releases to record, for example: lab matrix 0.32.0")
    if arguments.html:
        write_text(str(arguments.html), matrix_page(runs, scripts.load()))
    if arguments.publish:
        files = publish(runs, scripts.load(), arguments.publish, load_clients(folder))
        tell(f"{len(files)} files in {arguments.publish}")
    if arguments.json:
        print_json([row for run in runs for row in reporting.score_rows(run)])
    elif arguments.twins:
        say(reporting.twin_lines(runs, endpoints_in(arguments)))
    elif arguments.changes:
        say(reporting.change_lines(runs, endpoints_in(arguments)))
    elif not (arguments.html or arguments.publish):
        say(reporting.summary(runs))
    return 0


def _record_missing(
    arguments: Namespace, versions_by_package: Mapping[str, Sequence[str]], folder: Path
) -> list[MatrixRun]:
    targets = targets_in(arguments)
    runs: list[MatrixRun] = []
    for package, versions in versions_by_package.items():
        steps = conditions_in(arguments, package)
        runs += run_matrix(session_of(arguments, package), versions, targets, folder=folder, steps=steps)
    return runs


def add_gate(commands: Commands) -> None:
    """`lab gate`: compare a release, a wheel or a checkout with a base."""
    parser = lab_command(
        commands,
        "gate",
        _gate,
        "compare a release or a wheel with a base; exit code 1 if a result became worse",
        "lab gate --base 0.32.0 --wheel vllm-0.33.1.dev4-cp38-abi3-linux_x86_64.whl",
    )
    parser.add_argument("--base", required=True, metavar="VERSION", help="an official release")
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument("--front-end", metavar="VERSION", help="an official release as the change")
    group.add_argument("--release", metavar="VERSION", help="a release of --server as the change")
    group.add_argument("--wheel", type=Path, metavar="FILE", help="a wheel of vLLM as the change")
    group.add_argument(
        "--source",
        type=Path,
        metavar="DIR",
        help="a checkout of vLLM as the change: its Python files over those of the base",
    )
    parser.add_argument("--rust", action="store_true", help="compare the Rust front ends of both")
    add_server(parser)
    add_results_folder(parser)
    add_json(parser)
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the result for a pull request")
    add_selection(parser)


def _gate(arguments: Namespace) -> int:
    lab = session_of(arguments, _compared(arguments))
    if bool(arguments.server) is not bool(arguments.release):
        raise LabError("--server and --release go together: the server, and its release as the change")
    if arguments.source and arguments.rust:
        raise LabError("--source has Python files only; compare the Rust front end of a wheel (--wheel)")
    if arguments.source:
        lab.prepare(arguments.base)
        change = use_source(lab.paths, arguments.source, over=arguments.base)
    else:
        change = arguments.front_end or arguments.release or use_wheel(lab.paths, arguments.wheel)
    folder, targets = results_folder(arguments), targets_in(arguments)
    steps = conditions_in(arguments, lab.package)
    base_runs, change_runs = (
        run_matrix(lab, [version], targets, folder=folder, steps=steps)
        for version in (arguments.base, change)
    )
    comparison = gate(base_runs, change_runs)
    if arguments.markdown:
        write_text(str(arguments.markdown), gate_markdown(comparison) + "\n")
    if arguments.json:
        print_json(gate_row(comparison))
    else:
        say(gate_lines(comparison))
    return int(not comparison.passed)


def _compared(arguments: Namespace) -> str:
    """The package whose releases are compared."""
    return str(arguments.server or (RUST if arguments.rust else FRONT_END))


def add_watch(commands: Commands) -> None:
    """`lab watch`: record new releases; exit code 1 if one is worse or was not recorded."""
    parser = lab_command(
        commands,
        "watch",
        _watch,
        "record the releases on the package index that are newer than the results, and report what changed",
        "lab watch --markdown change.md --publish pages",
    )
    parser.add_argument("--rust", action="store_true", help="the Rust front end (default: the Python one)")
    add_server(parser)
    add_results_folder(parser)
    parser.add_argument(
        "--after", metavar="VERSION", help="record the releases after this one (default: the newest result)"
    )
    add_json(parser)
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the change report")
    parser.add_argument("--publish", type=Path, metavar="DIR", help="write the static pages of all results")
    add_selection(parser)


def _watch(arguments: Namespace) -> int:
    folder = results_folder(arguments)
    lab = session_of(arguments, _compared(arguments))
    report = record_new(
        lab,
        releases(lab.package),
        targets_in(arguments),
        folder=folder,
        steps=conditions_in(arguments, lab.package),
        other_runs=every_run(),
        after=arguments.after,
    )
    if arguments.markdown:
        write_text(str(arguments.markdown), report_markdown(report) + "\n")
    if arguments.publish:
        runs = {run.name: run for run in (*every_run(), *load_runs(folder))}
        publish(list(runs.values()), scripts.load(), arguments.publish, load_clients())
    if arguments.json:
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
