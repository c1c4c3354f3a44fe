"""What every test run says first, and the real vLLM that several tests ask."""

import re
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from inspector.lab.install import CPU_PACKAGE, NEWEST, installed
from inspector.lab.paths import LabPaths, default_root
from inspector.lab.process import ServerProcess
from inspector.lab.server import ServerOptions
from inspector.lab.session import LabSession
from tests.support import tiers

# A shell starts what it runs in the background (`pytest &`) with Ctrl-C ignored, and programs inherit that.
# The tests interrupt some.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


TIERS = {"browser": "browser", "lab": "lab"}
"""Marks of folders."""


def pytest_configure(config: pytest.Config) -> None:
    tiers.load(thorough=not re.search(r"^not .*\bslow\b", config.getoption("markexpr")))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of a folder with its tier, before `-m` selects."""
    for item in items:
        folder = item.path.relative_to(Path(__file__).parent).parts[0]
        if folder in TIERS:
            item.add_marker(TIERS[folder])


def pytest_report_header(config: pytest.Config) -> str:
    if not config.getoption("markexpr").startswith("not ("):
        return ""
    tiers = config.getoption("markexpr").removeprefix("not ")
    return f"not selected: {tiers}; see the markers in pyproject.toml"


@pytest.fixture(scope="session")
def vllm_server() -> Iterator[ServerProcess]:
    """The newest release, three tokens a step, without tools of its own. It takes a minute to start."""
    paths = LabPaths(default_root())
    environment = installed(paths, CPU_PACKAGE, NEWEST)
    assert environment is not None, f"vLLM {NEWEST} is not installed: run python -m inspector lab install"
    with ExitStack() as stack:
        yield LabSession(paths=paths).serving(stack, environment, ServerOptions(stream_interval=3))
