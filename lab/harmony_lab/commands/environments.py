"""`lab install`, `adopt`, `serve`: the environments of releases, and a server of one of them."""

import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Final

from harmony_lab.commands.options import (
    STAND_IN_PACKAGES,
    Environments,
    Milliseconds,
    Packaged,
    Release,
    Servers,
    lab_command,
    release_of,
    servers_in,
    step_time,
)
from harmony_lab.install import NEWEST, adopt, installed_versions
from harmony_lab.process import check_port
from harmony_lab.server import ServerOptions
from harmony_lab.servers.table import SERVERS
from harmony_lab.standin.install import FRONT_END, RUST
from harmony_lab.standin.steps import schedule_of
from inspector.capture.errors import LabError
from inspector.commands.options import flag, option, required
from inspector.commands.terminal import say, tell


class Install(Packaged, Servers):
    """Install releases."""

    versions: tuple[str, ...] = option(
        f"releases for the CPU (default: {NEWEST})", (), "VERSION", positional=True
    )
    python: str = option("Python interpreter for the environments (default: this one)", sys.executable)
    front_end: tuple[str, ...] = option(
        "the Python API server of an official release, for the stand-in engine", (), "VERSION"
    )
    rust: tuple[str, ...] = option("the Rust front end of an official release", (), "VERSION")


def _install(options: Install) -> int:
    lab = options.session()
    versions_by_package = {
        lab.package: options.versions,
        FRONT_END: options.front_end,
        RUST: options.rust,
        **servers_in(options),
    }
    if not any(versions_by_package.values()):
        versions_by_package = {lab.package: [NEWEST]}
    for package, versions in versions_by_package.items():
        for version in versions:
            replace(lab, package=package).prepare(version, python=options.python)
        if versions:
            say(f"{package} installed: {', '.join(installed_versions(lab.paths, package))}")
    return 0


class Adopt(Environments):
    """Use an existing environment made from lab/requirements-server.txt."""

    path: Path = required("folder of the environment", "DIR", positional=True)


def _adopt(options: Adopt) -> int:
    environment = adopt(options.paths, options.path, say=tell)
    say(f"adopted: {environment.package} {environment.version}")
    return 0


class Serve(Release, needs=("release",)):
    """Start one release and keep it running."""

    stream_interval: str = option(
        "tokens per step (default: 1); on the stand-in engine also ragged:7, burst:16, 3+stall:500@4, "
        "3+abort@4, +length, +error, +die",
        "1",
        "N",
    )
    load: bool = flag("stand-in engine: send steps at fixed times, so that a busy server merges them")
    step_ms: Milliseconds = step_time()
    port: int = option("0 selects a free port", 8000)
    tools: bool = flag("also start the tool servers (python, browser)")
    flags: tuple[str, ...] = option("after --: more flags for vllm serve", (), "FLAG", positional=True)


def _serve(options: Serve) -> int:
    package, version = release_of(options)
    lab = options.session(package)
    if options.port:
        check_port(options.port)
    steps = options.stream_interval
    schedule_of(steps)
    if package not in STAND_IN_PACKAGES and not steps.isdigit():
        raise LabError(f"{steps} tokens per step need the stand-in engine: --front-end or --rust")
    environment = lab.prepare(version)
    server = ServerOptions(
        stream_interval=int(steps) if steps.isdigit() else 0,
        schedule=steps,
        load=options.load,
        step_ms=options.step_ms,
        port=options.port,
        tools=options.tools,
        flags=options.flags,
    )
    with ExitStack() as stack:
        running = lab.serving(stack, environment, server)
        say(running.base_url)
        sys.stdout.flush()
        name = SERVERS[package].label if package in SERVERS else "vLLM"
        tell(f"{name} {version} is ready; log: {running.log}; press Ctrl-C to stop")
        try:
            running.wait()
        except KeyboardInterrupt:
            tell("stopping")
    return 0


INSTALL: Final = lab_command(Install, _install, "install 0.32.0 0.13.0")
ADOPT: Final = lab_command(Adopt, _adopt, "adopt .venv-lab")
SERVE: Final = lab_command(
    Serve, _serve, "serve --vllm 0.32.0 --stream-interval 3 --port 8000 -- --max-num-seqs 8"
)
