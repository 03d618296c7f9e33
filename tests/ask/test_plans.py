"""How much SQLite has to do for a question grows with the archive, and not with its square."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from sessionlog.archive import append, read
from sessionlog.archive import place as projects
from sessionlog.archive.event import normalise
from sessionlog.ask import audit
from sessionlog.fastlib import utc_text
from tests.record.test_hook import prompt, tool

CALLS, SESSIONS = 1500, 15
START_MS = 1_790_000_000_000
# Instructions of SQLite's machine for an event. With a call that is looked for among all of its kind, it is thousands, and
# more with each event.
ENOUGH = 800


@pytest.fixture
def busy(place: projects.Place) -> Iterator[sqlite3.Connection]:
    """An archive in which every call has a beginning, a permission and an end, and a line in a transcript."""
    with closing(append.open_for_writing(place)) as connection:
        connection.execute("BEGIN")
        for number in range(CALLS):
            session_id, at_ms = f"s{number % SESSIONS}", START_MS + number * 1000
            call = tool(number, session_id, tool_input={"file_path": f"/elsewhere/{number}", "command": "curl x"})
            started = {**call, "hook_event_name": "PreToolUse"}
            asked = {**started, "hook_event_name": "PermissionRequest", "tool_use_id": None}
            for payload in (prompt(str(number), session_id), started, asked, call):
                append.append(connection, normalise(payload, at_ms=at_ms, via="x"), at_ms)
            connection.execute(
                "INSERT INTO transcript_parts (transcript_id, line, part, session_id, type, kind, tool_name, tool_use_id, "
                "is_sidechain, text, at) VALUES (1, ?, 0, ?, 'assistant', 'tool_use', 'Read', ?, 0, ?, ?)",
                (number, session_id, f"toolu_{number}", '{"file_path":"/elsewhere/y"}', utc_text(at_ms)),
            )
        connection.execute("COMMIT")
    with closing(read.connect(place)) as connection:
        yield connection


def steps_for_each_event(
    connection: sqlite3.Connection, ask: str | audit.Audit, since: str = "", at_once: int = 1000
) -> float:
    """How many instructions the question takes; it is given up when that is far too much."""
    taken = 0

    def count() -> int:
        nonlocal taken
        taken += at_once
        return taken > 20 * ENOUGH * 4 * CALLS

    connection.set_progress_handler(count, at_once)
    try:
        connection.execute(ask).fetchall() if isinstance(ask, str) else audit.ask(connection, ask, since)
    except sqlite3.OperationalError:
        pass  # given up
    finally:
        connection.set_progress_handler(None, 0)
    return taken / (4 * CALLS)


def test_no_question_goes_through_all_events_for_each_of_them(busy: sqlite3.Connection) -> None:
    views = [row["name"] for row in busy.execute("SELECT name FROM sqlite_master WHERE type = 'view'").fetchall()]
    taken = {view: steps_for_each_event(busy, f"SELECT * FROM {view}") for view in views}
    taken |= {name: steps_for_each_event(busy, query) for name, query in audit.audits().items()}
    assert {name: steps for name, steps in taken.items() if steps > ENOUGH} == {}
    # What happened lately is found without reading what was before.
    since = utc_text(START_MS + (CALLS - 10) * 1000)
    names = (
        "api-errors bypassed edited-files failures gaps mcp-tools outside-project secrets sensitive-files slow-tools"
    )
    both = {
        name: [steps_for_each_event(busy, audit.find(name), moment, 100) for moment in (since, "")]
        for name in names.split()
    }
    assert {name: steps for name, steps in both.items() if 4 * steps[0] > steps[1]} == {}
