"""How much the SQL of a request may take: of memory, of functions, and of the threads that all requests share."""

from __future__ import annotations

import asyncio
import functools
from typing import Any
from urllib.parse import parse_qsl

from datasette.utils import sqlite3

from sessionlog.archive import readonly
from sessionlog.text import plain

# All values of an answer together. A page of a table has up to a thousand rows, and is made of several copies of them.
MOST_BYTES = 48 << 20
# Datasette's threads for SQL, and how many of them typed queries may take at once: tables are shown meanwhile.
THREADS = 5
TYPED = 2
# How long (s) a typed query waits for its turn.
PATIENCE = 4.0


def prepare(connection: Any) -> None:
    """A new connection of Datasette, which opens archives for reading only."""
    connection.set_authorizer(readonly.authorize_functions)
    readonly.limit_values(connection)


def bound(database: Any) -> None:
    """Let no query of a database of Datasette return more than fits into memory."""
    execute_fn = database.execute_fn

    @functools.wraps(execute_fn)
    async def bounded(function: Any) -> Any:
        return await execute_fn(lambda connection: function(_Connection(connection)))

    database.execute_fn = bounded


class _Connection:
    """A connection whose cursors are bounded, and that is otherwise as it was."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def cursor(self) -> Any:
        return self._connection.cursor(_Cursor)


class _Cursor(sqlite3.Cursor):  # type: ignore[misc]
    """Raises an error of SQLite when the rows become too many bytes."""

    def fetchmany(self, size: int | None = None) -> list[Any]:
        return self._rows(self.arraysize if size is None else size)

    def fetchall(self) -> list[Any]:
        return self._rows(None)

    def _rows(self, most: int | None) -> list[Any]:
        rows: list[Any] = []
        length = 0
        while most is None or len(rows) < most:
            row = self.fetchone()
            if row is None:
                break
            rows.append(row)
            length += sum(len(value) for value in row if isinstance(value, (str, bytes)))
            if length > MOST_BYTES:
                raise sqlite3.OperationalError(
                    f"the answer is larger than {plain.size(MOST_BYTES)}; ask for less of it"
                )
        return rows


class Turns:
    """Typed queries take turns."""

    def __init__(self) -> None:
        self._free = asyncio.Semaphore(TYPED)

    async def take(self) -> bool:
        """Wait for a turn; False if none comes."""
        try:
            await asyncio.wait_for(self._free.acquire(), PATIENCE)
        except asyncio.TimeoutError:
            return False
        return True

    def give_back(self) -> None:
        """Let the next one have a turn."""
        self._free.release()


def is_typed(query_string: bytes) -> bool:
    """Whether a request brings SQL of its own."""
    if b"sql" not in query_string and b"_where" not in query_string and b"%" not in query_string:
        return False
    return any(name in ("sql", "_where") for name, _ in parse_qsl(query_string.decode("latin-1")))
