"""Writing much at once: a connection for imports, and events appended in a transaction that the caller holds.

append.py adds one event while others may write. Here the write lock is held: the next id and the end of each session's
chain are read once, several rows go into one statement, and hashes are computed here.
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Sequence
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any, cast

from sessionlog.archive import append
from sessionlog.archive.event import COLUMNS
from sessionlog.fastlib import blake2b

if TYPE_CHECKING:
    from sessionlog.archive.place import Place

# An import can wait for hooks; a hook never waits long for an import, which writes in short transactions.
LOCK_WAIT = 30.0

# More at once gain little: the rest is the rows themselves.
AT_ONCE = 40

_SEVERAL = append.INSERT + f", ({', '.join('?' * len(append.ROW))})" * (AT_ONCE - 1)
_in_order = itemgetter(*map((*COLUMNS, "salt", "id").index, append.DIGESTED))
_NEWEST = (
    "SELECT max(ifnull((SELECT last_removed_id FROM main.archive), 0), ifnull((SELECT max(id) FROM main.events), 0))"
)
_HEAD = "SELECT head_hash FROM sessions WHERE session_id = ?"
_SESSION_ID, _DURATION = map(COLUMNS.index, ("session_id", "duration_ms"))


def connect(place: Place) -> sqlite3.Connection:
    """A connection for an import: patient, and with a cache for big transactions."""
    connection = append.open_for_writing(place, LOCK_WAIT)
    register_link(connection)
    connection.execute("PRAGMA cache_size = -32000")
    # Pages of indexes change with every transaction: written back once in 32 MB of log instead of once in 4.
    connection.execute("PRAGMA wal_autocheckpoint = 8000")
    # SQLite keeps an undo journal for each statement. In a temporary file, it takes a third of the import.
    connection.execute("PRAGMA temp_store = MEMORY")
    if sys.version_info < (3, 12):
        # These ask each None how it is to be adapted, which takes as long as the rest of a row with 20 of them.
        sqlite3.register_adapter(type(None), dict[None, None]().get)
    return connection


class _Heads(dict[int, bytes]):
    """The line before a value of a column, cached by the length of the value."""

    def __init__(self, column: str) -> None:
        super().__init__()
        self._column = column.encode()

    def __missing__(self, length: int) -> bytes:
        head = b"%s %d\n" % (self._column, length)
        if length < _OFTEN:
            self[length] = head
        return head


_OFTEN = 1024  # longer values rarely have the same length
_HEADS = [_Heads(name) for name in append.DIGESTED]


def newest_id(connection: sqlite3.Connection) -> int:
    """The greatest id that an event has had."""
    newest: int = connection.execute(_NEWEST).fetchone()[0]
    return newest


# --- Events -----------------------------------------------------------------------------------------------------------

# Of an event: the id that it is likely to get, its digest with this id, and its salt.
Prepared = tuple[int, bytes, str]


def prepare(values: Sequence[Any], event_id: int) -> Prepared | None:
    """What an event with these values of `COLUMNS` needs for its hash. It takes long, and other processes can do it.

    None if a column holds something else than text: that is for SQLite to convert or refuse.
    """
    salt = append.new_salt()
    stored = [*values, salt, str(event_id)]
    duration = stored[_DURATION]
    if duration is not None:
        if type(duration) is not int or not -(2**63) <= duration < 2**63:
            return None
        stored[_DURATION] = str(duration)
    pieces: list[bytes] = []
    try:
        for head, value in zip(_HEADS, _in_order(stored)):  # noqa: B905 (strict= costs)
            if value is not None:
                data = value.encode()
                pieces += (head[len(data)], data, b"\n")
    except (AttributeError, UnicodeEncodeError):
        return None
    return event_id, blake2b(b"".join(pieces), digest_size=append.HASH_SIZE).digest(), salt


class Appender:
    """Adds events to an archive; `write` before the transaction ends."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.newest = newest_id(connection)
        self._heads: dict[str, str | None] = {}
        self._rows: list[tuple[Any, ...]] = []

    def add(self, values: Sequence[Any], prepared: Prepared) -> None:
        """Add an event. If it gets another id than the one it was prepared for, that work is done again."""
        session_id = values[_SESSION_ID]
        if session_id not in self._heads:
            found = self._connection.execute(_HEAD, (session_id,)).fetchone()
            self._heads[session_id] = found and found[0]
        self.newest += 1
        if prepared[0] != self.newest:
            prepared = cast("Prepared", prepare(values, self.newest))
        _, digest, salt = prepared
        link = self._heads[session_id] = append.link(self._heads[session_id], digest)
        self._rows.append((self.newest, *values, salt, link))
        if len(self._rows) == AT_ONCE:
            self._connection.execute(_SEVERAL, [*chain.from_iterable(self._rows)])
            self._rows.clear()

    def write(self) -> None:
        """Write what was added and waits for more."""
        self._connection.executemany(append.INSERT, self._rows)
        self._rows.clear()


# --- Events as SQLite has them ----------------------------------------------------------------------------------------


def insertion(condition: str, prefix: str = ":", source: str = "") -> str:
    """A statement that adds an event unless the condition says no, from parameters or another table.

    What is hashed is what SQLite makes of the values.
    """
    values = ", ".join([f"{prefix}{column}" for column in COLUMNS])
    own = {"id": "next.id", "salt": "CAST(:salt AS BLOB)", "duration_ms": f"{prefix}duration_ms"}
    digested = ", ".join([own.get(column) or f"CAST({prefix}{column} AS BLOB)" for column in append.DIGESTED])
    head = f"(SELECT head_hash FROM main.sessions WHERE session_id = {prefix}session_id)"
    return (
        f"INSERT INTO main.events ({', '.join(append.ROW)}) "
        f"SELECT next.id, {values}, :salt, sessionlog_link({head}, {digested}) "
        f"FROM (SELECT ({_NEWEST}) + 1 AS id) AS next{source} WHERE {condition}"
    )


def register_link(connection: sqlite3.Connection) -> None:
    """Let the connection carry out insertions."""
    connection.create_function("sessionlog_link", -1, lambda head, *row: append.link(head, append.digest(row)))


def add(connection: sqlite3.Connection, insertion: str, values: dict[str, Any]) -> bool:
    """Carry out an insertion; whether there was something to add."""
    return connection.execute(insertion, {**values, "salt": append.new_salt()}).rowcount > 0
