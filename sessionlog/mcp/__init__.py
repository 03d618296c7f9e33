"""The MCP server: agents ask the archive, and change nothing."""
