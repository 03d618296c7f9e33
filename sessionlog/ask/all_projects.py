"""All archives as one database: each table and view of theirs with a column `project`, for SQL across projects."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterable
from contextlib import closing

from sessionlog.archive import describe, readonly
from sessionlog.archive import read as reading
from sessionlog.archive.place import Place

# SQLite attaches ten databases. The largest are read where they are; of the others, what the query reads is copied, one
# after the other, through the tenth place.
ATTACHED = 9

Columns = dict[str, list[str]]


def connect(places: Iterable[Place], query: str) -> sqlite3.Connection:
    """A private database in which the tables and views that the query reads are those of all archives.

    What SQLite says of a wrong query is raised as it is.
    """
    read = _read_by(query)
    for place in (found := list(places)):
        reading.connect(place).close()  # says what is wrong with an archive, where something is
    found.sort(key=lambda place: os.stat(place.db).st_size, reverse=True)
    connection = sqlite3.connect("", uri=True, isolation_level=None)  # in memory; if too big, in a file without a name
    try:
        _copy(connection, found[ATTACHED:], read)
        for number, place in enumerate(found[:ATTACHED]):
            connection.execute(f"ATTACH ? AS archive_{number}", (readonly.uri(place.db),))
        for name, needed in read.items():
            # What the query does not read is left out: an index may then answer instead of the table.
            values = [column if column in needed else f"NULL AS {column}" for column in columns()[name][1:]]
            parts = [f"SELECT {', '.join(['project', *values])} FROM main.{name}"]
            parts += [
                _select(place, values, f"archive_{number}.{name}") for number, place in enumerate(found[:ATTACHED])
            ]
            connection.execute(f"CREATE TEMP VIEW {name} AS {' UNION ALL '.join(parts)}")
    except BaseException:
        connection.close()
        raise
    return connection


def columns() -> Columns:
    """The columns of every table and view, `project` first."""
    return {
        name: ["project", *(column.name for column in table.columns if column.name != "project")]
        for name, table in describe.tables().items()
    }


def _read_by(query: str) -> Columns:
    """Which tables and views the query reads, and which columns of them: SQLite tells when it compiles the query."""
    read: dict[str, set[str]] = {}

    def note(action: int, table: str | None, column: str | None, *_: str | None) -> int:
        if action == sqlite3.SQLITE_READ and table in known:
            read.setdefault(table, set()).add(column or "")
        return readonly.authorize(action, table, column)

    known = columns()
    with closing(sqlite3.connect(":memory:")) as connection:
        for name, names in known.items():
            connection.execute(f"CREATE TABLE {name} ({', '.join(names)})")
        connection.set_authorizer(note)
        parameters = dict.fromkeys(re.findall(r"[:@$](\w+)", query))
        explain = "" if re.match(r"\s*explain\b", query, re.IGNORECASE) else "EXPLAIN "
        connection.execute(explain + query, parameters)
    # It does not tell of the columns that USING and NATURAL join by, nor of a table of which these are all.
    words = set(re.findall(r"\w+", query.lower()))
    everything = words & {"using", "natural"}
    return {
        name: [column for column in names[1:] if everything or column in read.get(name, ())]
        for name, names in known.items()
        if name in words or name in read
    }


def _copy(connection: sqlite3.Connection, places: list[Place], read: Columns) -> None:
    """Tables of what is needed from these archives; empty ones, if there are none."""
    types = {name: {column.name: column.type for column in table.columns} for name, table in describe.tables().items()}
    for name, needed in read.items():
        declared = [f"{column} {types[name][column]}" for column in needed]
        connection.execute(f"CREATE TABLE main.{name} ({', '.join(['project TEXT', *declared])})")
    for place in places:
        connection.execute("ATTACH ? AS source", (readonly.uri(place.db),))
        for name, needed in read.items():
            connection.execute(f"INSERT INTO main.{name} {_select(place, needed, f'source.{name}')}")
        connection.execute("DETACH source")


def _select(place: Place, names: list[str], source: str) -> str:
    """The columns of one archive, with its project first. Values are quoted because a view takes no parameters."""
    project = "'" + place.project.replace("'", "''") + "' AS project"
    return f"SELECT {', '.join([project, *names])} FROM {source}"
