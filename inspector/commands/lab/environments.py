"""`lab install`, `adopt`, `serve`: the environments of releases, and a server of one of them."""

import sys
from argparse import Namespace
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from inspector.capture.errors import LabError
from inspector.commands.lab.options import (
    STAND_IN_PACKAGES,
    add_package,
    add_release,
    add_servers,
    add_step_ms,
    lab_command,
    release_of,
    servers_in,
    session_of,
)
from inspector.commands.terminal import Commands, say, tell
from inspector.lab.install import NEWEST, adopt, installed_versions
from inspector.lab.paths import LabPaths
from inspector.lab.process import check_port
from inspector.lab.server import ServerOptions
from inspector.lab.servers.table import SERVERS
from inspector.lab.standin.install import FRONT_END, RUST
from inspector.lab.standin.steps import schedule_of


def add_install(commands: Commands) -> None:
    """`lab install`: install releases."""
    parser = lab_command(commands, "install", _install, "install releases", "lab install 0.32.0 0.13.0")
    add_package(parser)
    parser.add_argument(
        "versions", nargs="*", metavar="VERSION", help=f"releases for the CPU (default: {NEWEST})"
    )
    parser.add_argument("--python", default=sys.executable, help="Python interpreter for the environments")
    parser.add_argument(
        "--front-end",
        nargs="+",
        default=[],
        metavar="VERSION",
        help="the Python API server of an official release, for the stand-in engine",
    )
    parser.add_argument(
        "--rust", nargs="+", default=[], metavar="VERSION", help="the Rust front end of an official release"
    )
    add_servers(parser)


def _install(arguments: Namespace) -> int:
    lab = session_of(arguments)
    versions_by_package = {
        lab.package: arguments.versions,
        FRONT_END: arguments.front_end,
        RUST: arguments.rust,
        **servers_in(arguments),
    }
    if not any(versions_by_package.values()):
        versions_by_package = {lab.package: [NEWEST]}
    for package, versions in versions_by_package.items():
        for version in versions:
            replace(lab, package=package).prepare(version, python=arguments.python)
        if versions:
            say(f"{package} installed: {', '.join(installed_versions(lab.paths, package))}")
    return 0


def add_adopt(commands: Commands) -> None:
    """`lab adopt`: use an environment that was made by other means."""
    parser = lab_command(
        commands,
        "adopt",
        _adopt,
        "use an existing environment made from requirements-lab.txt",
        "lab adopt .venv-lab",
    )
    parser.add_argument("path", type=Path, metavar="DIR", help="folder of the environment")


def _adopt(arguments: Namespace) -> int:
    environment = adopt(LabPaths(arguments.lab), arguments.path, say=tell)
    say(f"adopted: {environment.package} {environment.version}")
    return 0


def add_serve(commands: Commands) -> None:
    """`lab serve`: start one release and keep it running."""
    parser = lab_command(
        commands,
        "serve",
        _serve,
        "start one release and keep it running",
        "lab serve --vllm 0.32.0 --stream-interval 3 --port 8000 -- --max-num-seqs 8",
    )
    add_package(parser)
    add_release(parser)
    parser.add_argument(
        "--stream-interval",
        default="1",
        metavar="N",
        help="tokens per step (default: 1); on the stand-in engine also ragged:7, burst:16, 3+stall:500@4, "
        "3+abort@4, +length, +error, +die",
    )
    parser.add_argument(
        "--load",
        action="store_true",
        help="stand-in engine: send steps at fixed times, so that a busy server merges them",
    )
    add_step_ms(parser)
    parser.add_argument("--port", type=int, default=8000, help="0 selects a free port (default: 8000)")
    parser.add_argument("--tools", action="store_true", help="also start the tool servers (python, browser)")
    parser.add_argument("flags", nargs="*", metavar="FLAG", help="after --: more flags for vllm serve")


def _serve(arguments: Namespace) -> int:
    package, version = release_of(arguments)
    lab = session_of(arguments, package)
    if arguments.port:
        check_port(arguments.port)
    steps: str = arguments.stream_interval
    schedule_of(steps)
    if package not in STAND_IN_PACKAGES and not steps.isdigit():
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
        name = SERVERS[package].label if package in SERVERS else "vLLM"
        tell(f"{name} {version} is ready; log: {running.log}; press Ctrl-C to stop")
        try:
            running.wait()
        except KeyboardInterrupt:
            tell("stopping")
    return 0
