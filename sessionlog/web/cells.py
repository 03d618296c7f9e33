"""Datasette's own pages: descriptions, and links from their cells to our pages."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from markupsafe import Markup

from sessionlog import metadata, terminal
from sessionlog.web import archives, pages

_described: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()
# Tables and views whose `id` is the number of an event.
_OF_EVENTS = {"event", "prompt", "command", "decision", "old_string", "content", "outcome"}


def session(row: Any, value: Any, database: str) -> Markup | None:
    """A link to a session; where the row is an event or a message, to that moment."""
    if isinstance(value, dict):  # Datasette has looked up the session
        value = value["value"]
    if not isinstance(value, str) or not value:
        return None
    moment = _moment(set(row.keys()), row)
    href = pages.address("session", database, value, at=moment) + (f"#{moment}" if moment else "")
    return Markup('<a href="{}">{}</a>').format(href, terminal.one_line(value, 40))


def _moment(columns: set[str], row: Any) -> str:
    if "id" not in columns or not isinstance(row["id"], int):
        return ""
    if "transcript_id" in columns and "line" in columns:
        return f"m{row['id']}"
    return f"e{row['id']}" if columns & _OF_EVENTS else ""


def described(datasette: Any) -> dict[str, Any]:
    """The block of datasette-metadata.yml for each archive."""
    known = _described.get(datasette)
    names = set(archives.of(datasette))
    if known is None or set(known["databases"]) != names:
        known = _described[datasette] = {"databases": metadata.for_datasette(names)["databases"]}
    return known
