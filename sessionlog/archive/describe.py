"""What datasette-metadata.yml says of an archive: descriptions of tables and columns, and the questions one may ask."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from sessionlog.errors import SessionlogError

PACKAGE = Path(__file__).parent
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


class Table(NamedTuple):
    """What a table or view is, and what its columns mean."""

    description: str
    columns: dict[str, str]


def queries() -> dict[str, Query]:
    """All questions, by name."""
    return {
        name: Query(name, query["title"], query["description"], query["sql"], query["finding"], query["group"])
        for name, query in _block()["queries"].items()
    }


def tables() -> dict[str, Table]:
    """All tables and views, by name."""
    return {name: Table(table["description"], table["columns"]) for name, table in _block()["tables"].items()}


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
    import yaml  # comes with Datasette

    path = next((path for path in FILES if path.exists()), None)
    if path is None:
        raise SessionlogError("datasette-metadata.yml is missing; install sessionlog again")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times faster, where it was built
    loaded: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), loader)  # noqa: S506 (a safe loader)
    return loaded
