"""The questions of datasette-metadata.yml, asked from the command line: one source for both."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from typing import Any

from sessionlog.archive import describe, read
from sessionlog.archive.describe import Query
from sessionlog.archive.place import Place
from sessionlog.archive.time_limit import TookTooLong, limited
from sessionlog.errors import SessionlogError

Row = dict[str, Any]

# A count that takes longer (s) is not worth waiting for in a list.
PATIENCE = 0.15


def find(name: str) -> Query:
    """The question of that name."""
    known = describe.queries()
    if name not in known:
        raise SessionlogError(f"there is no question {name!r}; there are: {', '.join(sorted(known))}")
    return known[name]


def ask(connection: sqlite3.Connection, query: Query, since: str = "") -> list[Row]:
    """The rows that answer a question."""
    cursor = connection.cursor()
    cursor.row_factory = None
    rows = cursor.execute(query.sql, {"since": since})
    columns = [column[0] for column in rows.description]
    return [dict(zip(columns, row, strict=True)) for row in rows]


def ask_all(places: Iterable[Place], query: Query, since: str = "", seconds: float | None = None) -> list[Row]:
    """The rows of all these archives, each with its project; TookTooLong after so many seconds for one of them."""
    rows: list[Row] = []
    for place in places:
        with closing(read.connect(place)) as connection, limited(connection, seconds):
            rows += [{"project": place.project, **row} for row in ask(connection, query, since)]
    return rows


def counts(places: Iterable[Place], since: str = "", patience: float = PATIENCE) -> dict[str, int | None]:
    """How many rows each question finds in all these archives; None if that takes too long to find out."""
    found: dict[str, int | None] = dict.fromkeys(describe.queries(), 0)
    for place in places:
        with closing(read.connect(place)) as connection:
            for name, query in describe.queries().items():
                before = found[name]
                number = None if before is None else _count(connection, query, since, patience)
                found[name] = None if before is None or number is None else before + number
    return found


def _count(connection: sqlite3.Connection, query: Query, since: str, seconds: float) -> int | None:
    cursor = connection.cursor()
    cursor.row_factory = None
    try:
        with limited(connection, seconds):
            number: int = cursor.execute(f"SELECT count(*) FROM ({query.sql})", {"since": since}).fetchone()[0]
    except TookTooLong:
        return None
    return number
