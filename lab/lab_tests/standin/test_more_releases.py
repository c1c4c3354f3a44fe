"""Releases around a change, with all scripts on the stand-in engine: the outcomes of the built-in matrix.

The long run; deselected unless asked for with `-m vllm_releases`. 0.13.0 and
0.14.1 lose tokens, 0.31.0 is the last that reports errors, 0.24.0 is an early Rust front end.
"""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from harmony_lab.install import installed
from harmony_lab.paths import LabPaths
from harmony_lab.recording import Target, record
from harmony_lab.score import score
from harmony_lab.server import ServerOptions
from harmony_lab.session import LabSession
from harmony_lab.standin.checking import chunking_fault
from harmony_lab.standin.install import FRONT_END, RUST
from harmony_lab.standin.serving import StandinServer
from harmony_lab.standin.steps import RAGGED
from inspector.capture.capture import Capture
from inspector.files.store import FIXTURES
from inspector.matrix.results import default_root, load_runs
from inspector.matrix.scripts import ENDPOINTS, load
from inspector.protocol.engines.vllm_rust import VLLM_RUST

pytestmark = pytest.mark.vllm_releases

_TRIES = 3
"""Retries of a stream that does not follow its schedule, on a busy machine."""


@pytest.fixture(
    scope="module",
    params=[(FRONT_END, version) for version in ("0.13.0", "0.14.1", "0.23.0", "0.31.0")]
    + [(RUST, "0.24.0")],
    ids="-".join,
)
def release(request: pytest.FixtureRequest) -> Iterator[tuple[str, str, StandinServer]]:
    package, version = request.param
    paths = LabPaths(default_root())
    environment = installed(paths, package, version)
    flag = "--rust" if package == RUST else "--front-end"
    assert environment is not None, f"run python -m inspector lab install {flag} {version}"
    with ExitStack() as stack:
        server = LabSession(paths=paths, package=package).serving(
            stack, environment, ServerOptions(schedule="1")
        )
        assert isinstance(server, StandinServer)
        yield package, version, server


@pytest.mark.parametrize("step", ["1", "3", RAGGED])
def test_outcomes_are_those_of_the_built_in_matrix(
    release: tuple[str, str, StandinServer], step: str
) -> None:
    package, version, server = release
    server.engine.set_steps(step)
    shipped = next(
        run
        for run in load_runs(FIXTURES / "matrix" / "stand-in")
        if (run.package, run.version, run.step) == (package, version, step)
    )
    lacks = VLLM_RUST.lacks if package == RUST else {}
    targets = [
        Target(endpoint, script)
        for script in load()
        for endpoint in ENDPOINTS
        if endpoint in script.endpoints and endpoint not in lacks and not script.built_in and script.stream
    ]
    captures: dict[Target, Capture] = {}

    def keep(target: Target, capture: Capture) -> None:
        if chunking_fault(server.engine, capture, step) is None:
            captures[target] = capture

    for _ in range(_TRIES):
        missing = [target for target in targets if target not in captures]
        record(server.base_url, missing, stream_interval=0, keep=keep)
    assert len(captures) == len(targets)
    outcomes = {target: score(target.script, capture).outcome for target, capture in captures.items()}
    expected = {target: shipped.scores[target.endpoint, target.script.name].outcome for target in targets}
    assert {target: outcome for target, outcome in outcomes.items() if outcome is not expected[target]} == {}
