"""What the lab must know of a server other than vLLM: how it is installed, started, asked and checked."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from inspector.capture.capture import Capture, Endpoint
from inspector.lab.install import Environment, Say
from inspector.lab.paths import LabPaths
from inspector.lab.process import ServerProcess
from inspector.lab.scripts import Script
from inspector.lab.server import ServerOptions


class Install(Protocol):
    """Installs one release, or returns it if it is there; raises LabError with the fix."""

    def __call__(self, paths: LabPaths, version: str, say: Say) -> Environment: ...


class Serving(Protocol):
    """A context manager inside which the server runs; `wait` as for ServerProcess."""

    def __call__(
        self, paths: LabPaths, environment: Environment, options: ServerOptions, *, wait: bool, say: Say
    ) -> AbstractContextManager[ServerProcess]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LabServer:
    """One server with one configuration: a row of the matrix per release and condition."""

    name: str
    """`Environment.package`, and the beginning of the names of its result files."""
    label: str
    """For users, with what is special about its configuration."""
    engine: str
    """Its name in `inspector.protocol.engines`."""
    endpoints: tuple[Endpoint, ...] = (Endpoint.CHAT,)
    conditions: tuple[str, ...]
    """Conditions of the matrix: schedules of steps, and `unstreamed`."""
    excludes: Callable[[Script], bool]
    """Whether a script cannot run on it."""
    evidence: Callable[[Script], Mapping[str, Any]]
    """What a request asks for to get the token IDs; a script knows its tools and whether it streams."""
    install: Install
    serving: Serving
    fault: Callable[[ServerProcess, Capture, str], str | None]
    """Why a recorded stream cannot be scored: it did not follow the schedule of steps; None if it did."""
    jobs: int = 4
    """Requests that it may have in flight."""
    distribution: str = ""
    """Its name on PyPI, whose releases `bisect` and `watch` search; empty if it has none there."""
