"""How many hits a question has, and of what kinds.

Counted are the newest ones up to a limit: so a word that is everywhere costs no more than a rare one.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from typing import Any, NamedTuple

from sessionlog.archive import one_client
from sessionlog.archive.place import Place
from sessionlog.ask.search import find as search
from sessionlog.ask.search import index, query

Row = dict[str, Any]

LIMIT = 1000
# Each is a filter too; its values are counted as if it were not set, so that one can choose another.
KINDS = ("role", "tool", "event", "branch", "client")


class Counts(NamedTuple):
    """What an archive has to say to a question."""

    total: int
    is_all: bool  # else there are more than were counted
    values: dict[str, Counter[str]]
    failed: int
    newest: list[Row]  # what was counted, as the index knows it: key, event_id, message_id


def count(place: Place, question: str, filters: search.Filters, limit: int = LIMIT) -> Counts:
    """The hits of an archive by kind. The index is asked as it is."""
    groups = query.terms(question)
    rows, is_all = _newest(place, groups, filters, limit)
    values = {}
    for kind in KINDS:
        of_kind = rows
        if getattr(filters, kind):
            others: dict[str, Any] = {kind: None}
            of_kind, _ = _newest(place, groups, filters._replace(**others), limit)
        values[kind] = Counter(row[kind] for row in of_kind if row[kind])
    return Counts(len(rows), is_all, values, sum(row["failed"] for row in rows), rows)


def _newest(
    place: Place, groups: list[list[query.Term]], filters: search.Filters, limit: int
) -> tuple[list[Row], bool]:
    """The newest hits, without their texts, and whether these are all."""
    with closing(one_client.connect(place, filters.client)) as archive:
        index.attach(place, archive)
        return _rows(archive, groups, filters, limit)


def _rows(
    archive: sqlite3.Connection, groups: list[list[query.Term]], filters: search.Filters, limit: int
) -> tuple[list[Row], bool]:
    expression = query.expression(groups, search.tags(filters))
    found = archive.execute(_LIGHT, (expression, *search.key_range(filters), limit)).fetchall()
    is_wanted = search.outside_index(archive, filters)
    sessions: dict[str, Row] = {}
    calls = set()
    rows = []
    for row in found:
        call = (row["session_id"], row["tool_use_id"])
        if row["session_id"] is None or not is_wanted(row) or call in calls:
            continue
        if row["tool_use_id"]:
            calls.add(call)
        if row["session_id"] not in sessions:
            sessions[row["session_id"]] = _session(archive, row["session_id"])
        row.update(sessions[row["session_id"]])
        if row["is_message"]:
            row["role"] = index.role_of_message(row["event"], row["role"])
        else:
            row["role"] = index.role_of_event(row["event"], row["tool"])
        rows.append(row)
    return rows, len(found) < limit


def _session(archive: sqlite3.Connection, session_id: str) -> Row:
    """The values of a hit that are those of its session."""
    row: Row | None = archive.execute(
        "SELECT client, git_branch AS branch FROM sessions LEFT JOIN session_facts USING (session_id) "
        "WHERE session_id = ?",
        (session_id,),
    ).fetchone()
    return row or {"client": None, "branch": None}


_LIGHT = """
SELECT
    hit.key, hit.event_id, hit.message_id,
    hit.event_id IS NULL AS is_message,
    coalesce(events.session_id, part.session_id) AS session_id,
    coalesce(events.event, part.kind) AS event,
    coalesce(events.tool_name, part.tool_name) AS tool,
    coalesce(events.tool_use_id, part.tool_use_id) AS tool_use_id,
    coalesce(events.file_path, part.file_path) AS file_path,
    part.role,
    coalesce(events.outcome, part.outcome) IS 'failed' AS failed
FROM (
    SELECT words.rowid AS key, event_id, message_id
    FROM search.words AS words JOIN search.documents AS documents ON documents.key = words.rowid
    WHERE words MATCH ? AND words.rowid >= ? AND words.rowid < ? ORDER BY words.rowid DESC LIMIT ?
) AS hit
LEFT JOIN events ON events.id = hit.event_id
LEFT JOIN transcript_parts AS part ON part.id = hit.message_id
"""
