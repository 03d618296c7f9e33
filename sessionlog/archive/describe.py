"""The tables, views and columns of an archive, what each is for, and the questions one may ask.

The words are those of datasette-metadata.yml.
"""

from __future__ import annotations

import copy
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from sessionlog.archive import migrate
from sessionlog.errors import SessionlogError

PACKAGE = Path(__file__).parent.parent
# Inside the package when installed, beside it in a checkout.
FILES = [PACKAGE / "datasette-metadata.yml", PACKAGE.parent / "datasette-metadata.yml"]
# The database that the file describes; every archive is like it.
DATABASE = "sessionlog"


class Query(NamedTuple):
    """A question with its SQL, and whether a row of the answer is something to look at."""

    name: str
    title: str
    description: str
    sql: str
    finding: bool
    group: str


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


def queries() -> dict[str, Query]:
    """All questions, by name."""
    return {
        name: Query(name, query["title"], query["description"], query["sql"], query["finding"], query["group"])
        for name, query in _block()["queries"].items()
    }


@cache
def tables() -> dict[str, Table]:
    """All of them by name, as this version makes them: no archive is opened."""
    described = _block()["tables"]
    found = {}
    with closing(sqlite3.connect(":memory:")) as connection:
        migrate.create_missing(connection)
        for _, name, kind, *_ in connection.execute("PRAGMA main.table_list").fetchall():
            # A shadow table is a virtual one's private matter.
            if kind == "shadow" or name.startswith("sqlite_"):
                continue
            about = described.get(name, {"description": "", "columns": {}})
            # Not table_info (as sqlite_utils does): that leaves out generated columns.
            rows = connection.execute(f"PRAGMA main.table_xinfo({name})").fetchall()
            columns = [
                Column(column, type_, about["columns"].get(column, ""))
                for _, column, type_, *_, hidden in rows
                if hidden != 1  # a virtual table's own
            ]
            found[name] = Table(name, kind, about["description"], columns)
    return found


def for_datasette(databases: Iterable[str]) -> dict[str, Any]:
    """Metadata as Datasette takes it, with the same block for each of these databases.

    Each gets a copy of its own, because Datasette writes into what it is given.
    """
    return {**_load(), "databases": {name: copy.deepcopy(_block()) for name in databases}}


def _block() -> dict[str, Any]:
    block: dict[str, Any] = _load()["databases"][DATABASE]
    return block


@cache
def _load() -> dict[str, Any]:
    import yaml

    path = next((path for path in FILES if path.exists()), None)
    if path is None:
        raise SessionlogError("datasette-metadata.yml is missing; install sessionlog again")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times faster, where it was built
    loaded: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), loader)  # noqa: S506 (a safe loader)
    return loaded
