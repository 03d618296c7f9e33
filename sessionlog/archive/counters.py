"""Recounts the events of each session and compares with the counters in `sessions`."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

# As the trigger in schema.sql counts, and `prune` takes away.
COUNTERS = {
    "events": "count(*)",
    "prompts": "sum(is_typed)",
    "tool_calls": "sum(event IN ('PostToolUse', 'PostToolUseFailure'))",
    "edits": "sum(ifnull(event = 'PostToolUse' AND action IN ('edit', 'write'), 0))",
    "failures": "sum(outcome IS 'failed')",
}


class Wrong(NamedTuple):
    """A counter that does not match the events."""

    session_id: Any
    counter: str
    stored: int
    counted: int

    def __str__(self) -> str:
        return f"`sessions.{self.counter}` is {self.stored}, the events say {self.counted}"


def wrong(connection: sqlite3.Connection, session_ids: Sequence[str] = ()) -> Iterator[Wrong]:
    """The counters that do not match, of these sessions or all."""
    condition = f"WHERE session_id IN ({', '.join('?' * len(session_ids))})" if session_ids else ""
    # For all sessions, rows in the order of the file: by the index, each page would be read many times.
    table = "events" if session_ids else "events NOT INDEXED"
    cursor = connection.cursor()
    cursor.row_factory = None
    counted = {
        row[0]: row[1:]
        for row in cursor.execute(
            f"SELECT session_id, {', '.join(COUNTERS.values())}, max(id) FROM {table} {condition} GROUP BY session_id",
            session_ids,
        )
    }
    # Before schema 4 sessions had no last_event_id; it stays 0 until their next event.
    (upgraded_until,) = cursor.execute(
        "SELECT max(ifnull(max(format_1_until), 0), ifnull(max(unchained_until), 0)) FROM chain_notes"
    ).fetchone()
    rows = cursor.execute(
        f"SELECT session_id, {', '.join(COUNTERS)}, last_event_id FROM sessions {condition}", session_ids
    )
    for session_id, *stored, last_event_id in rows.fetchall():
        *numbers, last = counted.get(session_id, (*[0] * len(COUNTERS), 0))
        for counter, kept, number in zip(COUNTERS, stored, numbers, strict=True):
            if kept != number:
                yield Wrong(session_id, counter, kept, number)
        # It may be greater: `prune` removes events, and a removed id is not given again.
        if last_event_id < last and not (last_event_id == 0 and last <= upgraded_until):
            yield Wrong(session_id, "last_event_id", last_event_id, last)
