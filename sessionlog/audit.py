"""The questions of datasette-metadata.yml, asked from the command line: one source for both."""

from __future__ import annotations

import sqlite3
import time
from typing import Any

from sessionlog import metadata
from sessionlog.errors import SessionlogError
from sessionlog.metadata import Query

# A count that takes longer (s) is not worth waiting for in a list.
PATIENCE = 0.15
# How often a running query is asked whether it takes too long, in instructions of SQLite's virtual machine.
STEPS = 20_000


def find(name: str) -> Query:
    """The question of that name."""
    known = metadata.queries()
    if name not in known:
        raise SessionlogError(f"there is no question {name!r}; there are: {', '.join(sorted(known))}")
    return known[name]


def ask(connection: sqlite3.Connection, query: Query, since: str = "") -> list[dict[str, Any]]:
    """The rows that answer a question."""
    cursor = connection.cursor()
    cursor.row_factory = None
    rows = cursor.execute(query.sql, {"since": since})
    columns = [column[0] for column in rows.description]
    return [dict(zip(columns, row, strict=True)) for row in rows]


def count(connection: sqlite3.Connection, query: Query, since: str = "", patience: float = PATIENCE) -> int | None:
    """How many rows answer a question; None if that takes too long to find out."""
    deadline = time.monotonic() + patience
    cursor = connection.cursor()
    cursor.row_factory = None
    connection.set_progress_handler(lambda: time.monotonic() > deadline, STEPS)
    try:
        number: int = cursor.execute(f"SELECT count(*) FROM ({query.sql})", {"since": since}).fetchone()[0]
    except sqlite3.OperationalError as error:
        if str(error) != "interrupted":
            raise
        return None
    finally:
        connection.set_progress_handler(None, 0)
    return number
