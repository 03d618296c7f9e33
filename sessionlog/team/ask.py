"""Questions to the team archive: the same as to one archive, with the same answers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from sessionlog.agents.claude_code.transcript_lines import EXCERPT
from sessionlog.archive import describe
from sessionlog.archive.place import Place
from sessionlog.ask import audit as audits
from sessionlog.ask.search import find, index, query
from sessionlog.errors import SessionlogError
from sessionlog.team import words
from sessionlog.team.admin import FOLDER
from sessionlog.team.tables import TABLES

if TYPE_CHECKING:
    from sessionlog.team.server import Connection

Row = dict[str, Any]

# How many hits are looked at in one round; of phrases, some turn out to be none.
ROUND = 200
COUNTS = ("prompts", "tool_calls", "edits", "failures")
# How to sum up sessions, by what.
BY = {
    "team": "coalesce(developers.team, '')",
    "developer": "sessions.developer",
    "project": "archives.project",
    "model": "usage.model",
    "day": "date(sessions.started_at, 'localtime')",
}


class Whose(NamedTuple):
    """Whose sessions are meant; everybody's that one may see if nothing is given."""

    developers: Sequence[str] = ()
    teams: Sequence[str] = ()


EVERYBODY = Whose()


def people(connection: Connection, whose: Whose) -> list[str] | None:
    """The developers that are meant, or None for all."""
    if not whose.developers and not whose.teams:
        return None
    rows_ = connection.execute(
        "SELECT developer FROM developers WHERE developer = ANY (%s) OR team = ANY (%s)",
        (list(whose.developers), list(whose.teams)),
    )
    return [developer for (developer,) in rows_]


def sessions(connection: Connection, whose: Whose, since: str, limit: int | None) -> list[Row]:
    """Sessions with whose they are, newest first."""
    return _ask(
        connection,
        "SELECT summary.*, archives.developer, archives.project, archives.host, archives.archive "
        "FROM session_summary AS summary "
        "JOIN sessions ON sessions.session_id = summary.session_id "
        "JOIN archives ON archives.archive = sessions.archive "
        "WHERE summary.session_id IN ("
        "    SELECT session_id FROM sessions WHERE started_at >= %(since)s "
        "    AND (%(people)s::text[] IS NULL OR developer = ANY (%(people)s)) ORDER BY started_at DESC LIMIT %(limit)s"
        ") ORDER BY summary.started_at DESC, summary.session_id",
        {"since": since, "people": people(connection, whose), "limit": limit},
    )


def session_ids(connection: Connection, start: str) -> list[str]:
    """The sessions whose ids start like this."""
    found = connection.execute(
        "SELECT session_id FROM sessions WHERE session_id = %(start)s OR (session_id >= %(start)s "
        "AND starts_with(session_id, %(start)s)) ORDER BY session_id <> %(start)s, 1 LIMIT 10",
        {"start": start},
    ).fetchall()
    ids = [session_id for (session_id,) in found]
    return ids[:1] if ids[:1] == [start] else ids


def owners(connection: Connection, ids: Sequence[str]) -> dict[str, str]:
    """Project and developer of each session."""
    found = connection.execute(
        "SELECT session_id, project, developer FROM session_projects WHERE session_id = ANY (%s)", (list(ids),)
    ).fetchall()
    return {session_id: f"{project} ({developer})" for session_id, project, developer in found}


def audit(connection: Connection, name: str, since: str = "", whose: Whose = EVERYBODY) -> list[Row]:
    """The rows that an audit finds; of some people, only in their sessions."""
    from psycopg import RawCursor

    audits.find(name)
    statement = (FOLDER / "audits" / f"{name}.sql").read_text(encoding="utf-8")
    wanted = people(connection, whose)
    with connection.transaction(force_rollback=True), RawCursor(connection) as cursor:
        if wanted is not None:
            _restrict(connection, wanted)
        cursor.execute(statement.encode(), [since])
        return rows(cursor)


def _restrict(connection: Connection, wanted: list[str]) -> None:
    """Put views before all tables that show the rows of these people only, until the transaction ends."""
    from psycopg import sql as compose

    views = [name for name, table in describe.tables().items() if table.kind == "view"]
    of_people = compose.SQL("developer = ANY ({})").format(compose.Literal(wanted))
    of_sessions = compose.SQL("session_id IN (SELECT session_id FROM sessionlog.sessions WHERE {})").format(of_people)
    for name in (*TABLES, *views):
        condition = of_people if name in TABLES else of_sessions
        statement = compose.SQL("CREATE TEMP VIEW {0} AS SELECT * FROM sessionlog.{0} WHERE {1}")
        connection.execute(statement.format(compose.Identifier(name), condition))


def stats(connection: Connection, by: str, whose: Whose, since: str) -> list[Row]:
    """Sums over sessions that started since then."""
    of_model = by == "model"
    counts = "" if of_model else "".join(f"sum(summary.{name}) AS {name}, " for name in COUNTS)
    return _ask(
        connection,
        f"""
        WITH usage AS (
            SELECT session_id, {"model" if of_model else "NULL"} AS model,
                sum(input_tokens + cache_read_tokens + cache_write_tokens) AS tokens_in,
                sum(output_tokens) AS tokens_out, sum(cost_usd) AS cost_usd
            FROM session_usage GROUP BY 1, 2
        )
        SELECT {BY[by]} AS "{by}", count(DISTINCT sessions.session_id) AS sessions,
            count(DISTINCT sessions.developer) AS developers, {counts}
            sum(tokens_in) AS tokens_in, sum(tokens_out) AS tokens_out, round(sum(cost_usd), 2) AS cost_usd
        FROM sessions
        JOIN archives ON archives.archive = sessions.archive
        LEFT JOIN developers ON developers.developer = sessions.developer
        JOIN session_summary AS summary ON summary.session_id = sessions.session_id
        {"" if of_model else "LEFT"} JOIN usage ON usage.session_id = sessions.session_id
        WHERE sessions.started_at >= %(since)s
            AND (%(people)s::text[] IS NULL OR sessions.developer = ANY (%(people)s))
        GROUP BY 1 ORDER BY {"1 DESC" if by == "day" else "cost_usd DESC NULLS LAST, sessions DESC, 1"}
        """,
        {"since": since, "people": people(connection, whose)},
    )


def sql(connection: Connection, statement: str) -> tuple[list[str], Iterator[tuple[Any, ...]]]:
    """The answer to a query; nothing can be changed."""
    import psycopg

    try:
        connection.execute("SET default_transaction_read_only = on")
        cursor = connection.execute(statement.encode())
    except psycopg.errors.InsufficientPrivilege:
        raise
    except (psycopg.ProgrammingError, psycopg.DataError, psycopg.InternalError) as error:
        raise SessionlogError(str(error).strip()) from None
    names = [column.name for column in cursor.description or ()]
    return names, (tuple(map(plain, row)) for row in (cursor if cursor.description else ()))


def search(
    connection: Connection, question: str, filters: find.Filters, whose: Whose, limit: int
) -> Iterator[tuple[find.Hit, str]]:
    """Hits, newest first, each with its developer. The index finds words; phrases are checked in the text."""
    groups = query.terms(question)
    asked = words.question(groups, find.tags(filters))
    if not asked:
        raise SessionlogError("ask for at least one word")
    wanted = people(connection, whose)
    pattern = query.pattern(groups)
    until, size, given = filters.until or "~", min(limit or ROUND, ROUND), 0
    seen: set[tuple[int, bool]] = set()
    while True:
        found = connection.execute(
            "SELECT * FROM search(%s::tsquery, %s, %s, %s, %s)", (asked, filters.since or "", until, wanted, size)
        ).fetchall()
        new = [row for row in found if row[:2] not in seen]
        for hit in _hits(connection, new, groups, pattern, filters):
            yield hit
            given += 1
            if given == limit:
                return
        if len(found) < size:
            return
        seen |= {row[:2] for row in found}
        until = f"{found[-1][3]}!"  # this moment again, as there may be more of it
        size *= 2


def _hits(
    connection: Connection,
    found: Sequence[tuple[Any, ...]],
    groups: list[list[query.Term]],
    pattern: re.Pattern[str] | None,
    filters: find.Filters,
) -> Iterator[tuple[find.Hit, str]]:
    exact = words.is_exact(groups)
    rows_of = {is_message: _by_id(connection, found, is_message) for is_message in (False, True)}
    for row_id, is_message, _, _, developer in found:
        row = rows_of[is_message].get(row_id)
        if row is None:  # taken out this moment
            continue
        document = index.document_of_message(row) if is_message else index.document_of_event(row)
        if document is None or not (exact or words.holds(document, groups) or _is_cut(row, is_message)):
            continue
        if not filters.file or find.is_file(row, filters.file):
            place = Place("", row.pop("of_project"), "")
            yield find.Hit(place, row, is_message, *find.snippet(document, pattern)), developer


def _by_id(connection: Connection, found: Sequence[tuple[Any, ...]], is_message: bool) -> dict[int, Row]:
    table = "transcript_parts" if is_message else "events"
    ids = [row[0] for row in found if row[1] is is_message]
    statement = (
        f"SELECT row.*, archives.project AS of_project FROM {table} AS row JOIN archives USING (archive) "
        "WHERE row.id = ANY (%s)"
    )
    return {row["id"]: row for row in _ask(connection, statement, (ids,))} if ids else {}


def _is_cut(row: Row, is_message: bool) -> bool:
    """Whether the words may stand in the part of a long text that only the transcript's bytes have."""
    return bool(is_message and len(row["text"] or "") >= EXCERPT)


def _ask(connection: Connection, statement: str, parameters: Any) -> list[Row]:
    return rows(connection.execute(statement.encode(), parameters))


def rows(cursor: Any) -> list[Row]:
    """Rows as SQLite would give them: truths as 1 and 0, whole numbers as such."""
    names = [column.name for column in cursor.description or ()]
    return [dict(zip(names, map(plain, row), strict=True)) for row in cursor.fetchall()]


def plain(value: Any) -> Any:
    """A value as SQLite would give it."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value
