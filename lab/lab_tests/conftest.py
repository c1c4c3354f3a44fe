"""The real vLLM that several tests ask."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from harmony_lab.install import CPU_PACKAGE, NEWEST, installed
from harmony_lab.paths import LabPaths
from harmony_lab.process import ServerProcess
from harmony_lab.server import ServerOptions
from harmony_lab.session import LabSession
from inspector.matrix.results import default_root


@pytest.fixture(scope="session")
def vllm_server() -> Iterator[ServerProcess]:
    """The newest release with three tokens per step and no server-side tools; it takes a minute to start."""
    paths = LabPaths(default_root())
    environment = installed(paths, CPU_PACKAGE, NEWEST)
    assert environment is not None, f"vLLM {NEWEST} is not installed: run python -m inspector lab install"
    with ExitStack() as stack:
        yield LabSession(paths=paths).serving(stack, environment, ServerOptions(stream_interval=3))
