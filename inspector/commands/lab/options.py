"""What the commands of `lab` share: their parser, their options, and what the options stand for."""

import sys
from argparse import (
    SUPPRESS,
    ArgumentParser,
    ArgumentTypeError,
    Namespace,
    RawDescriptionHelpFormatter,
)
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from inspector.capture.capture import Endpoint
from inspector.capture.errors import LabError
from inspector.commands.terminal import Commands, tell
from inspector.lab import scripts
from inspector.lab.install import CPU_PACKAGE, GPU_PACKAGE
from inspector.lab.matrix import targets_of
from inspector.lab.paths import ENVIRONMENT_VARIABLE, LabPaths, default_root
from inspector.lab.process import kill_is_interrupt
from inspector.lab.recording import Target
from inspector.lab.server import STEP_MS
from inspector.lab.servers.table import SERVERS
from inspector.lab.session import LabSession
from inspector.lab.standin.install import FRONT_END, RUST
from inspector.lab.standin.steps import CONDITIONS, check_condition

ENDPOINTS: Final = [endpoint.value for endpoint in scripts.ENDPOINTS]
STAND_IN_PACKAGES: Final = frozenset({FRONT_END, RUST, *SERVERS})
"""What runs on an engine of the lab, which makes steps of any size."""

_LONGEST_STEP_MS: Final = 10_000
_NAMES: Final = ", ".join(SERVERS)


def lab_command(
    commands: Commands,
    name: str,
    run: Callable[[Namespace], int],
    summary: str,
    example: str,
    *,
    environments: bool = True,
) -> ArgumentParser:
    """A command of `lab`, with the option for the folder of the environments if it uses any."""
    parser = commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=f"example:\n  python -m inspector {example}",
        formatter_class=RawDescriptionHelpFormatter,
        conflict_handler="resolve",
    )
    # Every command used to accept these two; scripts may still pass them to a command that ignores them.
    parser.add_argument("--package", default=CPU_PACKAGE, help=SUPPRESS)
    parser.add_argument("--lab", type=Path, default=default_root(), help=SUPPRESS)
    if environments:
        parser.add_argument(
            "--lab",
            type=Path,
            default=default_root(),
            metavar="DIR",
            help=f"folder of environments and logs (default: {ENVIRONMENT_VARIABLE}, or the user's cache "
            "folder)",
        )

    def run_guarded(arguments: Namespace) -> int:
        with kill_is_interrupt():
            return run(arguments)

    parser.set_defaults(run=run_guarded)
    return parser


def add_package(parser: ArgumentParser) -> None:
    """`--package`, for commands that have no options `--vllm`, `--front-end` and `--rust` for it."""
    parser.add_argument(
        "--package",
        choices=(CPU_PACKAGE, GPU_PACKAGE, FRONT_END, RUST, *SERVERS),
        default=CPU_PACKAGE,
        help=f"what runs a release (default: {CPU_PACKAGE}; {GPU_PACKAGE} needs a GPU; {FRONT_END} and "
        f"{RUST} are the front ends of official releases on the stand-in engine; the rest are other servers)",
    )


def add_step_ms(parser: ArgumentParser) -> None:
    """`--step-ms`: how long an engine step takes under load."""
    parser.add_argument(
        "--step-ms",
        type=_milliseconds,
        default=STEP_MS,
        metavar="MS",
        help=f"milliseconds between two steps under load (default: {STEP_MS})",
    )


def _milliseconds(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= _LONGEST_STEP_MS):
        raise ArgumentTypeError(f"invalid number of milliseconds: {text!r}; 1 to {_LONGEST_STEP_MS}")
    return int(text)


def add_release(parser: ArgumentParser) -> None:
    """One of `--vllm`, `--front-end`, `--rust` and `--server`; `release_of` reads them."""
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument("--vllm", metavar="VERSION", help="a release with its own engine, on the CPU")
    group.add_argument(
        "--front-end",
        metavar="VERSION",
        help="an official release's Python front end, on the stand-in engine",
    )
    group.add_argument("--rust", metavar="VERSION", help="its Rust front end, on the stand-in engine")
    group.add_argument(
        "--server", nargs="+", metavar="NAME", help=f"another server and its version: {_NAMES}"
    )


def add_server(parser: ArgumentParser) -> None:
    """`--server`, for one whose releases are compared."""
    parser.add_argument(
        "--server", choices=list(SERVERS), default="", metavar="NAME", help=f"another server: {_NAMES}"
    )


def add_servers(parser: ArgumentParser) -> None:
    """`--server`, for several; `servers_in` reads them."""
    parser.add_argument(
        "--server",
        nargs="+",
        action="append",
        default=[],
        metavar="NAME",
        help=f"another server and its versions (default: the tested one); may be repeated: {_NAMES}",
    )


def servers_in(arguments: Namespace) -> dict[str, list[str]]:
    """Versions by server of `--server`; raises LabError for an unknown one."""
    versions: dict[str, list[str]] = {}
    for words in arguments.server:
        name, chosen = _server(words)
        versions.setdefault(name, []).extend(chosen)
    return versions


def _server(words: list[str]) -> tuple[str, list[str]]:
    name, *versions = words
    server = SERVERS.get(name)
    if server is None:
        raise LabError(f"no server named {name}; --server takes {_NAMES}")
    if not versions and not server.newest:
        raise LabError(f"--server {name} needs a version")
    return name, versions or [server.newest]


def add_selection(parser: ArgumentParser) -> None:
    """Steps, endpoints and scripts to record; `targets_in` and `conditions_in` read them."""
    parser.add_argument(
        "--stream-interval",
        nargs="+",
        metavar="N",
        help="tokens per step, or unstreamed (default: 1 3; on the stand-in engine 1 3 ragged unstreamed)",
    )
    parser.add_argument(
        "--endpoint",
        nargs="+",
        choices=ENDPOINTS,
        default=ENDPOINTS,
        metavar="NAME",
        help=f"{', '.join(ENDPOINTS)} (default: all)",
    )
    parser.add_argument("--script", nargs="+", default=[], metavar="NAME", help="record only these scripts")
    parser.add_argument("--jobs", type=int, default=4, metavar="N", help="concurrent requests (default: 4)")
    parser.add_argument("--python", default=sys.executable, help=SUPPRESS)


def add_results_folder(parser: ArgumentParser) -> None:
    """`--out`, the folder of the matrix's results; `results_folder` reads it."""
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="folder of the results (default: in the lab's folder)"
    )


def add_json(parser: ArgumentParser, what: str = "the result") -> None:
    """`--json`."""
    parser.add_argument("--json", action="store_true", help=f"print {what} as JSON")


def release_of(arguments: Namespace) -> tuple[str, str]:
    """Package and version of `--vllm`, `--front-end`, `--rust` or `--server`."""
    if getattr(arguments, "server", None):
        name, versions = _server(arguments.server)
        if len(versions) > 1:
            raise LabError(f"--server {name}: name one version")
        return name, versions[0]
    if arguments.front_end:
        return FRONT_END, arguments.front_end
    return (RUST, arguments.rust) if arguments.rust else (arguments.package, arguments.vllm)


def session_of(arguments: Namespace, package: str | None = None) -> LabSession:
    """The lab's session for the options; `package` replaces that of `--package`."""
    session = LabSession(paths=LabPaths(arguments.lab), package=package or arguments.package, say=tell)
    return replace(session, jobs=arguments.jobs) if "jobs" in arguments else session


def results_folder(arguments: Namespace) -> Path:
    """The folder of the matrix's results."""
    folder: Path = arguments.out or LabPaths(arguments.lab).root / "matrix"
    return folder


def endpoints_in(arguments: Namespace) -> list[Endpoint]:
    """The endpoints of `--endpoint`."""
    return [Endpoint(name) for name in arguments.endpoint]


def targets_in(arguments: Namespace) -> list[Target]:
    """The selected scripts on the selected endpoints; raises LabError for an unknown script."""
    return targets_of(endpoints_in(arguments), scripts.named(arguments.script))


def conditions_in(arguments: Namespace, package: str) -> list[str]:
    """The selected steps, or the defaults of a package; raises LabError for what is no schedule."""
    default = list(CONDITIONS) if package in STAND_IN_PACKAGES else ["1", "3"]
    if (other := SERVERS.get(package)) is not None:
        default = list(other.conditions)
    conditions: list[str] = arguments.stream_interval or default
    for condition in conditions:
        check_condition(condition)
    return conditions
