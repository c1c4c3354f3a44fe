"""What every test run says first."""

import pytest

from inspector.lab.install import CPU_PACKAGE, NEWEST, installed
from inspector.lab.paths import LabPaths, default_root


def pytest_report_header(config: pytest.Config) -> str:
    if config.getoption("markexpr") != "not vllm":
        return ""
    known = installed(LabPaths(default_root()), CPU_PACKAGE, NEWEST)
    how = "run them with -m vllm" if known else "python -m inspector lab install, then -m vllm (docs/lab.md)"
    return f"real vLLM {NEWEST}: its tests are deselected; {how}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # Playwright's loop runs in this thread from the first browser on, and asyncio.run refuses a second.
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)
