"""The questions of datasette-metadata.yml, asked from the command line: one source for both."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any, NamedTuple

from sessionlog.errors import SessionlogError

PACKAGE = Path(__file__).parent
# Inside the package when installed, beside it in a checkout.
METADATA = [PACKAGE / "datasette-metadata.yml", PACKAGE.parent / "datasette-metadata.yml"]


class Query(NamedTuple):
    """A question with its SQL."""

    name: str
    title: str
    description: str
    sql: str


def queries() -> dict[str, Query]:
    """All questions, by name."""
    import yaml  # comes with Datasette

    path = next((path for path in METADATA if path.exists()), None)
    if path is None:
        raise SessionlogError("datasette-metadata.yml is missing; install sessionlog again")
    found: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8")).get("queries", {})
    return {
        name: Query(name, query["title"], " ".join(query["description"].split()), query["sql"])
        for name, query in found.items()
    }


def ask(connection: sqlite3.Connection, name: str) -> list[dict[str, Any]]:
    """The rows that answer a question."""
    known = queries()
    if name not in known:
        raise SessionlogError(f"there is no question {name!r}; there are: {', '.join(sorted(known))}")
    cursor = connection.cursor()
    cursor.row_factory = None
    rows = cursor.execute(known[name].sql)
    columns = [column[0] for column in rows.description]
    return [dict(zip(columns, row, strict=True)) for row in rows]
