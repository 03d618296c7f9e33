"""Audits: the queries in audits/, one file each. The file's first comment says what it is.

    -- title: Slowest tools
    -- group: Trouble
    -- finding: no
    -- parameter since: only what happened at this time or later; empty means everything
    --
    -- The description, in one paragraph.

`finding: yes` says that each row is something to look at: `sessionlog audit --fail-if-any` then fails. The queries run
in any SQLite, also in a Datasette without sessionlog, so they use GLOB and no regular expressions. There is no index on
time, because each index slows down every hook: where it matters, a query starts at the first event of the sessions that
were still alive at :since.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from sessionlog.archive import one_client
from sessionlog.archive.place import Place
from sessionlog.archive.time_limit import TookTooLong, limited
from sessionlog.errors import SessionlogError
from sessionlog.text.plain import did_you_mean

Row = dict[str, Any]

FOLDER = Path(__file__).parent / "audits"
# In this order they are listed.
GROUPS = ("Risks", "Permissions", "Trouble", "Work")

# A count that takes longer (s) is not worth waiting for in a list.
PATIENCE = 0.3
FEW = 100


class Audit(NamedTuple):
    """A query over an archive, and whether a row of its answer is something to look at."""

    name: str
    title: str
    description: str
    sql: str
    finding: bool
    group: str
    parameters: dict[str, str]


class Count(NamedTuple):
    """How many rows an audit finds; at least so many, if not all were counted."""

    rows: int
    is_all: bool

    def __str__(self) -> str:
        return f"{self.rows:,}{'' if self.is_all else '+'}" if self.rows or self.is_all else "?"


@cache
def audits() -> dict[str, Audit]:
    """All audits by name, in the order in which they are listed."""
    found = [_read(path) for path in sorted(FOLDER.glob("*.sql"))]
    return {audit.name: audit for audit in sorted(found, key=lambda audit: GROUPS.index(audit.group))}


def _read(path: Path) -> Audit:
    heading, _, sql = path.read_text(encoding="utf-8").partition("\n\n")
    fields, _, description = "\n".join(line.removeprefix("--").strip() for line in heading.splitlines()).partition(
        "\n\n"
    )
    known = dict(line.split(": ", 1) for line in fields.splitlines())
    return Audit(
        name=path.stem,
        title=known.pop("title"),
        description=" ".join(description.split()),
        sql=sql.strip(),
        finding={"yes": True, "no": False}[known.pop("finding")],
        group=known.pop("group"),
        parameters={name.removeprefix("parameter "): meaning for name, meaning in known.items()},
    )


def find(name: str) -> Audit:
    """The audit of that name."""
    known = audits()
    if name not in known:
        raise SessionlogError(
            f"there is no audit {name!r}{did_you_mean(name, known)}\nThere are: {', '.join(sorted(known))}."
        )
    return known[name]


def ask(connection: sqlite3.Connection, query: Audit, since: str = "") -> list[Row]:
    """The rows that an audit finds."""
    cursor = connection.cursor()
    cursor.row_factory = None
    rows = cursor.execute(query.sql, {"since": since})
    columns = [column[0] for column in rows.description]
    return [dict(zip(columns, row, strict=True)) for row in rows]


def has_sessions(places: Iterable[Place], client: str | None = None) -> bool:
    """Whether anything is recorded in one of these archives: an audit of nothing would look like an all-clear."""
    for place in places:
        with closing(one_client.connect(place, client)) as connection:
            if connection.execute("SELECT 1 FROM sessions LIMIT 1").fetchone():
                return True
    return False


def ask_all(
    places: Iterable[Place], query: Audit, since: str = "", seconds: float | None = None, client: str | None = None
) -> list[Row]:
    """The rows of all these archives, each with its project, and the agent if it is about a session.

    TookTooLong after so many seconds for one archive.
    """
    rows: list[Row] = []
    for place in places:
        with closing(one_client.connect(place, client)) as connection, limited(connection, seconds):
            clients = one_client.by_session(connection)
            for row in ask(connection, query, since):
                whose = {"client": clients.get(row["session_id"])} if "session_id" in row else {}
                rows.append({"project": place.project, **row, **whose})
    return rows


def counts(
    places: Iterable[Place], since: str = "", patience: float = PATIENCE, client: str | None = None
) -> dict[str, Count]:
    """How many rows each audit finds in all these archives, as far as that can be found out quickly."""
    found = dict.fromkeys(audits(), Count(0, True))
    for place in places:
        with closing(one_client.connect(place, client)) as connection:
            for name, query in audits().items():
                more = _count(connection, query, since, patience)
                found[name] = Count(found[name].rows + more.rows, found[name].is_all and more.is_all)
    return found


def _count(connection: sqlite3.Connection, query: Audit, since: str, seconds: float) -> Count:
    """All rows; if counting them takes too long, whether there are more than a hundred."""
    cursor = connection.cursor()
    cursor.row_factory = None
    for limit in (-1, FEW + 1):
        try:
            with limited(connection, seconds):
                counted = f"SELECT count(*) FROM (SELECT 1 FROM ({query.sql}) LIMIT {limit})"
                number: int = cursor.execute(counted, {"since": since}).fetchone()[0]
            return Count(number, True) if limit < 0 or number <= FEW else Count(FEW, False)
        except TookTooLong:
            continue
    return Count(0, False)
