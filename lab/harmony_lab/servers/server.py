"""What the lab must know of a server other than vLLM: how it is installed, started, asked and checked."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from harmony_lab.install import Environment, Say
from harmony_lab.paths import LabPaths
from harmony_lab.process import ServerProcess
from harmony_lab.server import ServerOptions
from inspector.capture.capture import Capture, Endpoint
from inspector.matrix.requests import request_body
from inspector.matrix.results import UNSTREAMED
from inspector.matrix.scripts import Script
from inspector.matrix.servers import SERVERS
from inspector.protocol.wire.endpoints import spec_of


class Install(Protocol):
    """Installs releases."""

    def __call__(self, paths: LabPaths, version: str, say: Say) -> Environment:
        """Install one release, or return it if it is there; raises LabError with the fix."""


class Serving(Protocol):
    """Starts a release."""

    def __call__(
        self, paths: LabPaths, environment: Environment, options: ServerOptions, *, wait: bool, say: Say
    ) -> AbstractContextManager[ServerProcess]:
        """A context manager inside which the server runs; `wait` as for ServerProcess."""


class ServerFault(Protocol):
    """Compares recorded streams with the engine's log."""

    def __call__(self, server: ServerProcess, capture: Capture, schedule: str) -> str | None:
        """Why a stream cannot be scored; None if it can."""


def _unchanged(_server: ServerProcess, capture: Capture) -> Capture:
    return capture


@dataclass(frozen=True, slots=True, kw_only=True)
class LabServer:
    """One server with one configuration: a row of the matrix per release and condition."""

    name: str
    """`Environment.package`, and the beginning of the names of its result files."""
    endpoints: tuple[Endpoint, ...] = (Endpoint.CHAT,)
    conditions: tuple[str, ...]
    """Conditions of the matrix: schedules of steps, and `unstreamed`."""
    excludes: Callable[[Script], bool]
    """Whether a script cannot run on it."""
    evidence: Callable[[Script], Mapping[str, Any]]
    """What a request asks for to get the token IDs; a script knows its tools and whether it streams."""
    install: Install
    serving: Serving
    fault: ServerFault
    """Why a recorded stream cannot be scored: it did not follow the schedule of steps; None if it did."""
    amend: Callable[[ServerProcess, Capture], Capture] = _unchanged
    """Adds to a recorded response what the engine's log says of it."""
    jobs: int = 4
    """Requests that it may have in flight."""
    newest: str = ""
    """The release that is used if none is named; empty if one must be."""
    distribution: str = ""
    """Its name on PyPI, whose releases `bisect` and `watch` search; empty if it has none there."""

    @property
    def label(self) -> str:
        """Its name for users, which those who read results know too."""
        return SERVERS[self.name].label

    def runs(self, endpoint: Endpoint, script: Script) -> bool:
        """Whether a script can be asked there: it needs one turn, and no tools that the server runs."""
        suits = len(script.turns) == 1 and not script.built_in and not self.excludes(script)
        return endpoint in self.endpoints and suits

    def body(
        self, endpoint: Endpoint, script: Script, *, marker: str | None = None, steps: str = "1"
    ) -> dict[str, Any]:
        """The request that makes its engine sample a script in these steps."""
        marker = f"{marker or f'[[script {script.name}]]'} [[steps {'1' if steps == UNSTREAMED else steps}]]"
        request = request_body(endpoint, script, marker=marker)
        request.pop(spec_of(endpoint).evidence_key, None)  # a field of vLLM
        return {**request, **self.evidence(script)}
