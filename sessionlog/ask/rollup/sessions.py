"""Lists of sessions over any number of projects: filtered, in any order, a page at a time however long they are."""

from __future__ import annotations

import heapq
import sqlite3
from collections.abc import Iterable, Iterator
from datetime import date, datetime, time, timedelta
from itertools import islice
from typing import Any, NamedTuple

from sessionlog import times
from sessionlog.ask.rollup import build
from sessionlog.ask.rollup import open as rollup
from sessionlog.ask.rollup.build import QUARTER, SORTS
from sessionlog.errors import SessionlogError
from sessionlog.fastlib import encode_json, parse_json

Row = dict[str, Any]


class Filters(NamedTuple):
    """What a session must be to be listed."""

    # The first and the last day on this machine's clock, or moments as the archive writes them.
    since: str = ""
    until: str = ""
    tool: str = ""
    file: str = ""
    branch: str = ""
    model: str = ""
    text: str = ""
    failed: bool = False
    client: str = ""
    cost: tuple[str, float] | None = None  # a comparison, such as (">", 1.0)


class Order(NamedTuple):
    """By what a list is sorted."""

    by: str = "started"
    descending: bool = True


class Source(NamedTuple):
    """The digest of a project, and what the project is called in addresses."""

    name: str
    connection: sqlite3.Connection


class Page(NamedTuple):
    """Some rows of a list, each with the name of its `project`, and where the next ones begin."""

    rows: list[Row]
    next: str | None


def page(sources: Iterable[Source], filters: Filters, order: Order, after: str | None, limit: int) -> Page:
    """The next rows of a list, after the place where the page before it ended."""
    sources = list(sources)
    if order.by not in SORTS:
        raise SessionlogError(f"a list cannot be sorted by {order.by!r}; try {', '.join(SORTS)}")
    place = place_after(after) if after else None
    condition, values = _condition(filters)
    lists = [_rows(source, condition, values, order, place, limit + 1) for source in sources]
    key = _key_of_title if order.by == "title" else _position
    merged = list(islice(heapq.merge(*lists, key=key, reverse=order.descending), limit + 1))
    rows = merged[:limit]
    more = encode_json(_position(rows[-1])) if len(merged) > limit else None
    for source in sources:
        if rollup.is_preview(source.connection):
            _add_first_prompts(source, rows[: rollup.PREVIEW_PROMPTS])
    return Page(rows, more)


def _add_first_prompts(source: Source, rows: list[Row]) -> None:
    """Look up in a preview what it has of its newest sessions only."""
    missing = {row["session_id"]: row for row in rows if row["project"] == source.name and row["first_prompt"] is None}
    build.find_first_prompts(source.connection, missing)
    for session_id, row in missing.items():
        row.update(one(source, session_id) or {})


def one(source: Source, session_id: str) -> Row | None:
    """The row of a session, as lists have it."""
    row: Row | None = source.connection.execute("SELECT * FROM sessions WHERE session_id = ?", (session_id,)).fetchone()
    return row


def count(sources: Iterable[Source], filters: Filters) -> int:
    """How many sessions the whole list has."""
    condition, values = _condition(filters)
    query = f"SELECT count(*) AS number FROM sessions WHERE {condition}"
    return sum(source.connection.execute(query, values).fetchone()["number"] for source in sources)


def clients(sources: Iterable[Source]) -> set[str]:
    """The agents that there are sessions of."""
    return {
        row["client"]
        for source in sources
        for row in source.connection.execute("SELECT DISTINCT client FROM sessions").fetchall()
    }


def choices(sources: Iterable[Source]) -> dict[str, list[str]]:
    """Which branches, agents, models and tools there are to choose from."""
    found: dict[str, set[str]] = {"branch": set(), "client": set(), "model": set(), "tool": set()}
    for source in sources:
        for name, column in (("branch", "git_branch"), ("client", "client"), ("model", "model")):
            rows = source.connection.execute(f"SELECT DISTINCT {column} AS value FROM sessions")
            found[name].update(row["value"] for row in rows if row["value"])
        found["tool"].update(row["tool"] for row in source.connection.execute(_TOOLS))
    return {name: sorted(values, key=str.lower) for name, values in found.items()}


# From one tool to the next in the index, without the rows between them.
_TOOLS = """
WITH RECURSIVE known (tool) AS (
    SELECT min(tool) FROM tools
    UNION ALL SELECT (SELECT min(tools.tool) FROM tools WHERE tools.tool > known.tool) FROM known
    WHERE known.tool IS NOT NULL
)
SELECT tool FROM known WHERE tool IS NOT NULL
"""


def _rows(
    source: Source, condition: str, values: Row, order: Order, place: tuple[Any, str, str] | None, limit: int
) -> Iterator[Row]:
    value = SORTS[order.by]
    sign, direction = ("<", "DESC") if order.descending else (">", "ASC")
    if place:
        # If two projects share a session, the name says which of them was listed already.
        equal = "=" if (source.name < place[2] if order.descending else source.name > place[2]) else ""
        condition += f" AND {value} {sign}= :value AND ({value} {sign} :value OR session_id {sign}{equal} :session_id)"
        values = {**values, "value": place[0], "session_id": place[1]}
    query = (
        f"SELECT *, {value} AS sorted_by FROM sessions WHERE {condition} "
        f"ORDER BY {value} {direction}, session_id {direction} LIMIT :limit"
    )
    for row in source.connection.execute(query, {**values, "limit": limit}).fetchall():
        yield {**row, "project": source.name}


def _condition(filters: Filters) -> tuple[str, Row]:
    """As SQL, what the filters ask for."""
    parts, values = ["1"], Row()
    if filters.since or filters.until:
        begin, end = _moment(filters.since or "1970-01-02"), _moment(filters.until or "9000-01-01", 1)
        parts.append(
            "((started_at >= :begin AND started_at < :end) OR EXISTS ("
            "SELECT 1 FROM spans WHERE session = number AND quarter >= :first AND quarter < :last))"
        )
        values |= {"begin": times.archive_text(begin), "end": times.archive_text(end)}
        values |= {"first": int(begin.timestamp()) // QUARTER, "last": int(end.timestamp()) // QUARTER}
    if filters.tool:
        parts.append("number IN (SELECT session FROM tools WHERE tool = :tool)")
        values["tool"] = filters.tool
    if filters.file:
        is_pattern = any(letter in filters.file for letter in "*?[")
        parts.append(
            "number IN (SELECT session FROM changes WHERE path IN (SELECT number FROM paths WHERE "
            + ("path GLOB :file OR path GLOB '*/' || :file))" if is_pattern else "instr(lower(path), lower(:file))))")
        )
        values["file"] = filters.file
    for column, wanted in (("git_branch", filters.branch), ("client", filters.client)):
        if wanted:
            parts.append(f"{column} = :{column}")
            values[column] = wanted
    if filters.model:
        parts.append("instr(lower(model), lower(:model))")
        values["model"] = filters.model
    if filters.cost:
        comparison, values["cost"] = filters.cost
        parts.append(f"cost_usd {COMPARISONS[comparison]} :cost")
    if filters.text:
        parts.append(
            "(instr(lower(coalesce(title, '')), lower(:text)) OR instr(lower(coalesce(first_prompt, '')), lower(:text))"
            " OR substr(session_id, 1, length(:text)) = :text)"
        )
        values["text"] = filters.text
    if filters.failed:
        parts.append("failures > 0")
    return " AND ".join(parts), values


COMPARISONS = {sign: sign for sign in (">", ">=", "<", "<=", "=")}


def _moment(day: str, days: int = 0) -> datetime:
    """A moment as it is; of a day its beginning, so many days later."""
    try:
        if len(day) > len("2026-11-16"):
            return times.moment(day).astimezone()
        return datetime.combine(date.fromisoformat(day) + timedelta(days=days), time.min).astimezone()
    except (ValueError, OverflowError):
        raise SessionlogError(f"{day!r} is no day; write it as 2026-11-16") from None


def _position(row: Row) -> tuple[Any, str, str]:
    return row["sorted_by"], row["session_id"], row["project"]


def _key_of_title(row: Row) -> tuple[Any, str, str]:
    """As SQLite compares titles: letters of ASCII without their case."""
    value, session_id, project = _position(row)
    return value.translate(_LOWER), session_id, project


_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


def place_after(after: str) -> tuple[Any, str, str]:
    """What `Page.next` says: by what the last row was sorted, its session and its project."""
    try:
        value, session_id, project = parse_json(after)
        if isinstance(value, str | int | float) and isinstance(session_id, str) and isinstance(project, str):
            return value, session_id, project
    except (ValueError, TypeError, RecursionError):
        pass
    raise SessionlogError("this address names no place in the list; begin at its first page")
