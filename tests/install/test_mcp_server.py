"""`install --mcp` adds one entry, and `uninstall` gives the file back as it was, to the byte."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sessionlog.install import mcp_server, settings_files


@pytest.mark.parametrize(
    "before",
    [
        None,
        b"",
        b"{}",
        b"{}\n",
        b'{"numStartups": 3}',
        b'{\n  "mcpServers": {}\n}\n',
        b'{\n\t"a": 1,\n\t"mcpServers": {\n\t\t"other": {"command": "x"}\n\t},\n\t"z": [1]\n}\n',
        b'\xef\xbb\xbf{\r\n  "projects": {"/w": {}}\r\n}\r\n',
    ],
)
@pytest.mark.parametrize("scope", ["user", "project"])
def test_to_the_byte(home: Path, tmp_path: Path, before: bytes | None, scope: str) -> None:
    path = mcp_server.server_file(scope, tmp_path)
    if before is not None:
        path.write_bytes(before)
    settings_files.apply(mcp_server.plan_install(path, scope))
    found = json.loads(path.read_bytes().decode("utf-8-sig"))
    assert found["mcpServers"]["sessionlog"] == mcp_server.server(scope)
    assert not mcp_server.plan_install(path, scope).needed, "twice adds nothing"
    settings_files.apply(mcp_server.plan_uninstall(path))
    assert (path.read_bytes() if path.exists() else None) == before


def test_another_server_of_that_name_stays(home: Path, tmp_path: Path) -> None:
    path = mcp_server.server_file("project", tmp_path)
    path.write_text('{"mcpServers": {"sessionlog": {"command": "another"}}}')
    assert not mcp_server.plan_install(path, "project").needed
    assert not mcp_server.plan_uninstall(path).needed
