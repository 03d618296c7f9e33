"""The tables, views and columns of an archive, and what each is for."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import cache
from typing import NamedTuple

from sessionlog import metadata, migrate


class Column(NamedTuple):
    """A column; a view's computed one has no type."""

    name: str
    type: str
    description: str


class Table(NamedTuple):
    """A table or view (kind) with its columns."""

    name: str
    kind: str
    description: str
    columns: list[Column]


@cache
def tables() -> dict[str, Table]:
    """All of them by name, as this version makes them: no archive is opened."""
    described = metadata.tables()
    found = {}
    with closing(sqlite3.connect(":memory:")) as connection:
        for _, script in migrate.migrations():
            for statement in migrate.statements(script):
                connection.execute(statement)
        for _, name, kind, *_ in connection.execute("PRAGMA main.table_list").fetchall():
            # A shadow table is a virtual one's private matter.
            if kind == "shadow" or name.startswith("sqlite_"):
                continue
            about = described.get(name, metadata.Table("", {}))
            rows = connection.execute(f"PRAGMA main.table_info({name})").fetchall()
            columns = [Column(column, type_, about.columns.get(column, "")) for _, column, type_, *_ in rows]
            found[name] = Table(name, kind, about.description, columns)
    return found
