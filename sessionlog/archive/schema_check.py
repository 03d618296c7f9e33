"""Compares the tables, views, indexes and triggers of an archive with schema.sql.

The hash chain covers rows only. A trigger that drops events as they arrive, or a view that hides some of them, breaks
no hash. This module finds them.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import cache, lru_cache
from typing import NamedTuple

from sessionlog.archive import migrate
from sessionlog.archive.transaction import writing


class Thing(NamedTuple):
    """A table, view, index or trigger."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class Difference(NamedTuple):
    """How an archive differs from schema.sql."""

    how: str  # changed, removed or inserted
    thing: Thing
    text: str
    is_ours: bool  # schema.sql has it
    is_harmless: bool  # a foreign object that cannot change, hide or refuse events


class _Definition(NamedTuple):
    table: str  # the one that an index or trigger belongs to
    text: str
    columns: tuple[str, ...]


def differences(connection: sqlite3.Connection) -> Iterator[Difference]:
    """What of schema.sql the archive lacks or has differently, then what only the archive has."""
    expected, present = _expected(), _read(connection)
    for thing, ours in expected.items():
        if thing not in present:
            yield Difference("removed", thing, "is missing", True, False)
        elif present[thing] != ours:
            yield Difference("changed", thing, _what_changed(present[thing], ours), True, False)
    for thing in sorted(present.keys() - expected.keys()):
        danger = _danger(thing, present[thing])
        yield Difference("inserted", thing, f"is not part of sessionlog{danger}", False, not danger)


def is_restorable(found: Difference) -> bool:
    """Whether `restore` can undo this without touching data."""
    return found.is_ours and found.thing.kind != "table"


def restore(connection: sqlite3.Connection) -> list[Thing]:
    """Create our views, indexes and triggers again where they are missing or were replaced. No row is touched."""
    with writing(connection):
        wrong = list(filter(is_restorable, differences(connection)))
        for found in wrong:
            if found.how == "changed":
                connection.execute(f"DROP {found.thing.kind} {found.thing.name}")
        migrate.create_objects(connection, ("view", "index", "trigger"))
    return [found.thing for found in wrong]


_PLAIN_INDEX = re.compile(r"CREATE INDEX \w+ ON \w+ \( \w+( (ASC|DESC))?( , \w+( (ASC|DESC))?)* \)", re.IGNORECASE)


def _danger(thing: Thing, found: _Definition) -> str:
    """What a foreign object may do to events."""
    if thing.kind == "trigger":
        return ": a trigger can change or drop events as they are stored"
    # An index that is unique, or computes something, fails for some rows.
    if thing.kind == "index" and found.table in _tables() and not _PLAIN_INDEX.fullmatch(found.text):
        return ": an index like this can keep events from being stored"
    return ""


def _what_changed(present: _Definition, ours: _Definition) -> str:
    added = [f"column {name} was added" for name in present.columns if name not in ours.columns]
    missing = [f"column {name} is missing" for name in ours.columns if name not in present.columns]
    return ", ".join(added + missing) or "is not defined as in sessionlog"


@cache
def _expected() -> dict[Thing, _Definition]:
    with closing(sqlite3.connect(":memory:")) as connection:
        migrate.create_objects(connection)
        return _read(connection)


def _read(connection: sqlite3.Connection) -> dict[Thing, _Definition]:
    """What an archive consists of; SQLite's own tables and indexes are left out."""
    cursor = connection.cursor()
    cursor.row_factory = None
    rows = cursor.execute(
        # As bytes: in a damaged file they may be no text.
        "SELECT CAST(type AS BLOB), CAST(name AS BLOB), CAST(tbl_name AS BLOB), CAST(ifnull(sql, '') AS BLOB) "
        "FROM sqlite_master WHERE type = 'trigger' OR substr(name, 1, 7) <> 'sqlite_'"
    ).fetchall()
    found = {}
    for row in rows:
        kind, name, table, sql = (value.decode("utf-8", "replace") for value in row)
        columns: tuple[str, ...] = ()
        if kind == "table" and name in _tables():
            listed = cursor.execute("SELECT CAST(name AS BLOB) FROM pragma_table_xinfo(?)", (name,)).fetchall()
            columns = tuple(column.decode("utf-8", "replace") for (column,) in listed)
        found[Thing(kind, name)] = _Definition(table, normal(sql), columns)
    return found


_WORD = re.compile(r"""--[^\n]*|/\*.*?(?:\*/|\Z)|\s+|('(?:[^']|'')*'|"(?:[^"]|"")*"|\w+|.)""", re.DOTALL)


@lru_cache(maxsize=128)  # those of our own schema, again and again
def normal(sql: str) -> str:
    """A definition without what carries no meaning: comments, white space, and quotes around the names of tables.

    ALTER TABLE puts those quotes in. Others stay, because "NULL" is not NULL.
    """
    words = [match[1] for match in _WORD.finditer(sql) if match[1]]
    return " ".join(word[1:-1] if word[0] == '"' and word[1:-1] in _tables() else word for word in words)


@cache
def _tables() -> frozenset[str]:
    script = migrate.read_script("schema.sql")
    return frozenset(re.findall(r"^CREATE TABLE (\w+)", script, re.MULTILINE))
