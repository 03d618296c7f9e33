"""The filter `client`: a connection that sees the sessions of one agent only.

Audits, search, exports and lists all ask the same tables. Instead of a condition in each query, temporary views with
the names of the tables leave out the other agents' sessions, so whatever is asked on the connection is filtered.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable
from contextlib import closing

from sessionlog.archive import read
from sessionlog.archive.place import Place

_VIEW = r"(?i)\s*CREATE\s+VIEW\s"


def connect(place: Place, client: str | None) -> sqlite3.Connection:
    """A read-only connection to an archive; with a client, to that agent's sessions only."""
    connection = read.connect(place)
    narrow(connection, client)
    return connection


def by_session(connection: sqlite3.Connection) -> dict[str, str]:
    """The agent of each session."""
    return {row["session_id"]: row["client"] for row in connection.execute("SELECT session_id, client FROM sessions")}


def present(places: Iterable[Place]) -> set[str]:
    """The agents that have sessions in these archives. Lists name the agent where there are several."""
    found: set[str] = set()
    for place in places:
        with closing(read.connect(place)) as connection:
            found.update(row["client"] for row in connection.execute("SELECT DISTINCT client FROM sessions"))
    return found


def narrow(connection: sqlite3.Connection, client: str | None) -> None:
    """From here on, this connection sees the sessions of one agent only; of all, without one."""
    if not client:
        return
    with closing(connection.cursor()) as cursor:
        cursor.row_factory = None
        text = literal(client)
        tables = cursor.execute(
            "SELECT name FROM main.sqlite_master AS entry WHERE type = 'table' AND EXISTS "
            "(SELECT 1 FROM pragma_table_info(entry.name) WHERE pragma_table_info.name = 'session_id')"
        ).fetchall()
        for (name,) in tables:
            # A look at the session of each row, and not a list of sessions: so every query keeps its plan.
            own = (
                "client"
                if name == "sessions"
                else "(SELECT client FROM main.sessions AS own WHERE own.session_id = one.session_id)"
            )
            cursor.execute(f'CREATE TEMP VIEW "{name}" AS SELECT * FROM main."{name}" AS one WHERE {own} = {text}')
        # A view of the archive sees the tables of the archive; its copy sees the views from above.
        views = cursor.execute("SELECT sql FROM main.sqlite_master WHERE type = 'view'").fetchall()
        for (sql,) in views:
            cursor.execute(re.sub(_VIEW, "CREATE TEMP VIEW ", sql, count=1))


def literal(text: str) -> str:
    """As SQL: a view cannot have parameters, and a name may hold anything."""
    return f"CAST(x'{text.encode('utf-8', 'surrogatepass').hex()}' AS TEXT)"
