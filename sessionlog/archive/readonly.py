"""A connection that reads and does nothing else, whatever query it is given."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

# The file is opened read-only, the connection is told to write nothing, and whatever is not reading is refused when the
# query is compiled: no ATTACH, no VACUUM INTO, no temporary table.
READING = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE)
# Those that only tell, whatever they are given; the full-text index asks for the first by itself.
PRAGMAS = ("data_version", "table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo")
# After how many instructions of its virtual machine SQLite looks whether the user wants it to stop (Ctrl-C).
STEPS = 100_000


def uri(db: str) -> str:
    """How SQLite is told to open a file for reading.

    In a folder that cannot be written it would fail to make the files that belong to a WAL; where there is none, nobody
    is writing, and the database can be read as one that does not change.
    """
    path = os.path.abspath(db)
    at_rest = not os.path.exists(f"{path}-wal") and not os.access(os.path.dirname(path), os.W_OK)
    return f"{Path(path).as_uri()}?{'immutable=1' if at_rest else 'mode=ro'}"


def guard(connection: sqlite3.Connection) -> None:
    """From here on, this connection only reads."""
    connection.execute("PRAGMA query_only = ON")
    connection.set_progress_handler(lambda: 0, STEPS)
    connection.set_authorizer(authorize)


def authorize(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    """SQLite's question whether a query may do this."""
    allowed = (
        (action in READING and second != "load_extension")
        or (action == sqlite3.SQLITE_PRAGMA and first in PRAGMAS)
        # How SQLite sets up json_each and its like, in memory; an UPDATE of this table is refused before it comes here.
        or (action == sqlite3.SQLITE_UPDATE and first == "sqlite_master")
    )
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY
