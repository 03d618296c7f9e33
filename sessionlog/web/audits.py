"""Audits and their answers as tables, CSV and JSON."""

from __future__ import annotations

import asyncio
import csv
import io
import itertools
import json
import re
import sqlite3
from typing import Any, NamedTuple
from urllib.parse import urlencode

from datasette.utils.asgi import NotFound, Response

from sessionlog import times as when
from sessionlog.archive import one_client
from sessionlog.ask import audit
from sessionlog.errors import SessionlogError
from sessionlog.web import archives, background
from sessionlog.web import page as pages
from sessionlog.web.archives import Archive

SHOWN = 500
# How long (s) an answer may take, in one archive.
SECONDS = 30.0

TIMES = (
    ("", "Any time"),
    ("24h", "Last 24 hours"),
    ("7d", "Last 7 days"),
    ("30d", "Last 30 days"),
    ("90d", "Last 90 days"),
)
# Said otherwise, or of use to programs only.
NOT_SHOWN = ("project", "agent_id", "tool_use_id")


class Asked(NamedTuple):
    """What the address asks for."""

    project: str
    client: str
    since: str  # as it was typed
    since_at: str  # as the archive writes it
    chosen: list[Archive]
    clients: list[str]  # that have sessions in any archive
    wait: bool  # rather than see the newest part


class AuditTable(NamedTuple):
    """Rows to show: each with its archive and the moment that it is about."""

    rows: list[tuple[Archive, audit.Row, str]]
    back_to: str  # if that is not all
    columns: list[str]
    numeric: set[str]
    total: int


def routes(datasette: Any) -> list[tuple[str, Any]]:
    return [
        (r"/-/audits$", page),
        (r"/-/audits/counts$", counts),
        (r"/-/audits/(?P<name>[a-z0-9-]+)\.(?P<form>csv|json)$", download),
        (r"/-/audits/(?P<name>[a-z0-9-]+)$", answer),
    ]


async def page(datasette: Any, request: Any) -> Response:
    """The questions."""
    asked = await _asked(datasette, request)
    groups = itertools.groupby(audit.audits().values(), lambda query: query.group)
    return await pages.render(
        datasette,
        request,
        "audits",
        groups=[(_HEADINGS[group], list(queries)) for group, queries in groups],
        counts=pages.address("audits", "counts", **_given(asked)),
        **_frame(asked),
    )


_HEADINGS = {
    "Risks": "What could have done harm",
    "Permissions": "Who allowed what",
    "Trouble": "What went wrong",
    "Work": "What was done",
}


async def counts(datasette: Any, request: Any) -> Response:
    """How many rows each question finds, as far as counting is quick. The list fetches it when it is shown."""
    asked = await _asked(datasette, request)
    places = [archive.place for archive in asked.chosen]
    found = await asyncio.to_thread(audit.counts, places, asked.since_at, client=asked.client)
    findings = {name: query.finding for name, query in audit.audits().items()}
    body = {
        name: {"rows": count.rows, "is_all": count.is_all, "text": str(count), "finding": findings[name]}
        for name, count in found.items()
    }
    return pages.response(json.dumps(body), content_type="application/json; charset=utf-8")


async def answer(datasette: Any, request: Any) -> Response:
    """One question and what it finds."""
    query = _query(request)
    asked = await _asked(datasette, request)
    job = await background.ask(("audit", query.name, *asked[:4], asked.wait), lambda tell: _answer(query, asked))
    return await pages.render(
        datasette,
        request,
        "audit",
        query=query,
        answer=job.result if job.is_done else None,
        wait=asked.wait,
        waiting=not job.is_done,
        editors=[(archive, _editor(archive, query, asked)) for archive in asked.chosen],
        downloads=[
            (form.upper(), pages.address("audits", f"{query.name}.{form}", **_given(asked))) for form in ("csv", "json")
        ],
        **_frame(asked),
    )


async def download(datasette: Any, request: Any) -> Response:
    """All rows, for programs."""
    query = _query(request)
    asked = await _asked(datasette, request)
    places = [archive.place for archive in asked.chosen]
    rows = await asyncio.to_thread(audit.ask_all, places, query, asked.since_at, SECONDS, asked.client)
    form = request.url_vars["form"]
    if form == "json":
        body = json.dumps(rows, ensure_ascii=True, indent=1)
        return pages.response(body, content_type="application/json; charset=utf-8")
    written = io.StringIO(newline="")
    writer = csv.DictWriter(written, list(rows[0]) if rows else ["project"])
    writer.writeheader()
    writer.writerows(rows)
    body = written.getvalue().encode("utf-8", "replace").decode()
    response = pages.response(body, content_type="text/csv; charset=utf-8")
    response.headers["content-disposition"] = f'attachment; filename="{query.name}.csv"'
    return response


def _query(request: Any) -> audit.Audit:
    try:
        return audit.find(request.url_vars["name"])
    except SessionlogError as error:
        raise NotFound(str(error)) from None


async def _asked(datasette: Any, request: Any) -> Asked:
    project = request.args.get("project") or ""
    since = (request.args.get("since") or "").strip()[:40]
    client = (request.args.get("client") or "").strip()[:100]
    since_at = when.parse(since) if since else ""
    wait = bool(request.args.get("wait"))
    every = [archive.place for archive in archives.find(datasette).values()]
    clients = await asyncio.to_thread(one_client.present, every)
    return Asked(project, client, since, since_at, archives.chosen(datasette, [project]), sorted(clients), wait)


def _given(asked: Asked) -> dict[str, str]:
    return {"project": asked.project, "client": asked.client, "since": asked.since}


def _frame(asked: Asked) -> dict[str, Any]:
    times = list(TIMES)
    if asked.since not in dict(times):
        times.append((asked.since, f"Since {asked.since}"))
    return {"project": asked.project, "since": asked.since, "times": times, "given": _given(asked), **_clients(asked)}


def _clients(asked: Asked) -> dict[str, Any]:
    """The agents to choose from, where there are several."""
    offered = sorted({*asked.clients, asked.client} - {""})
    return {"client": asked.client, "clients": offered if len(offered) > 1 else []}


def _editor(archive: Archive, query: audit.Audit, asked: Asked) -> str:
    """Where Datasette shows the SQL, ready to be changed."""
    given = {"sql": query.sql, "since": asked.since_at}
    if asked.client:
        given |= {"sql": of_one_client(query.sql), "client": asked.client}
    return f"/{archive.name}?{urlencode(given)}"


def of_one_client(sql: str) -> str:
    """The query with the parameter :client: tables and views of the archive hide behind parts that leave others out."""
    own = set(re.findall(r"(\w+)(?: \([\w, ]+\))? AS (?:MATERIALIZED )?\(", sql))
    used = set(re.findall(r"\b(?:FROM|JOIN) (\w+)", sql)) - own - {"archive", "json_each"}
    parts = []
    for name in sorted(used):
        client = (
            "client" if name == "sessions" else "(SELECT client FROM main.sessions WHERE session_id = one.session_id)"
        )
        parts.append(f"{name} AS NOT MATERIALIZED (SELECT * FROM main.{name} AS one WHERE {client} = :client)")
    begin = re.match(r"(?:--.*\n)*WITH(?: RECURSIVE)?\s", sql)
    rest = f",\n{sql[begin.end() :].lstrip()}" if begin else f"\n{sql}"
    return f"{begin[0].rstrip() if begin else 'WITH'}\n    {f',{chr(10)}    '.join(parts)}{rest}"


def _answer(query: audit.Audit, asked: Asked) -> AuditTable:
    found: list[tuple[Archive, audit.Row]] = []
    back_to = ""
    seconds = SECONDS if asked.wait else audit.SECONDS / max(1, len(asked.chosen))
    for archive in asked.chosen:
        part = audit.ask_newest_first([archive.place], query, asked.since_at, seconds, asked.client)
        found += [(archive, row) for row in part.rows]
        back_to = back_to if part.is_all else max(back_to, part.back_to)
    if len(asked.chosen) > 1 and found and "at" in found[0][1]:
        found.sort(key=lambda pair: str(pair[1]["at"] or ""), reverse=True)
    shown = found[:SHOWN]
    columns = [
        name
        for name in (shown[0][1] if shown else ())
        if name not in NOT_SHOWN
        and (name != "client" or len(asked.clients) > 1)
        and any(row[name] not in (None, "") for _, row in shown)
    ]
    numeric = {
        name for name in columns if all(row[name] is None or isinstance(row[name], (int, float)) for _, row in shown)
    }
    return AuditTable(_with_moments(shown), back_to, columns, numeric, len(found))


def _with_moments(rows: list[tuple[Archive, audit.Row]]) -> list[tuple[Archive, audit.Row, str]]:
    """Each row with the name of the event or message that it tells of, if that can be found."""
    connections: dict[str, sqlite3.Connection] = {}
    try:
        found = []
        for archive, row in rows:
            if archive.name not in connections:
                connections[archive.name] = archives.connect(archive)
            found.append((archive, row, _moment(connections[archive.name], row)))
        return found
    finally:
        for connection in connections.values():
            connection.close()


def _moment(connection: sqlite3.Connection, row: audit.Row) -> str:
    """e12 or m34: the row's tool call, else what came at its time."""
    session_id, call, at = (row.get(name) for name in ("session_id", "tool_use_id", "at"))
    if not session_id:
        return ""
    for table in ("events", "transcript_parts"):
        for column, value in (("tool_use_id", call), ("at", at)):
            # The unary plus keeps SQLite from going through the session for a call.
            same = "+session_id" if column == "tool_use_id" else "session_id"
            query = f"SELECT min(id) AS id FROM {table} WHERE {same} = ? AND {column} = ?"
            if value and (found := connection.execute(query, (session_id, value)).fetchone()["id"]):
                return f"{table[0]}{found}"
    return ""
