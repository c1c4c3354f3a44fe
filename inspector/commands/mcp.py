"""`mcp`: an MCP server over standard input and output, with read-only tools for coding agents."""

from typing import Final

from inspector.capture.errors import InspectorError
from inspector.commands.options import Command
from inspector.commands.shared import WithIssues

_EXAMPLE: Final = """example:
  claude mcp add harmony -- python -m inspector mcp

A client starts it; in a terminal it waits for messages until the end of its input. It reads captures and logs
by their path, with the rights of whoever starts it, and writes nothing (docs/agents.md).
"""


class Mcp(WithIssues):
    """Serve audit, tokens, diagnose, compare, doctor and matrix as tools of the Model Context Protocol.

    doctor sends the key in OPENAI_API_KEY to the server in OPENAI_BASE_URL only.
    """


def run(options: Mcp) -> int:
    """Serve until the client closes the connection."""
    options.use_issues()
    try:
        import mcp  # noqa: F401, PLC0415 -- an extra
    except ImportError as error:
        raise InspectorError(
            'the MCP SDK is not installed; pip install "harmony-inspector[mcp]"'
            ", in a checkout pip install -r requirements-mcp.txt"
        ) from error
    from inspector.commands.agents.server import server  # noqa: PLC0415 -- it needs the SDK

    server().run("stdio")
    return 0


COMMAND: Final = Command(Mcp, run, _EXAMPLE)
