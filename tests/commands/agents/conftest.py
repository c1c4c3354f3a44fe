"""One server for all tests of this folder: it keeps nothing from call to call."""

from collections.abc import Iterator

import pytest

from tests.support.mcp_session import McpSession, mcp_session


@pytest.fixture(scope="package")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[McpSession]:
    """A client with a server that runs in an empty folder; nothing is written there, or on standard error."""
    folder = tmp_path_factory.mktemp("agent")
    log = tmp_path_factory.mktemp("log") / "errors.txt"
    with mcp_session(folder, log) as connected:
        yield connected
    assert list(folder.iterdir()) == []
    assert log.read_text("utf-8") == ""
