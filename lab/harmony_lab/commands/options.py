"""What the commands of `lab` share: their options, and what the options stand for."""

import sys
from argparse import SUPPRESS
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final

from harmony_lab.install import CPU_PACKAGE, GPU_PACKAGE
from harmony_lab.matrix import targets_of
from harmony_lab.paths import LabPaths
from harmony_lab.process import kill_is_interrupt
from harmony_lab.recording import Target
from harmony_lab.server import STEP_MS
from harmony_lab.servers.table import SERVERS
from harmony_lab.session import LabSession
from harmony_lab.standin.install import FRONT_END, RUST
from harmony_lab.standin.steps import CONDITIONS, check_condition
from inspector.capture.capture import Endpoint
from inspector.capture.errors import LabError
from inspector.commands.options import Command, O, Options, option, whole
from inspector.commands.terminal import tell
from inspector.matrix import scripts
from inspector.matrix.results import ENVIRONMENT_VARIABLE, default_root

ENDPOINTS: Final = [endpoint.value for endpoint in scripts.ENDPOINTS]
STAND_IN_PACKAGES: Final = frozenset({FRONT_END, RUST, *SERVERS})
"""What runs on an engine of the lab, which makes steps of any size."""

_NAMES: Final = ", ".join(SERVERS)


class InLab(Options):
    """What every command of the lab accepts, also where it has no use for it: scripts may still pass it."""

    package: str = option(SUPPRESS, CPU_PACKAGE)
    lab: Path | None = option(SUPPRESS, None)

    @property
    def paths(self) -> LabPaths:
        """The folders of the lab."""
        return LabPaths(self.lab or default_root())

    def session(self, package: str | None = None) -> LabSession:
        """The lab's session; `package` replaces that of `--package`."""
        return LabSession(paths=self.paths, package=package or self.package, say=tell)


class Environments(InLab):
    """For commands that use environments."""

    lab: Path | None = option(
        f"folder of environments and logs (default: {ENVIRONMENT_VARIABLE}, or the user's cache folder)",
        None,
        "DIR",
    )


class Packaged(Environments):
    """For commands that have no options `--vllm`, `--front-end` and `--rust` for the package."""

    package: str = option(
        f"what runs a release (default: {CPU_PACKAGE}; {GPU_PACKAGE} needs a GPU; {FRONT_END} and {RUST} are "
        "the front ends of official releases on the stand-in engine; the rest are other servers)",
        CPU_PACKAGE,
        choices=(CPU_PACKAGE, GPU_PACKAGE, FRONT_END, RUST, *SERVERS),
    )


class Release(Packaged):
    """One release; `release_of` reads it."""

    vllm: str = option("a release with its own engine, on the CPU", "", "VERSION", one_of="release")
    front_end: str = option(
        "an official release's Python front end, on the stand-in engine", "", "VERSION", one_of="release"
    )
    rust: str = option("its Rust front end, on the stand-in engine", "", "VERSION", one_of="release")
    server: tuple[str, ...] = option(
        f"another server and its version: {_NAMES}", (), "NAME", one_of="release"
    )


class Servers(Options):
    """Several other servers; `servers_in` reads them."""

    server: tuple[tuple[str, ...], ...] = option(
        f"another server and its versions (default: the tested one); may be repeated: {_NAMES}",
        (),
        "NAME",
        repeatable=True,
    )


class Results(Environments):
    """The folder of the matrix's results."""

    out: Path | None = option("folder of the results (default: in the lab's folder)", None, "DIR")

    @property
    def folder(self) -> Path:
        """Where the results are."""
        return self.out or self.paths.root / "matrix"


class Selection(Environments, title="what is recorded"):
    """Steps, endpoints and scripts."""

    stream_interval: tuple[str, ...] = option(
        "tokens per step, or unstreamed (default: 1 3; on the stand-in engine 1 3 ragged unstreamed)", (), "N"
    )
    endpoint: tuple[Endpoint, ...] = option(
        f"{', '.join(ENDPOINTS)} (default: all)", tuple(scripts.ENDPOINTS), "NAME", choices=ENDPOINTS
    )
    script: tuple[str, ...] = option("record only these scripts", (), "NAME")
    jobs: int = option("concurrent requests", 4, "N")
    python: str = option(SUPPRESS, sys.executable)

    def session(self, package: str | None = None) -> LabSession:
        """The lab's session, with its number of concurrent requests."""
        return replace(super().session(package), jobs=self.jobs)

    @property
    def targets(self) -> list[Target]:
        """The selected scripts on the selected endpoints; raises LabError for an unknown script."""
        return targets_of(list(self.endpoint), scripts.named(list(self.script)))

    def conditions(self, package: str) -> list[str]:
        """The selected steps, or the defaults of a package; raises LabError for an invalid schedule."""
        default = list(CONDITIONS) if package in STAND_IN_PACKAGES else ["1", "3"]
        if (other_server := SERVERS.get(package)) is not None:
            default = list(other_server.conditions)
        conditions = list(self.stream_interval) or default
        for condition in conditions:
            check_condition(condition)
        return conditions


def one_server_option() -> str:
    """The field of `--server`, for one whose releases are compared."""
    return option(f"another server: {_NAMES}", "", "NAME", choices=list(SERVERS))


Milliseconds = Annotated[int, whole("number of milliseconds", 1, 10_000, "MS")]


def step_time() -> int:
    """The field of `--step-ms`: how long an engine step takes under load."""
    return option("milliseconds between two steps under load", STEP_MS)


def lab_command(options: type[O], run: Callable[[O], int], example: str) -> Command[O]:
    """A command of `lab`."""

    def guarded(given: O) -> int:
        with kill_is_interrupt():
            return run(given)

    return Command(options, guarded, f"example:\n  python -m inspector lab {example}")


def servers_in(options: Servers) -> dict[str, list[str]]:
    """Versions by server of `--server`; raises LabError for an unknown one."""
    versions: dict[str, list[str]] = {}
    for words in options.server:
        name, chosen = _server(words)
        versions.setdefault(name, []).extend(chosen)
    return versions


def _server(words: Sequence[str]) -> tuple[str, list[str]]:
    name, *versions = words
    server = SERVERS.get(name)
    if server is None:
        raise LabError(f"no server named {name}; --server takes {_NAMES}")
    if not versions and not server.newest:
        raise LabError(f"--server {name} needs a version")
    return name, versions or [server.newest]


def release_of(options: Release) -> tuple[str, str]:
    """Package and version of `--vllm`, `--front-end`, `--rust` or `--server`."""
    if options.server:
        name, versions = _server(options.server)
        if len(versions) > 1:
            raise LabError(f"--server {name}: name one version")
        return name, versions[0]
    if options.front_end:
        return FRONT_END, options.front_end
    return (RUST, options.rust) if options.rust else (options.package, options.vllm)
