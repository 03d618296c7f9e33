"""What was asked, done, failed and spent in a time, gathered for a report."""

from __future__ import annotations

import json
import os
from typing import Any, NamedTuple

from sessionlog.archive.place import Place
from sessionlog.ask.rollup import open as rollup
from sessionlog.ask.rollup import sessions, stats

Row = dict[str, Any]

# A report is read by people: of a long session it names the first ones.
PROMPTS, FILES, FAILURES = 8, 20, 5


class SessionReport(NamedTuple):
    """One session: its row of the rollup, and what it did."""

    row: Row
    prompts: list[str]
    files: list[str]
    failed_commands: list[Row]


class ProjectReport(NamedTuple):
    """One project: its totals, and its sessions from the first to the last."""

    project: str
    totals: Row
    sessions: list[SessionReport]


class Report(NamedTuple):
    """All of it."""

    since: str
    until: str
    totals: Row
    projects: list[ProjectReport]


def gather(
    places: list[Place],
    since: str,
    until: str,
    client: str | None = None,
    connect: stats.Connect = rollup.connect,
) -> Report:
    """What these projects did between two moments, as the archive writes them; with a client, that agent alone."""
    with stats.Counted((place for place in places if os.path.exists(place.db)), since, client, connect) as counted:
        projects = []
        for place, connection in counted.connections:
            source = sessions.Source(place.name, connection)
            wanted = sessions.Filters(since=since, until=until, client=client or "")
            listed = sessions.page([source], wanted, sessions.Order("started", False), None, 10_000).rows
            if listed:
                rows = [_session(connection, row) for row in listed]
                projects.append(ProjectReport(place.project, _totals(listed, _count_files(connection, listed)), rows))
        every = [row.row for project in projects for row in project.sessions]
        return Report(since, until, _totals(every, sum(project.totals["files"] for project in projects)), projects)


def _totals(rows: list[Row], files: int) -> Row:
    """The sums of what is listed: an invoice has to add up."""
    costs = [row["cost_usd"] for row in rows if row["cost_usd"] is not None]
    return {
        "sessions": len(rows),
        "prompts": sum(row["prompts"] for row in rows),
        "tools": sum(row["tool_calls"] for row in rows),
        "failures": sum(row["failures"] for row in rows),
        "files": files,
        "tokens": sum(row["tokens"] or 0 for row in rows),
        "cost_usd": sum(costs) if costs else None,
        "unpriced_tokens": sum(row["unpriced_tokens"] or 0 for row in rows),
    }


def _count_files(connection: Any, rows: list[Row]) -> int:
    numbers = json.dumps([row["number"] for row in rows])
    query = "SELECT count(DISTINCT path) AS files FROM changes WHERE session IN (SELECT value FROM json_each(?))"
    return int(connection.execute(query, (numbers,)).fetchone()["files"])


def _session(connection: Any, row: Row) -> SessionReport:
    def column(query: str, limit: int) -> list[Row]:
        return connection.execute(f"{query} LIMIT {limit}", row).fetchall()  # type: ignore[no-any-return]

    prompts = column(
        "SELECT prompt FROM archive.prompts WHERE session_id = :session_id AND prompt <> '' ORDER BY at, id", PROMPTS
    )
    files = column(
        "SELECT paths.path FROM changes JOIN paths ON paths.number = changes.path WHERE changes.session = :number "
        "GROUP BY paths.path ORDER BY sum(changes.edits) DESC",
        FILES,
    )
    failed = column(
        "SELECT command, exit_code FROM archive.bash_commands WHERE session_id = :session_id AND failed ORDER BY at",
        FAILURES,
    )
    return SessionReport(row, [item["prompt"] for item in prompts], [item["path"] for item in files], failed)
