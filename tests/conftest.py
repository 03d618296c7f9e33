"""A home of its own for every test, and the real hook as a process."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sessionlog import projects
from tests.faults.book import Line, table

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = Path(__file__).parent / "fixtures"
PYTHON = [sys.executable, "-I", "-S"]
HANDLERS = ROOT / "hooks"

PAYLOAD_FILES = sorted((FIXTURES / "payloads").rglob("*.json"))


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("sessionlog")
    group.addoption("--faults-times", type=int, default=1, help="try random faults so many times as often")
    group.addoption("--fuzz-cases", type=int, default=1000, help="so many mutated payloads for the hook")


def pytest_report_header() -> str:
    return f"SQLite {sqlite3.sqlite_version}"


# Here and not in tests/faults: where tests run in several processes, the one that writes the table reads no other conftest.
FAULTS: dict[str, Line] = {}


def pytest_runtest_logreport(report: Any) -> None:
    for name, line in getattr(report, "fault", {}).items():
        FAULTS.setdefault(name, Line()).add(Line(**line))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if FAULTS:
        terminalreporter.section("faults")
        for line in table(dict(sorted(FAULTS.items()))):
            terminalreporter.write_line(line)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home directory; nothing of the real one, or of a session around us, is seen."""
    folder = tmp_path / "home"
    folder.mkdir()
    for name in list(os.environ):
        if name.startswith(("SESSIONLOG_", "CLAUDE", "XDG_", "CCC_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("SESSIONLOG_NO_FOLLOW", "1")  # importers that outlive a test; tests/test_follow.py asks for them
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return folder


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing leaves this machine."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in ("127.0.0.1", "::1", "localhost"):
            raise AssertionError(f"a connection to {address}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that Claude Code would be working in."""
    folder = tmp_path / "shop"
    folder.mkdir()
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(folder))
    return folder


@pytest.fixture
def place(project: Path) -> projects.Place:
    return projects.place(os.path.realpath(project))


Hook = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture
def hook(project: Path) -> Hook:
    """Runs a handler as Claude Code does: a process of its own, the payload on stdin."""

    def run(
        payload: Any, *arguments: str, handler: str = "any_event.py", **env: str
    ) -> subprocess.CompletedProcess[bytes]:
        data = payload if isinstance(payload, bytes) else json.dumps(payload, ensure_ascii=False).encode() + b"\n"
        done = subprocess.run(
            [*PYTHON, str(HANDLERS / handler), *arguments],
            input=data,
            capture_output=True,
            env={**os.environ, **env},
            timeout=60,
            check=False,
        )
        assert done.stdout == b"", "a recording hook prints nothing"
        assert done.returncode in (0, 1), done.stderr
        assert done.stderr.count(b"\n") == (1 if done.stderr else 0), done.stderr
        if done.returncode == 1:
            assert done.stderr.startswith(b"sessionlog: "), done.stderr
        return done

    return run


def rows(
    place: projects.Place, query: str = "SELECT * FROM events ORDER BY id", *parameters: Any
) -> list[dict[str, Any]]:
    """What the archive holds, read by SQLite itself."""
    connection = sqlite3.connect(place.db)
    connection.row_factory = sqlite3.Row
    try:
        return [dict(row) for row in connection.execute(query, parameters)]
    finally:
        connection.close()


def rejected(home: Path) -> list[Path]:
    """What was kept although it was no event."""
    return sorted((home / ".local/share/sessionlog/rejected").glob("*"))
