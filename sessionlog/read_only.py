"""A connection that reads and does nothing else, whatever query it is given."""

from __future__ import annotations

import sqlite3

# The file is opened read-only, the connection is told to write nothing, and whatever is not reading is refused when the
# query is compiled: no ATTACH, no VACUUM INTO, no temporary table.
READING = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE)
# Those that only tell, whatever they are given; the full-text index asks for the first by itself.
PRAGMAS = ("data_version", "table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo")
# After how many instructions of its virtual machine SQLite looks whether the user wants it to stop (Ctrl-C).
STEPS = 100_000


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
