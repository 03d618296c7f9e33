"""Writing much at once: a connection for imports, and events appended in a transaction that the caller holds.

append.py adds one event while others may write. Here the write lock is held: the next id and the end of each session's
chain are read once, several rows go into one statement, and hashes are computed here.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from sessionlog.archive import append
from sessionlog.archive.event import COLUMNS

if TYPE_CHECKING:
    from sessionlog.archive.event import Record
    from sessionlog.archive.place import Place

# An import can wait for hooks; a hook never waits long for an import, which writes in short transactions.
LOCK_WAIT = 30.0

# More at once gain little: the rest is the rows themselves.
AT_ONCE = 20

_ROW = ("id", *COLUMNS, "salt", "hash")
_VALUES = f"({', '.join('?' * len(_ROW))})"
_INSERT = f"INSERT INTO main.events ({', '.join(_ROW)}) VALUES "
_SEVERAL = _INSERT + ", ".join([_VALUES] * AT_ONCE)
_values_of = itemgetter(*COLUMNS)
_digested = itemgetter(*map(("id", *COLUMNS, "salt").index, append.DIGESTED))
_NEWEST = "SELECT max(ifnull((SELECT last_removed_id FROM archive), 0), ifnull((SELECT max(id) FROM events), 0))"
_HEAD = "SELECT head_hash FROM sessions WHERE session_id = ?"
_DURATION = COLUMNS.index("duration_ms")


def connect(place: Place) -> sqlite3.Connection:
    """A connection for an import: patient, and with a cache for big transactions."""
    connection = append.open_for_writing(place, LOCK_WAIT)
    connection.execute("PRAGMA cache_size = -32000")
    # Pages of indexes change with every transaction: written back once in 32 MB of log instead of once in 4.
    connection.execute("PRAGMA wal_autocheckpoint = 8000")
    if sys.version_info < (3, 12):
        # These ask each None how it is to be adapted, which takes as long as the rest of a row with 20 of them.
        sqlite3.register_adapter(type(None), dict[None, None]().get)
    return connection


class Appender:
    """Adds events to an archive; `write` before the transaction ends."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._newest: int = connection.execute(_NEWEST).fetchone()[0]
        self._heads: dict[str, str | None] = {}
        self._rows: list[tuple[Any, ...]] = []
        self._salts: list[str] = []

    def add(self, record: Record) -> bool:
        """Add an event. False if a column holds something else than text: that is for SQLite to convert or refuse."""
        values = [*_values_of(record)]
        duration = values[_DURATION]
        if duration is not None and (type(duration) is not int or not -(2**63) <= duration < 2**63):
            return False
        values[_DURATION] = None
        try:
            stored = [value if value is None else value.encode() for value in values]
        except (AttributeError, UnicodeEncodeError):
            return False
        values[_DURATION] = stored[_DURATION] = duration
        session_id = record["session_id"]
        if session_id not in self._heads:
            found = self._connection.execute(_HEAD, (session_id,)).fetchone()
            self._heads[session_id] = found and found[0]
        self._newest += 1
        salt = self._new_salt()
        row = (self._newest, *stored, salt.encode())
        hashed = append.link(self._heads[session_id], append.digest(_digested(row)))
        self._heads[session_id] = hashed
        self._rows.append((self._newest, *values, salt, hashed))
        if len(self._rows) == AT_ONCE:
            self._connection.execute(_SEVERAL, [*chain.from_iterable(self._rows)])
            self._rows.clear()
        return True

    def _new_salt(self) -> str:
        if not self._salts:
            random = os.urandom(16 * AT_ONCE).hex()
            self._salts = [random[start : start + 32] for start in range(0, len(random), 32)]
        return self._salts.pop()

    def write(self) -> None:
        """Write what was added and waits for more."""
        self._connection.executemany(_INSERT + _VALUES, self._rows)
        self._rows.clear()
