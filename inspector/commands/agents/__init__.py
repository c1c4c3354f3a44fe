"""What coding agents call: the tools of the MCP server."""
