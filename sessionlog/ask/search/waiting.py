"""What of an archive the search index has not taken in yet: ranges of ids, kept in the index itself.

A batch of documents and the end of their waiting are one transaction. So a build that was interrupted or killed goes on
without a gap and takes in nothing twice.
"""

from __future__ import annotations

import sqlite3
from typing import Any, NamedTuple

TABLES = ("events", "transcript_parts")


class Span(NamedTuple):
    """Rows of a table of the archive, from the lowest id to the highest, both included."""

    table: str
    low: int
    high: int


class Coverage(NamedTuple):
    """How much of an archive its index knows."""

    share: float
    back_to: str  # everything from this moment on is indexed


def newest(archive: sqlite3.Connection) -> dict[str, int]:
    """The highest id of each table."""
    return {table: _id(archive, "max", table) for table in TABLES}


def note_new(index: sqlite3.Connection, archive: sqlite3.Connection, ids: dict[str, int]) -> None:
    """Let rows wait that have come since the last time. Inside of a transaction of the index."""
    for table, known in _seen(index).items():
        if ids[table] > known:
            low = max(known + 1, _id(archive, "min", table))  # what was pruned waits for nothing
            index.execute("INSERT INTO waiting VALUES (?, ?, ?)", (table, low, ids[table]))
    index.execute("UPDATE progress SET event_id = ?, message_id = ?", [ids[table] for table in TABLES])


def spans(index: sqlite3.Connection) -> list[Span]:
    """What waits, the highest ids last."""
    return [Span(*row) for row in index.execute("SELECT source, low, high FROM waiting ORDER BY high")]


def count(index: sqlite3.Connection, ids: dict[str, int]) -> int:
    """About how many rows up to these ids are not in the index."""
    waiting = sum(max(0, min(high, ids[table]) - low + 1) for table, low, high in spans(index))
    return waiting + sum(max(0, ids[table] - known) for table, known in _seen(index).items())


def remove(index: sqlite3.Connection, done: Span) -> bool:
    """Take a span out of what waits; False if not all of it waits, because another process was faster."""
    table, low, high = done
    around = index.execute(
        "SELECT rowid, low, high FROM waiting WHERE source = ? AND low <= ? AND high >= ?", done
    ).fetchone()
    if around is None:
        return False
    index.execute("DELETE FROM waiting WHERE rowid = ?", around[:1])
    rest = [(table, around[1], low - 1), (table, high + 1, around[2])]
    index.executemany("INSERT INTO waiting VALUES (?, ?, ?)", [span for span in rest if span[1] <= span[2]])
    return True


def coverage(index: sqlite3.Connection, archive: sqlite3.Connection) -> Coverage | None:
    """How far the index is; None if it knows everything."""
    ids = newest(archive)
    left = count(index, ids)
    if not left:
        return None
    total = sum(ids[table] - _id(archive, "min", table) + 1 for table in TABLES if ids[table])
    ranges = spans(index)
    ranges += [Span(table, known + 1, ids[table]) for table, known in _seen(index).items() if ids[table] > known]
    back_to = ""
    for span in ranges:
        back_to = max(back_to, _latest(archive, span, back_to))
    return Coverage(max(0.0, 1 - left / total), back_to)


def _latest(archive: sqlite3.Connection, span: Span, known: str) -> str:
    """The latest moment of the rows of a span, or one before the moment that is known already.

    Ids follow time but for what was imported. So the time of the highest id is a good guess, and only what the index of
    sessions and times has after it needs a look.
    """
    table, low, high = span
    asked: dict[str, Any] = {"low": low, "high": high}
    top = archive.execute(
        f"SELECT at FROM {table} WHERE id BETWEEN :low AND :high ORDER BY id DESC LIMIT 1", asked
    ).fetchone()
    asked["guess"] = max(known, top["at"] or "") if top else known
    later = archive.execute(
        f"""
        WITH RECURSIVE every (session_id) AS (
            SELECT min(session_id) FROM {table}
            UNION ALL
            SELECT (SELECT min(session_id) FROM {table} WHERE session_id > every.session_id)
            FROM every WHERE every.session_id IS NOT NULL
        )
        SELECT max(at) AS at FROM every CROSS JOIN {table} AS part
        WHERE part.session_id = every.session_id AND part.at > :guess AND +part.id BETWEEN :low AND :high
        """,
        asked,
    ).fetchone()
    return later["at"] or str(asked["guess"])


def _seen(index: sqlite3.Connection) -> dict[str, int]:
    """The highest id of each table that is in the index or waits."""
    return dict(zip(TABLES, index.execute("SELECT event_id, message_id FROM progress").fetchone(), strict=True))


def _id(archive: sqlite3.Connection, function: str, table: str) -> int:
    return archive.execute(f"SELECT {function}(id) AS id FROM {table}").fetchone()["id"] or 0
