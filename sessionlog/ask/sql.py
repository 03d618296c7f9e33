"""SQL for anybody who asks: over one archive or all of them, unable to change anything."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any, NamedTuple

from sessionlog.archive import describe, read, readonly
from sessionlog.archive.place import Place
from sessionlog.ask import all_projects
from sessionlog.errors import SessionlogError
from sessionlog.text.plain import did_you_mean


class SqlRows(NamedTuple):
    """The columns of a result, no two by the same name, and its rows as they come."""

    columns: list[str]
    rows: Iterator[tuple[Any, ...]]


@contextmanager
def ask(
    places: list[Place], query: str, parameters: Mapping[str, Any] | None = None, *, all_together: bool = False
) -> Iterator[SqlRows]:
    """The answer to a query over an archive, or over all of these as one database with a column `project`."""
    try:
        connection = all_projects.connect(places, query) if all_together else read.connect(places[0])
        with closing(connection):
            connection.row_factory = None  # two columns may have the same name
            connection.text_factory = lambda data: data.decode("utf-8", "replace")
            readonly.guard(connection)
            rows = connection.execute(query, parameters or {})
            yield SqlRows(_unique([column[0] for column in rows.description or ()]), rows)
    except (sqlite3.Error, sqlite3.Warning) as error:
        if str(error) == "interrupted":  # by Ctrl+C: SQLite stops, but does not pass the exception on
            raise KeyboardInterrupt from None
        known = all_projects.columns() if all_together else _columns()
        # Of the tables that the query names, if it names any: a column of another table is no suggestion.
        known = {name: known[name] for name in known if re.search(rf"\b{name}\b", query)} or known
        raise SessionlogError(explained(str(error), known)) from error


def explained(error: str, known: Mapping[str, list[str]]) -> str:
    """What SQLite says of a query, and what was probably meant."""
    if error in ("not authorized", "authorization denied") or "prohibited" in error or "readonly" in error:
        return "this only reads: SELECT, and nothing that writes, attaches or loads"
    if "one statement" in error:
        return "one statement at a time, please"
    if "binding" in error:
        return f"{error}\nGive each parameter its value with `-p NAME VALUE`."
    missing = re.fullmatch(r"no such (table|column): (.*)", error)
    if not missing:
        return error
    wanted = missing[2].rpartition(".")[2]
    names = list(describe.tables()) if missing[1] == "table" else {name for names in known.values() for name in names}
    return f"{error}{did_you_mean(wanted, names)}\n`sessionlog schema` lists all tables and columns."


def _columns() -> dict[str, list[str]]:
    return {name: [column.name for column in table.columns] for name, table in describe.tables().items()}


def _unique(names: list[str]) -> list[str]:
    """id, id, id becomes id, id_2, id_3: a JSON object holds a name once."""
    found: list[str] = []
    for name in names:
        number, candidate = 1, name
        while candidate in found:
            number += 1
            candidate = f"{name}_{number}"
        found.append(candidate)
    return found
