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
import time
from collections.abc import Iterable, Iterator, Sequence
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

# How long (s) people wait for an answer, of all archives together; then they see how far back it goes.
SECONDS = 1.4
# The same for the numbers in a list, of all audits and archives together.
PATIENCE = 1.5

# Events and messages that are looked at first; then so many times as much, and so on: little is read again.
FIRST, GROWTH = 20_000, 4


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


class Answer(NamedTuple):
    """The rows that an audit finds, and since when: later than it was asked for, if there was no time for more."""

    rows: list[Row]
    is_all: bool
    back_to: str


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
            rows += (_with_origin(row, place, clients) for row in ask(connection, query, since))
    return rows


def ask_newest_first(
    places: Sequence[Place], query: Audit, since: str = "", seconds: float = SECONDS, client: str | None = None
) -> Answer:
    """As `ask_all`, but no longer than about so many seconds: if that is not enough, of the newest time alone."""
    deadline = time.monotonic() + seconds
    rows: list[Row] = []
    back_to = since
    for number, place in enumerate(places):
        with closing(one_client.connect(place, client)) as connection:
            share = (deadline - time.monotonic()) / (len(places) - number)
            for begin, found in _in_time(connection, query, since, share, at_least_one=True):
                own, own_back_to = found, begin
            clients = one_client.by_session(connection)
        rows += (_with_origin(row, place, clients) for row in own)
        back_to = max(back_to, own_back_to)
    return Answer(rows, back_to == since, back_to)


def _in_time(
    connection: sqlite3.Connection, query: Audit, since: str, seconds: float, at_least_one: bool = False
) -> Iterator[tuple[str, list[Row]]]:
    """All rows, if half of the time is enough for them; else those since one moment, then since earlier ones."""
    deadline = time.monotonic() + seconds
    try:
        with limited(connection, seconds / 2):
            rows = ask(connection, query, since)
    except TookTooLong:
        pass
    else:
        yield since, rows
        return
    allowed = None if at_least_one else deadline - time.monotonic()
    for begin in _moments(connection, since):
        try:
            with limited(connection, allowed):
                rows = ask(connection, query, begin)
        except TookTooLong:
            return
        yield begin, rows
        allowed = deadline - time.monotonic()


def _moments(connection: sqlite3.Connection, since: str) -> Iterator[str]:
    """Since when there are so many events and messages, then more and more of them; in the end, `since`."""
    cursor = connection.cursor()
    cursor.row_factory = None
    newest = cursor.execute(
        "SELECT started_at, events + ifnull(messages, 0) FROM sessions "
        "LEFT JOIN session_facts AS facts ON facts.session_id = sessions.session_id "
        "WHERE started_at > :since ORDER BY started_at DESC",
        {"since": since},
    )
    enough, seen = FIRST, 0
    for started_at, size in newest:
        if seen >= enough:
            yield started_at
            enough *= GROWTH
        seen += size
    yield since


def _with_origin(row: Row, place: Place, clients: dict[str, str]) -> Row:
    """With its project, and the agent if it is about a session."""
    whose = {"client": clients.get(row["session_id"])} if "session_id" in row else {}
    return {"project": place.project, **row, **whose}


def counts(
    places: Sequence[Place], since: str = "", patience: float = PATIENCE, client: str | None = None
) -> dict[str, Count]:
    """How many rows each audit finds in all these archives; at least how many, where there is no time for all."""
    found = dict.fromkeys(audits(), Count(0, True))
    deadline = time.monotonic() + patience
    left = len(places) * len(found)
    for place in places:
        with closing(one_client.connect(place, client)) as connection:
            for name, query in audits().items():
                more = _count(connection, query, since, (deadline - time.monotonic()) / left)
                found[name] = Count(found[name].rows + more.rows, found[name].is_all and more.is_all)
                left -= 1
    return found


def _count(connection: sqlite3.Connection, query: Audit, since: str, seconds: float) -> Count:
    """All rows, or those of the time for which there is time."""
    counted = query._replace(sql=f"SELECT count(*) AS rows FROM ({query.sql})")
    count = Count(0, False)
    for begin, (row,) in _in_time(connection, counted, since, seconds):
        count = Count(row["rows"], begin == since)
    return count
