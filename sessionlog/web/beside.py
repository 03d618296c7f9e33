"""The sessions before and after one, and those around it."""

from __future__ import annotations

import sqlite3
from typing import Any

Row = dict[str, Any]

# Sessions before and after the one that is shown.
LISTED = 15

# Those that hooks saw, and those that only transcripts know.
_ALL = """
    SELECT session_id, started_at FROM sessions UNION ALL
    SELECT session_id, first_at FROM session_facts
    WHERE first_at IS NOT NULL AND messages > 0 AND session_id NOT IN (SELECT session_id FROM sessions)
"""
_SIDES = {
    "later": "started_at > :started_at ORDER BY started_at LIMIT :number",
    "earlier": "started_at < :started_at ORDER BY started_at DESC LIMIT :number",
}


def around(connection: sqlite3.Connection, session: Row) -> dict[str, str]:
    """The ids of the sessions that began just before and just after this one."""
    found = {side: _ids(connection, session["started_at"], side, 1) for side in _SIDES}
    return {side: ids[0] for side, ids in found.items() if ids}


def sessions(connection: sqlite3.Connection, session_id: str) -> list[Row]:
    """The session and those around it, newest first."""
    (started_at,) = (
        connection.execute("SELECT max(started_at) AS at FROM session_summary WHERE session_id = ?", (session_id,))
        .fetchone()
        .values()
    )
    later = _ids(connection, started_at, "later", LISTED)
    earlier = _ids(connection, started_at, "earlier", LISTED)
    query = "SELECT session_id, title, first_prompt, started_at, last_at, ended_at, failures FROM session_summary "
    return [
        row
        for one in (*reversed(later), session_id, *earlier)
        for row in connection.execute(f"{query} WHERE session_id = ?", (one,))
    ]


def _ids(connection: sqlite3.Connection, started_at: str, side: str, number: int) -> list[str]:
    query = f"SELECT session_id FROM ({_ALL}) WHERE {_SIDES[side]}"
    return [row["session_id"] for row in connection.execute(query, {"started_at": started_at, "number": number})]
