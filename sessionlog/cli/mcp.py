"""sessionlog mcp."""

from __future__ import annotations

import click

from sessionlog.cli.common import places, project_options
from sessionlog.cli.main import example
from sessionlog.errors import SessionlogError


@example("sessionlog mcp", "sessionlog mcp --all", "sessionlog install --mcp")
@click.command()
@project_options
def command(project: str | None, everywhere: bool) -> None:
    """Serve the archive to agents over MCP, on stdin and stdout.

    Tools: search, sessions, session, around, why, failures, audits, sql. They can only read. Without --all they
    see this project and no other. Agents start this command themselves: `sessionlog install --mcp` registers it.
    """
    try:
        from sessionlog.mcp import server
    except ImportError as error:
        raise SessionlogError("The MCP server needs the package `mcp`: install `claude-sessionlog[mcp]`.") from error
    server.run(places(project, everywhere))
