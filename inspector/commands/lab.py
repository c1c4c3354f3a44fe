"""`lab`: real vLLM releases without a GPU, from the command line."""

import sys
from argparse import SUPPRESS, ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Final

from inspector.capture import Endpoint
from inspector.commands.shared import Commands, one_capture, print_json, say, tell, write_text
from inspector.errors import LabError
from inspector.lab import html, matrix, reporting, scripts
from inspector.lab.bisect import asking, bisect, endpoint_of, releases, script_of_capture
from inspector.lab.install import CPU_PACKAGE, GPU_PACKAGE, NEWEST, adopt, installed_versions
from inspector.lab.paths import ENVIRONMENT_VARIABLE, LabPaths, default_root
from inspector.lab.process import check_port, kill_is_interrupt
from inspector.lab.recording import Target
from inspector.lab.results import Run, Shelf, load_runs
from inspector.lab.server import ServerOptions
from inspector.lab.session import LabSession
from inspector.lab.shrink import asker, shrink, wanted
from inspector.metrics import figures
from inspector.reading import read

__all__ = ["add_parser"]

_ENDPOINTS: Final = [endpoint.value for endpoint in scripts.ENDPOINTS]


def add_parser(commands: Commands) -> None:
    """Add `lab` and its own commands."""
    lab = commands.add_parser(
        "lab",
        help="run real vLLM releases on a CPU with scripted tokens",
        description="Install, start, record, compare and bisect vLLM releases. See docs/lab.md.",
        epilog="example:\n  python -m inspector lab serve --vllm 0.32.0 --stream-interval 3",
        formatter_class=RawDescriptionHelpFormatter,
    )
    _add_commands(lab)


def _add_commands(lab: ArgumentParser) -> None:
    inner = lab.add_subparsers(metavar="LAB-COMMAND", required=True)

    install = _command(inner, "install", _install, "install releases", "lab install 0.32.0 0.13.0")
    install.add_argument(
        "versions", nargs="*", default=[NEWEST], metavar="VERSION", help=f"default: {NEWEST}"
    )
    install.add_argument("--python", default=sys.executable, help="Python interpreter for the environments")

    adopted = _command(
        inner,
        "adopt",
        _adopt,
        "use an existing environment made from requirements-lab.txt",
        "lab adopt .venv-lab",
    )
    adopted.add_argument("path", type=Path, metavar="DIR")

    serve = _command(
        inner,
        "serve",
        _serve,
        "start one release and keep it running",
        "lab serve --vllm 0.32.0 --stream-interval 3 --port 8000 -- --max-num-seqs 8",
    )
    serve.add_argument("--vllm", required=True, metavar="VERSION")
    serve.add_argument(
        "--stream-interval", type=int, default=1, metavar="N", help="tokens per step (default: 1)"
    )
    serve.add_argument("--port", type=int, default=8000, help="0 selects a free port (default: 8000)")
    serve.add_argument("--tools", action="store_true", help="also start the tool servers (python, browser)")
    serve.add_argument("flags", nargs="*", metavar="FLAG", help="after --: more flags for vllm serve")

    record = _command(
        inner,
        "record",
        _record,
        "record every script of one release as captures",
        "lab record --vllm 0.32.0 --stream-interval 1 3 --out captures",
    )
    record.add_argument("--vllm", required=True, metavar="VERSION")
    record.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="folder in which captures are saved"
    )
    _selection(record)

    conform = _command(
        inner,
        "matrix",
        _matrix,
        "record and score releases; resumes after an interruption",
        "lab matrix 0.13.0 0.14.1 0.32.0 --stream-interval 1 3 --html matrix.html",
    )
    conform.add_argument(
        "versions",
        nargs="*",
        metavar="VERSION",
        help="without versions: only read and score existing results",
    )
    conform.add_argument(
        "--out", type=Path, metavar="DIR", help="folder of the results (default: in the lab's folder)"
    )
    conform.add_argument("--json", action="store_true", help="print the scores as JSON")
    conform.add_argument("--html", type=Path, metavar="FILE", help="write the matrix as an HTML page")
    conform.add_argument("--rescore", action="store_true", help="score the stored captures again")
    _selection(conform)

    search = _command(
        inner,
        "bisect",
        _bisect,
        "find the first release where an outcome changes",
        "lab bisect plain --endpoint responses --stream-interval 3 --good 0.14.1 --bad 0.13.0",
    )
    search.add_argument(
        "what", metavar="SCRIPT_OR_CAPTURE", help="name of a script, or a capture file with token IDs"
    )
    search.add_argument("--good", required=True, metavar="VERSION")
    search.add_argument("--bad", required=True, metavar="VERSION")
    search.add_argument("--endpoint", choices=_ENDPOINTS, help="default: the capture's endpoint, or chat")
    search.add_argument("--stream-interval", type=int, default=1, metavar="N")
    search.add_argument(
        "--repeat",
        type=int,
        default=3,
        metavar="N",
        help="send the request N times; the worst outcome counts (default: 3)",
    )
    search.add_argument("--json", action="store_true", help="print the result as JSON")

    smaller = _command(
        inner,
        "shrink",
        _shrink,
        "find the shortest token list that a release still loses",
        "lab shrink fixtures/chat-tool-call-leak-vllm-0.14.1.jsonl --vllm 0.14.1 --stream-interval 3",
    )
    smaller.add_argument("capture", type=Path, metavar="CAPTURE", help="a capture file with token IDs")
    smaller.add_argument("--vllm", metavar="VERSION", help="default: the capture's version")
    smaller.add_argument("--endpoint", choices=_ENDPOINTS, help="default: the capture's endpoint, or chat")
    smaller.add_argument(
        "--stream-interval",
        type=int,
        metavar="N",
        help="default: the largest number of tokens in an event of the capture",
    )
    smaller.add_argument(
        "--tries", type=int, default=300, metavar="N", help="maximum number of requests (default: 300)"
    )
    smaller.add_argument("--json", action="store_true", help="print the result as JSON")

    listing = _command(inner, "scripts", _scripts, "list the scripts", "lab scripts")
    listing.add_argument("--json", action="store_true", help="print the scripts with token IDs as JSON")


def _command(
    inner: Commands, name: str, run: Callable[[Namespace], int], words: str, example: str
) -> ArgumentParser:
    parser = inner.add_parser(
        name,
        help=words,
        description=f"{words[0].upper()}{words[1:]}.",
        epilog=f"example:\n  python -m inspector {example}",
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--lab",
        type=Path,
        default=default_root(),
        metavar="DIR",
        help=f"folder of environments and logs (default: {ENVIRONMENT_VARIABLE}, or the user's cache folder)",
    )
    parser.add_argument(
        "--package",
        choices=(CPU_PACKAGE, GPU_PACKAGE),
        default=CPU_PACKAGE,
        help=f"package to install (default: {CPU_PACKAGE}; {GPU_PACKAGE} needs a GPU)",
    )

    def guarded(arguments: Namespace) -> int:
        with kill_is_interrupt():
            return run(arguments)

    parser.set_defaults(run=guarded)
    return parser


def _selection(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--stream-interval", type=int, nargs="+", default=[1, 3], metavar="N", help="default: 1 3"
    )
    parser.add_argument("--endpoint", nargs="+", choices=_ENDPOINTS, default=_ENDPOINTS, metavar="ENDPOINT")
    parser.add_argument("--script", nargs="+", default=[], metavar="NAME", help="record only these scripts")
    parser.add_argument("--jobs", type=int, default=4, metavar="N", help="concurrent requests (default: 4)")
    parser.add_argument("--python", default=sys.executable, help=SUPPRESS)


def _session(arguments: Namespace) -> LabSession:
    return LabSession(paths=LabPaths(arguments.lab), package=arguments.package, say=tell)


def _install(arguments: Namespace) -> int:
    lab = _session(arguments)
    for version in arguments.versions:
        lab.prepare(version, python=arguments.python)
    say(f"installed: {', '.join(installed_versions(lab.paths, lab.package))}")
    return 0


def _adopt(arguments: Namespace) -> int:
    environment = adopt(LabPaths(arguments.lab), arguments.path, say=tell)
    say(f"adopted: {environment.package} {environment.version}")
    return 0


def _serve(arguments: Namespace) -> int:
    lab = _session(arguments)
    if arguments.port:
        check_port(arguments.port)
    environment = lab.prepare(arguments.vllm)
    options = ServerOptions(
        stream_interval=arguments.stream_interval,
        port=arguments.port,
        tools=arguments.tools,
        flags=arguments.flags,
    )
    with ExitStack() as stack:
        running = lab.serving(stack, environment, options)
        say(running.base_url)
        sys.stdout.flush()
        tell(f"vLLM {arguments.vllm} is ready; log: {running.log}; press Ctrl-C to stop")
        try:
            running.wait()
        except KeyboardInterrupt:
            tell("stopping")
    return 0


def _record(arguments: Namespace) -> int:
    runs = _run_matrix(arguments, [arguments.vllm], arguments.out)
    for run in runs:
        say(f"{run.captures}: {len(run.scores)} captures")
    return 0


def _matrix(arguments: Namespace) -> int:
    folder: Path = arguments.out or LabPaths(arguments.lab).root / "matrix"
    if arguments.rescore:
        for run in load_runs(folder):
            matrix.rescore(Shelf(folder, run.package, run.version, run.stream_interval))
    if arguments.versions:
        _run_matrix(arguments, arguments.versions, folder)
    runs = [run for run in load_runs(folder) if not arguments.versions or run.version in arguments.versions]
    if not runs:
        raise LabError(f"{folder}: no results; name the releases to record, for example: lab matrix 0.32.0")
    if arguments.html:
        write_text(str(arguments.html), html.page(runs, scripts.load()))
    if arguments.json:
        print_json([row for run in runs for row in reporting.score_rows(run)])
    elif not arguments.html:
        say(reporting.summary(runs))
    return 0


def _run_matrix(arguments: Namespace, versions: Sequence[str], folder: Path) -> list[Run]:
    return matrix.run_matrix(
        replace(_session(arguments), jobs=arguments.jobs),
        versions,
        matrix.targets_of([Endpoint(name) for name in arguments.endpoint], scripts.named(arguments.script)),
        folder=folder,
        intervals=arguments.stream_interval,
    )


def _bisect(arguments: Namespace) -> int:
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
    scorer = asking(lab, target, stream_interval=arguments.stream_interval, repeat=arguments.repeat)
    change = bisect(lab, scorer, releases(lab.package), good=arguments.good, bad=arguments.bad)
    if arguments.json:
        print_json(reporting.change_row(change))
    else:
        say(reporting.change_sentence(change, arguments.what))
    return 0


def _shrink(arguments: Namespace) -> int:
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


def _scripts(arguments: Namespace) -> int:
    if arguments.json:
        print_json([reporting.script_row(script) for script in scripts.load()])
    else:
        for script in scripts.load():
            say(f"{script.name:26}{'' if script.well_formed else 'malformed: '}{script.sentence}")
    return 0
