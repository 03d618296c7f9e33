"""Statements that ships and pulls share: rows of SQLite to and from the tables of the team archive."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from sessionlog.archive import describe
from sessionlog.team.tables import BITS, TABLES

if TYPE_CHECKING:
    from typing import TypeAlias

    import psycopg

    Connection: TypeAlias = psycopg.Connection[Any]

Row = dict[str, Any]

_TYPES = {"TEXT": "text", "INTEGER": "int8", "REAL": "float8", "BLOB": "bytea"}
# SQLite and PostgreSQL compute them.
COMPUTED = ("action", "outcome", "is_typed")


@cache
def columns(table: str) -> dict[str, str]:
    """The columns of a table that are sent, with their types in PostgreSQL."""
    return {
        column.name: "bool" if column.name.startswith("is_") else _TYPES[column.type]
        for column in describe.tables()[table].columns
        if column.name not in COMPUTED
    }


def base(archive: int) -> int:
    """What is added to the ids of an archive."""
    return archive << BITS


def arrays(table: str, rows: Sequence[Row], archive: int) -> list[list[Any]]:
    """The rows as one list for each column, as PostgreSQL takes them."""
    found = []
    for name, type_ in columns(table).items():
        values = [row[name] for row in rows]
        if type_ == "text":
            values = [without_nul(value) for value in values]
        elif type_ == "bool":
            values = [None if value is None else bool(value) for value in values]
        elif name in TABLES[table].ids:
            values = [value + base(archive) for value in values]
        found.append(values)
    return found


def placeholders(table: str) -> str:
    """Parameters for `arrays`."""
    return ", ".join(f"%b::{type_}[]" for type_ in columns(table).values())


def upsert(connection: Connection, table: str, key: Sequence[str], rows: Sequence[Row], archive: int) -> None:
    """Add own rows, or replace those with the same key."""
    if not rows:
        return
    names = ", ".join(f'"{name}"' for name in columns(table))
    changes = ", ".join(f'"{name}" = excluded."{name}"' for name in columns(table) if name not in key)
    connection.execute(
        f"INSERT INTO {table} (archive, {names}) SELECT %s, * FROM unnest({placeholders(table)}) "
        f"ON CONFLICT ({', '.join(key)}) DO UPDATE SET {changes}",
        [archive, *arrays(table, rows, archive)],
    )


def insert(connection: Connection, table: str, rows: Sequence[Row], archive: int) -> None:
    """Add own rows that are not there yet."""
    if not rows:
        return
    names = ", ".join(f'"{name}"' for name in columns(table))
    connection.execute(
        f"INSERT INTO {table} (archive, {names}) SELECT %s, * FROM unnest({placeholders(table)}) "
        "ON CONFLICT DO NOTHING",
        [archive, *arrays(table, rows, archive)],
    )


def one(connection: Connection, query: str, parameters: Iterable[Any] = ()) -> Any:
    """The first value of the first row."""
    row = connection.execute(query, list(parameters)).fetchone()
    return row[0] if row else None


def without_nul(value: Any) -> Any:
    """PostgreSQL's text holds no NUL."""
    return value.replace("\0", "\u2400") if isinstance(value, str) and "\0" in value else value
