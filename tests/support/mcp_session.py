"""A session of the official MCP client with `python -m inspector mcp`, over real pipes, without `await`."""

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import CallToolResult, Tool

from tests.support.command import ROOT

__all__ = ["McpSession", "mcp_session"]


class McpSession:
    """What a client sees of the server."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self._portal, self._client = portal, client

    @property
    def instructions(self) -> str:
        """What the server says of itself to a model."""
        return self._client.instructions or ""

    def tools(self) -> dict[str, Tool]:
        """The tools by name."""
        return {tool.name: tool for tool in self._portal.call(self._client.list_tools).tools}

    def call(self, name: str, **arguments: Any) -> CallToolResult:
        """The result of a tool, as it comes."""
        result: CallToolResult = self._portal.call(self._client.call_tool, name, arguments)
        return result

    def answer(self, name: str, **arguments: Any) -> dict[str, Any]:
        """The answer of a tool that succeeds; the text that a model reads is the structured value."""
        result = self.call(name, **arguments)
        (content,) = result.content
        assert not result.is_error, content
        assert content.type == "text"
        answer: dict[str, Any] = json.loads(content.text)
        assert answer == result.structured_content
        return answer

    def sentence(self, name: str, **arguments: Any) -> str:
        """The message of a tool that fails."""
        result = self.call(name, **arguments)
        (content,) = result.content
        assert result.is_error
        assert content.type == "text"
        return content.text


@contextmanager
def mcp_session(
    folder: Path, log: Path, environment: Mapping[str, str] | None = None
) -> Iterator[McpSession]:
    """A server that is started in `folder`, with what it writes on standard error in `log`."""
    started = StdioServerParameters(
        command=sys.executable,
        args=["-m", "inspector", "mcp"],
        env={"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error", **(environment or {})},
        cwd=folder,
    )
    with log.open("w", encoding="utf-8") as errors, start_blocking_portal() as portal:
        client = Client(stdio_client(started, errlog=errors))
        with portal.wrap_async_context_manager(client):
            yield McpSession(portal, client)
