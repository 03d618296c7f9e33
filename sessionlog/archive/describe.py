"""The tables, views and columns of an archive, and what each is for: the comments of schema.sql."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from functools import cache
from typing import NamedTuple

from sessionlog.archive import migrate

_HEADING = re.compile(r"CREATE (?:TABLE|VIEW) (\w+)")
_COLUMN = re.compile(r" +(\w+) (?:TEXT|INTEGER|REAL|BLOB)\b")
_VIEW_COLUMN = re.compile(r"(\w+): (.+)")


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
    """All of them by name, in the order of schema.sql. No archive is opened."""
    described, columns_described, default = _comments(migrate.read_script("schema.sql"))
    found = {}
    with closing(sqlite3.connect(":memory:")) as connection:
        migrate.create_missing(connection)
        for _, name, kind, *_ in connection.execute("PRAGMA main.table_list").fetchall():
            # A shadow table is a virtual one's private matter.
            if kind == "shadow" or name.startswith("sqlite_"):
                continue
            # Not table_info (as sqlite_utils does): that leaves out generated columns.
            rows = connection.execute(f"PRAGMA main.table_xinfo({name})").fetchall()
            columns = [
                Column(column, type_, columns_described.get((name, column)) or default.get(column, ""))
                for _, column, type_, *_, hidden in rows
                if hidden != 1  # a virtual table's own
            ]
            found[name] = Table(name, kind, described[name], columns)
    return {name: found[name] for name in described}


def _comments(script: str) -> tuple[dict[str, str], dict[tuple[str, str], str], dict[str, str]]:
    """The descriptions of tables, of (table, column)s, and of columns by the first that has the name."""
    tables: dict[str, str] = {}
    columns: dict[tuple[str, str], str] = {}
    default: dict[str, str] = {}
    table = ""
    above: list[str] = []
    for line in script.splitlines():
        code, dashes, comment = line.partition("--")
        if not code.strip():
            # A blank line separates a comment from what follows.
            above = [*above, comment.strip()] if dashes else []
            continue
        if heading := _HEADING.match(code):
            table = heading[1]
            about = [_VIEW_COLUMN.fullmatch(text) for text in above]
            columns |= {(table, match[1]): match[2] for match in about if match}
            default |= {match[1]: match[2] for match in about if match and match[1] not in default}
            tables[table] = _first_paragraph([text for text, match in zip(above, about, strict=True) if not match])
        elif table and (column := _COLUMN.match(code)):
            columns[table, column[1]] = text = comment.strip() or _first_paragraph(above)
            if text:
                default.setdefault(column[1], text)
        elif code.startswith("CREATE "):  # an index or a trigger
            table = ""
        above = []
    return tables, columns, default


def _first_paragraph(lines: list[str]) -> str:
    end = lines.index("") if "" in lines else len(lines)
    return " ".join(lines[:end])
