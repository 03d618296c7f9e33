"""A connection that can only read, for queries of any origin."""

from __future__ import annotations

import os
import sqlite3
import sys

# The file is opened read-only, the connection is set to write nothing, and whatever is not reading is refused when the
# query is compiled: no ATTACH, no VACUUM INTO, no temporary table.
READING = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE)
# Pragmas that change nothing; the full-text index uses the first by itself.
PRAGMAS = ("data_version", "table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo")
# After how many instructions of its virtual machine SQLite looks whether the user wants it to stop (Ctrl-C).
STEPS = 100_000
# Functions that reach out of SQL: into files, and into the memory of the process.
REFUSED_FUNCTIONS = ("load_extension", "fts3_tokenizer")
# The longest value that a query may make. An event has up to 30 MB.
LONGEST_VALUE = 64 << 20


def file_uri(path: str, parameters: str) -> str:
    """The address of a file with parameters for SQLite, such as mode=ro. pathlib would take 5 ms to import."""
    path = os.path.abspath(path).replace(os.sep, "/")
    for letter in "%?#":
        path = path.replace(letter, f"%{ord(letter):02x}")
    return f"file://{'' if path.startswith('/') else '/'}{path}?{parameters}"


def uri(db: str) -> str:
    """The address with which SQLite opens a file for reading.

    In a folder that cannot be written it would fail to make the files that belong to a WAL; where there is none, nobody
    is writing, and the database can be read as one that does not change.
    """
    path = os.path.abspath(db)
    at_rest = not os.path.exists(f"{path}-wal") and not os.access(os.path.dirname(path), os.W_OK)
    return file_uri(path, "immutable=1" if at_rest else "mode=ro")


def guard(connection: sqlite3.Connection) -> None:
    """From here on, this connection only reads."""
    connection.execute("PRAGMA query_only = ON")
    connection.set_progress_handler(lambda: 0, STEPS)
    connection.set_authorizer(authorize)
    limit_values(connection)


def limit_values(connection: sqlite3.Connection) -> None:
    """Keep a query such as `SELECT hex(zeroblob(400000000))` from filling the memory."""
    if sys.version_info >= (3, 11):
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
    else:  # of SQLite as a whole, and for good: all that Python 3.10 can set
        connection.execute(f"PRAGMA hard_heap_limit = {8 * LONGEST_VALUE}").fetchall()


def authorize_functions(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    """SQLite's question whether a query may do this, where something else sees to it that it only reads."""
    refused = action == sqlite3.SQLITE_ATTACH or (action == sqlite3.SQLITE_FUNCTION and second in REFUSED_FUNCTIONS)
    return sqlite3.SQLITE_DENY if refused else sqlite3.SQLITE_OK


def authorize(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    """SQLite's question whether a query may do this."""
    allowed = (
        (action in READING and not (action == sqlite3.SQLITE_FUNCTION and second in REFUSED_FUNCTIONS))
        or (action == sqlite3.SQLITE_PRAGMA and first in PRAGMAS)
        # How SQLite sets up json_each and its like, in memory; an UPDATE of this table is refused before it comes here.
        or (action == sqlite3.SQLITE_UPDATE and first == "sqlite_master")
    )
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY
