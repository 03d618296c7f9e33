"""Register the MCP server in the file where Claude Code looks for such servers, and take it out again, to the byte."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from sessionlog.install import settings_files, settings_json
from sessionlog.install.settings_files import Change

NAME = "sessionlog"
_SERVERS = "mcpServers"


def server_file(scope: str, cwd: Path) -> Path:
    """Where servers of a scope are registered: the user's own, or those that come with the project."""
    if scope == "user":
        folder = os.environ.get("CLAUDE_CONFIG_DIR")
        return Path(folder or Path.home()) / ".claude.json"
    return settings_files.settings_file("project", cwd).parent.parent / ".mcp.json"


def all_server_files(cwd: Path) -> list[Path]:
    """The files that may have our server."""
    return [server_file(scope, cwd) for scope in ("user", "project")]


def server(scope: str) -> dict[str, Any]:
    """How the server is started. A shared file names no folder of this machine."""
    if scope == "user":
        return {"type": "stdio", "command": sys.executable, "args": ["-I", "-m", "sessionlog", "mcp"]}
    return {"type": "stdio", "command": "sessionlog", "args": ["mcp"]}


def plan_install(path: Path, scope: str) -> Change:
    """Add our server, in place of one that another version registered. Another program's of that name stays."""
    with settings_files.open_text(path) as (before, bom, text):
        wanted = server(scope)
        there = settings_json.members(text, _SERVERS).get(NAME)
        if there == wanted or (there is not None and not _is_ours(there)):
            return Change(path, before, before)
        was_empty = settings_files.was_empty(path)
        rest = settings_json.without_member(text, _SERVERS, NAME, was_empty) if there else text
        new, empty = settings_json.with_member(rest, _SERVERS, NAME, wanted)
    return Change(path, before, bom + new.encode(), {**was_empty, **empty} if there else empty)


def plan_uninstall(path: Path) -> Change:
    """Take out our server."""
    with settings_files.open_text(path) as (before, bom, text):
        if not _is_ours(settings_json.members(text, _SERVERS).get(NAME)):
            return Change(path, before, before)
        rest = settings_json.without_member(text, _SERVERS, NAME, settings_files.was_empty(path))
    return Change(path, before, None if rest is None else bom + rest.encode())


def _is_ours(value: Any) -> bool:
    arguments = value.get("args") if isinstance(value, dict) else None
    return arguments in (server("user")["args"], server("project")["args"])
