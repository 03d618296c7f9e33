"""What was asked, done, failed and spent in a time, gathered for a report."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from sessionlog.archive.place import Place
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


def gather(places: list[Place], since: str, until: str, client: str | None = None) -> Report:
    """What these projects did between two moments, as the archive writes them; with a client, that agent alone."""
    with stats.Counted((place for place in places if os.path.exists(place.db)), since, client) as counted:
        projects = []
        for place, connection in counted.connections:
            source = sessions.Source(place.name, connection)
            wanted = sessions.Filters(since=since, until=until, client=client or "")
            listed = sessions.page([source], wanted, sessions.Order("started", False), None, 10_000).rows
            if listed:
                rows = [_session(connection, row) for row in listed]
                projects.append(ProjectReport(place.project, stats.totals(counted.only(place)), rows))
        return Report(since, until, stats.totals(counted), projects)


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
