"""Two small MCP tool servers, for scripts of several turns: python and browser. Standalone.

Runs inside a vLLM environment, whose `mcp` package it uses, and listens on two ports of the loopback
address; vLLM is started with `--tool-server 127.0.0.1:PORT,127.0.0.1:PORT` and asks each server for
its name and its tools over server-sent events.

    python tool_server.py PYTHON_PORT BROWSER_PORT

Nothing is executed: each tool answers with a fixed sentence that quotes the length of what it got.
"""

import asyncio
import sys
from typing import Any

import uvicorn
from launcher import die_with_parent
from mcp.server.lowlevel import Server
from mcp.server.sse import SseServerTransport
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route

try:
    from mcp import types
except ImportError:
    import mcp_types as types


TOOLS = {
    "python": {"python": {"code": {"type": "string"}}},
    "browser": {
        "search": {"query": {"type": "string"}},
        "open": {"id": {"type": "string"}},
        "find": {"pattern": {"type": "string"}},
    },
}
"""Server name to its tools to their parameters, as gpt-oss was trained with them."""


def answer(tool: str, arguments: dict[str, Any]) -> str:
    """Return the fixed answer of a tool."""
    length = sum(len(str(value)) for value in arguments.values())
    return f"{tool} got {length} characters. The answer is 42."


def tools_of(name: str) -> list[Any]:
    """Describe the tools of one server."""
    return [
        types.Tool(
            name=tool,
            description=f"The lab's {tool}.",
            **{schema_key(): {"type": "object", "properties": properties}},
        )
        for tool, properties in TOOLS[name].items()
    ]


def schema_key() -> str:
    """Name the schema as this version of mcp does."""
    return "input_schema" if "input_schema" in types.Tool.model_fields else "inputSchema"


def server(name: str) -> Any:
    """Make one server, for mcp 1 (decorators) and mcp 2 (arguments)."""
    if hasattr(Server, "list_tools"):
        made = Server(name, instructions=f"The lab's {name}.")

        @made.list_tools()
        async def list_tools() -> list[Any]:
            return tools_of(name)

        @made.call_tool(validate_input=False)
        async def call_tool(tool: str, arguments: dict[str, Any]) -> list[Any]:
            return [types.TextContent(type="text", text=answer(tool, arguments))]

        return made

    async def on_list_tools(_context: Any, _params: Any) -> Any:
        return types.ListToolsResult(tools=tools_of(name))

    async def on_call_tool(_context: Any, params: Any) -> Any:
        text = answer(params.name, params.arguments or {})
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)])

    return Server(
        name,
        instructions=f"The lab's {name}.",
        on_list_tools=on_list_tools,
        on_call_tool=on_call_tool,
    )


def application(name: str) -> Starlette:
    """Serve one server at /sse."""
    transport = SseServerTransport("/messages/")
    made = server(name)

    async def sse(request: Request) -> Response:
        async with transport.connect_sse(request.scope, request.receive, request._send) as streams:
            await made.run(streams[0], streams[1], made.create_initialization_options())
        return Response()

    async def health(_request: Request) -> Response:
        return Response("ok")

    return Starlette(
        routes=[
            Route("/health", health),
            Route("/sse", sse),
            Mount("/messages/", app=transport.handle_post_message),
        ]
    )


async def serve(ports: dict[str, int]) -> None:
    """Serve every server on its port until the process is stopped."""
    servers = [
        uvicorn.Server(uvicorn.Config(application(name), host="127.0.0.1", port=port, log_level="warning"))
        for name, port in ports.items()
    ]
    await asyncio.gather(*(server.serve() for server in servers))


if __name__ == "__main__":
    die_with_parent()
    asyncio.run(serve({"python": int(sys.argv[1]), "browser": int(sys.argv[2])}))
