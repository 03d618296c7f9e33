"""Datasette's own pages: descriptions, cells that are short, and links to our pages."""

from __future__ import annotations

import functools
import re
from typing import Any
from weakref import WeakKeyDictionary

from markupsafe import Markup

from sessionlog.text import plain
from sessionlog.web import archives, filters, limits, metadata
from sessionlog.web import page as pages

# A table or view whose rows take longer to count is shown without their number.
COUNTING_MS = 100
# Longer text is one line that opens; all of it is on the page of its row.
SHORT, OPENED = 80, 2_000

_described: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()
_TIME = re.compile(r"\d{4}-\d\d-\d\dT")
# Tables and views whose `id` is the number of an event.
_OF_EVENTS = {"event", "prompt", "command", "decision", "old_string", "content", "outcome"}


def cell(row: Any, value: Any, column: str, database: str) -> Markup | None:
    """A value as a table shows it; None leaves it to Datasette."""
    if column == "session_id":
        return _session(row, value, database)
    if not isinstance(value, str):
        return None
    if (column == "at" or column.endswith("_at")) and _TIME.match(value):
        return filters.moment(value, "%Y-%m-%d %H:%M:%S")
    if len(value) <= SHORT and "\n" not in value:
        return None
    rest = " …" if len(value) > OPENED else ""
    return Markup('<details class="cell"><summary>{}</summary><pre>{}{}</pre></details>').format(
        plain.one_line(value[: 2 * SHORT], SHORT), plain.safe(value[:OPENED]), rest
    )


def _session(row: Any, value: Any, database: str) -> Markup | None:
    """A link to a session; where the row is an event or a message, to that moment."""
    if isinstance(value, dict):  # Datasette has looked up the session
        value = value["value"]
    if not isinstance(value, str) or not value:
        return None
    moment = _moment(set(row.keys()), row)
    href = pages.address("session", database, value, at=moment) + (f"#{moment}" if moment else "")
    return Markup('<a href="{}">{}</a>').format(href, plain.one_line(value, 40))


def _moment(columns: set[str], row: Any) -> str:
    if "id" not in columns or not isinstance(row["id"], int):
        return ""
    if "transcript_id" in columns and "line" in columns:
        return f"m{row['id']}"
    return f"e{row['id']}" if columns & _OF_EVENTS else ""


def headings(html: str) -> Markup:
    """Datasette's headings without a gap: from the first level it goes to the third."""
    second = str(html).replace("<h3", '<h2 class="third"').replace("</h3>", "</h2>")
    return Markup(second)  # noqa: S704 (rendered by a template, which escaped recorded text)


def described(datasette: Any, key: str | None, database: str | None) -> dict[str, Any]:
    """Titles, descriptions and queries of archives of any name.

    Datasette asks hundreds of times for a page, and copies what it gets: it gets no more than the key that it asks for.
    """
    known = _described.get(datasette)
    names = set(archives.find(datasette))
    if known is None or set(known) != names:
        known = _described[datasette] = metadata.for_databases(names)["databases"]
    if key in (None, "databases"):
        return {"databases": known}
    if database is None or database not in known:
        return {}
    if key == "queries":
        return {"databases": {database: {"queries": known[database]["queries"]}}}
    if key == "tables":
        return {"databases": {database: {"tables": _choices(known[database]["tables"])}}}
    return {}


def _choices(tables: dict[str, Any]) -> dict[str, Any]:
    """The tables without what is only to be read."""
    left_out = ("description", "columns")
    return {name: {key: value for key, value in table.items() if key not in left_out} for name, table in tables.items()}


def limit(database: Any) -> None:
    """Bound what a page of this database takes.

    Datasette counts all rows before it shows the first ones, and for as long as a query may take: not here.
    """
    limits.bound(database)
    database.execute = _with_short_counts(database.execute)


def _with_short_counts(execute: Any) -> Any:
    @functools.wraps(execute)
    async def limited(sql: str, params: Any = None, truncate: bool = False, **more: Any) -> Any:
        if not truncate and sql.startswith("select count(*) from "):  # a query that somebody typed is truncated
            more.setdefault("custom_time_limit", COUNTING_MS)
        return await execute(sql, params, truncate, **more)

    return limited
