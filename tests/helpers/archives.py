"""Archives for tests, filled through the library: a process for each event would take long."""

from __future__ import annotations

import itertools
import sqlite3
from contextlib import closing
from typing import Any

from sessionlog.archive import append
from sessionlog.archive.event import normalise
from sessionlog.archive.place import Place

# 2026-11-16T00:00:00Z; each event comes a second after the one before.
START_MS = 1_794_787_200_000

_numbers = itertools.count()


def store(place: Place, *payloads: dict[str, Any], start_ms: int = START_MS) -> None:
    """Append these payloads, a second apart."""
    with closing(append.open_for_writing(place)) as connection:
        for number, payload in enumerate(payloads):
            at_ms = start_ms + 1000 * number
            append.append(connection, normalise(payload, at_ms=at_ms, via="test"), at_ms)
        connection.commit()


def event(name: str, session_id: str = "s1", **more: Any) -> dict[str, Any]:
    """An event of a session."""
    return {"session_id": session_id, "hook_event_name": name, **more}


def call(tool: str, session_id: str = "s1", name: str = "PostToolUse", **inputs: Any) -> dict[str, Any]:
    """A tool call that came to its end, with these inputs."""
    more = {"tool_name": tool, "tool_input": inputs, "tool_use_id": f"toolu_{next(_numbers)}"}
    return event(name, session_id, **more, duration_ms=5)


def bash(command: str, session_id: str = "s1", name: str = "PostToolUse") -> dict[str, Any]:
    """A shell command."""
    return call("Bash", session_id, name, command=command)


def two_agents(place: Place) -> None:
    """A session of Claude Code, and an hour later one of Codex that called less."""
    for number, (session_id, calls) in enumerate((("claude1", 3), ("codex1", 1))):
        store(
            place,
            event("UserPromptSubmit", session_id, prompt=f"Tidy up, {session_id}"),
            *(bash("rm -rf build", session_id) for _ in range(calls)),
            call("Edit", session_id, file_path=f"/p/{session_id}.py", old_string="a", new_string="b"),
            start_ms=START_MS + number * 3_600_000,
        )
    with closing(sqlite3.connect(place.db)) as connection:
        connection.execute("UPDATE sessions SET client = 'codex' WHERE session_id = 'codex1'")
        connection.commit()
