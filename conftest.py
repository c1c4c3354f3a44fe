"""Tiers of both suites, `tests` and `lab/lab_tests`, and what a test run says first."""

import os
import re
import signal
from pathlib import Path

import pytest

from tests.support import tiers

# A shell starts what it runs in the background (`pytest &`) with Ctrl-C ignored, and programs inherit that.
# The tests interrupt some.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# What the commands print is compared as a pipe gets it.
os.environ.pop("FORCE_COLOR", None)


BROWSER_TESTS = Path(__file__).parent / "tests" / "browser"


def pytest_configure(config: pytest.Config) -> None:
    tiers.load(thorough=not re.search(r"^not .*\bslow\b", config.getoption("markexpr")))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs a browser, before `-m` selects."""
    for item in items:
        if item.path.is_relative_to(BROWSER_TESTS):
            item.add_marker("browser")


def pytest_report_header(config: pytest.Config) -> str:
    if not config.getoption("markexpr").startswith("not ("):
        return ""
    tiers = config.getoption("markexpr").removeprefix("not ")
    return f"not selected: {tiers}; see the markers in pyproject.toml"
