"""All archives as one database: each table and view of theirs with a column `project`, for SQL across projects."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from sessionlog import read_only, reading, schema
from sessionlog.projects import Place

# SQLite attaches ten databases. The largest are read where they are; of the others, what the query reads is copied, one
# after the other, through the tenth place.
ATTACHED = 9

Columns = dict[str, list[str]]


def connect(places: Iterable[Place], query: str) -> sqlite3.Connection:
    """A private database in which the tables and views that the query reads are those of all archives.

    What SQLite says of a wrong query is raised as it is.
    """
    read = _read_by(query)
    connection = sqlite3.connect("", uri=True, isolation_level=None)  # in memory; if too big, in a file without a name
    try:
        largest_first = sorted(places, key=lambda place: os.stat(place.db).st_size, reverse=True)
        for place in largest_first:
            reading.connect(place).close()  # says what is wrong with an archive, where something is
        parts: dict[str, list[str]] = {name: [] for name in read}
        for number, place in enumerate(largest_first[:ATTACHED]):
            connection.execute(f"ATTACH ? AS archive_{number}", (_read_only(place),))
            for name in read:
                parts[name].append(_select(place, f"archive_{number}.{name}", _all_columns()[name]))
        for number, place in enumerate(largest_first[ATTACHED:]):
            connection.execute("ATTACH ? AS source", (_read_only(place),))
            for name, columns in read.items():
                # Without the others' types a number would no longer compare as one: so CREATE TABLE AS, not columns.
                verb = f"INSERT INTO main.{name}" if number else f"CREATE TABLE main.{name} AS"
                connection.execute(f"{verb} {_select(place, f'source.{name}', columns)}")
            connection.execute("DETACH source")
        for name, columns in read.items():
            if len(largest_first) > ATTACHED:
                values = [column if column in ["project", *columns] else "NULL" for column in _all_columns()[name]]
                parts[name].append(f"SELECT {', '.join(_with_project(values, name))} FROM main.{name}")
            if parts[name]:
                connection.execute(f"CREATE TEMP VIEW {name} AS {' UNION ALL '.join(parts[name])}")
    except BaseException:
        connection.close()
        raise
    return connection


def columns() -> Columns:
    """The columns of every table and view, `project` among them."""
    return {name: _with_project(own, name) for name, own in _all_columns().items()}


def _read_by(query: str) -> Columns:
    """Which tables and views the query reads, and which columns of them: SQLite tells when it compiles the query."""
    read: dict[str, set[str]] = {}

    def note(action: int, table: str | None, column: str | None, *_: str | None) -> int:
        if action == sqlite3.SQLITE_READ and table in known:
            read.setdefault(table, set()).add(column or "")
        return read_only.authorize(action, table, column)

    known = columns()
    with closing(sqlite3.connect(":memory:")) as connection:
        for name, names in known.items():
            connection.execute(f"CREATE TABLE {name} ({', '.join(names)})")
        connection.set_authorizer(note)
        parameters = dict.fromkeys(re.findall(r"[:@$](\w+)", query))
        explain = "" if re.match(r"\s*explain\b", query, re.IGNORECASE) else "EXPLAIN "
        connection.execute(explain + query, parameters)
    # It does not tell of the columns that USING and NATURAL join by.
    everything = re.search(r"\b(using|natural)\b", query, re.IGNORECASE) is not None
    return {
        name: [column for column in _all_columns()[name] if everything or column in names]
        for name, names in read.items()
    }


def _all_columns() -> Columns:
    return {name: [column.name for column in table.columns] for name, table in schema.tables().items()}


def _with_project(values: list[str], name: str) -> list[str]:
    """`archive` has its project already."""
    return values if name == "archive" else ["project", *values]


def _select(place: Place, source: str, names: list[str]) -> str:
    project = "'" + place.project.replace("'", "''") + "' AS project"
    values = [project, *(column for column in names if column != "project")]
    return f"SELECT {', '.join(values)} FROM {source}"


def _read_only(place: Place) -> str:
    return f"{Path(os.path.abspath(place.db)).as_uri()}?mode=ro"
