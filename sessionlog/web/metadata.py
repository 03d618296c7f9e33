"""Titles, descriptions and canned queries for Datasette; also written to datasette-metadata.yml."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sessionlog.archive import describe
from sessionlog.ask import audit

# How Datasette shows some of the tables.
_OPTIONS: dict[str, dict[str, Any]] = {
    "sessions": {"sort_desc": "started_at"},
    "events": {"sort_desc": "id", "size": 50},
    "transcript_parts": {"sort_desc": "id", "size": 50},
    "chain_notes": {"sort_desc": "id"},
    "chain_changes": {"hidden": True},
    "spool_progress": {"hidden": True},
    "transcript_chunks": {"hidden": True},
}


def for_databases(names: Iterable[str]) -> dict[str, Any]:
    """Metadata as Datasette takes it, with a block for each of these databases.

    Each gets its own block, because Datasette writes into what it is given.
    """
    return {
        "title": "sessionlog",
        "description": "Every event of every session, recorded on this machine.",
        "databases": {name: _block() for name in names},
    }


def _block() -> dict[str, Any]:
    return {
        "tables": {
            table.name: {
                "description": table.description,
                **_OPTIONS.get(table.name, {}),
                "columns": {column.name: column.description for column in table.columns},
            }
            for table in describe.tables().values()
        },
        "queries": {
            query.name: {
                "title": query.title,
                "description": query.description,
                "params": list(query.parameters),
                "sql": query.sql,
            }
            for query in audit.audits().values()
        },
    }
