"""Home: projects, recent sessions, what happened today and in the year."""

from __future__ import annotations

import asyncio
import sqlite3
from datetime import date, timedelta
from functools import partial
from typing import Any

from datasette.utils.asgi import Response
from datasette.views.index import IndexView
from markupsafe import Markup, escape

from sessionlog.archive import describe
from sessionlog.ask.rollup import open as rollup
from sessionlog.ask.rollup import sessions, stats
from sessionlog.errors import SessionlogError
from sessionlog.text import plain
from sessionlog.web import archives, counting, pins, svg
from sessionlog.web import page as pages
from sessionlog.web.archives import Archive
from sessionlog.web.kept import Kept

RECENT = 12
WEEKS = 26  # of which a project's card shows the activity

Row = dict[str, Any]

_days: Kept[dict[str, Row]] = Kept()


def routes(datasette: Any) -> list[tuple[str, Any]]:
    # Beside databases of others Datasette's own list of all of them stays where it is.
    others = [name for name in datasette.databases if name not in archives.find(datasette) and not name.startswith("_")]
    return [
        (r"/-/home$" if others else r"/$", page),
        (r"/-/counting$", still_counting),
        (r"/-/tables(\.(?P<format>json))?$", tables),
    ]


async def page(datasette: Any, request: Any) -> Response:
    archives.look_again(datasette)
    found = archives.find(datasette)
    asked = (archives.count([archive], partial(_of_project, archive)) for archive in found.values())
    projects, problems = {}, []
    for name, answer in zip(found, await asyncio.gather(*asked, return_exceptions=True), strict=True):
        if isinstance(answer, dict):
            projects[name] = answer
        elif isinstance(answer, SessionlogError | sqlite3.Error):  # one that cannot be read must not hide the others
            problems.append((found[name], str(answer)))
        else:
            raise answer
    answers = list(projects.values())
    today = date.today()
    of_day: dict[str, list[Row]] = {}
    for project in answers:
        for day, row in project["days"].items():
            of_day.setdefault(day, []).append(row)
    days = {day: _added(rows) for day, rows in of_day.items()}
    hours = [sum(project["hours"].get(hour, 0) for project in answers) for hour in range(24)]
    recent = sorted((row for project in answers for row in project["recent"]), key=lambda row: row["last_at"])
    return await pages.render(
        datasette,
        request,
        "home",
        totals=_added([project["totals"] for project in answers]),
        today=today,
        now=days.get(str(today), {}),
        hours=svg.bars(hours, 288, 40, f"Tool calls by hour, today: {sum(hours)}"),
        calendar=svg.calendar(days, today),
        year=_added(busy := [row for day, row in days.items() if day > str(today - timedelta(days=365))]),
        busy=len(busy),
        projects=sorted(projects.items(), key=lambda item: item[1]["totals"]["last_at"] or "", reverse=True),
        weeks=WEEKS,
        fields=_fields,
        spark=_spark,
        pins=sorted((pin for project in answers for pin in project["pins"]), key=lambda pin: pin.at, reverse=True),
        recent=recent[::-1][:RECENT],
        problems=problems,
        is_preview=any(project["is_preview"] for project in answers),
        counting=counting.running(found.values()),
    )


async def still_counting(datasette: Any, request: Any) -> Response:
    """How far counting is, for pages that miss something until then; 204 once all is counted."""
    running = counting.running(archives.find(datasette).values())
    if not running:
        return pages.response("", 204)
    return pages.response(str(await pages.fragment(datasette, "_counting", counting=running)))


async def tables(datasette: Any, request: Any) -> Response:
    """All tables of all projects; Datasette's own list of them for programs."""
    if request.url_vars.get("format"):
        response: Response = await IndexView(datasette).get(request)
        return response
    archives.look_again(datasette)
    return await pages.render(
        datasette, request, "tables", tables=[table for _, table in sorted(describe.tables().items())]
    )


def _of_project(archive: Archive, counted: stats.Counted, sources: list[sessions.Source]) -> Row:
    recent = sessions.page(sources, sessions.Filters(), sessions.Order("active"), None, RECENT)
    return {
        "is_preview": any(rollup.is_preview(source.connection) for source in sources),
        "totals": stats.ever(counted),
        "days": _days.answer((archive.place.db, date.today()), sources, lambda: stats.activity(counted)),
        "hours": stats.hours_of(counted, date.today()),
        "recent": recent.rows,
        "pins": [pin for source in sources for pin in pins.newest(archive, source)],
    }


def _added(rows: list[Row]) -> Row:
    """The sums of what can be added; what nobody knows stays unknown."""
    total: Row = {}
    for row in rows:
        for name, value in row.items():
            known = total.setdefault(name, None)
            if isinstance(value, int | float):
                total[name] = (known or 0) + value
    return total


def _fields(days: list[svg.Day | None]) -> Markup:
    """A row of the calendar. There are hundreds of fields: in the template they took a third of the page's time."""
    cells = []
    for field in days:
        inside = ""
        if field:
            day = f"{field.day:%a} {field.day.day} {field.day:%b %Y}"
            inside = f'<span title="{day}: nothing"></span>'
        if field and field.level:
            row = field.row
            done = f"{plain.counted(row['sessions'], 'session')}, {plain.counted(row['tools'], 'tool call')}"
            failed = f", {row['failures']:,} failed" if row["failures"] else ""
            href = escape(pages.address("sessions", since=field.day, until=field.day))
            seen = f'<a class="l{field.level}" href="{href}" title="{day}: {done}{failed}">'
            inside = f'{seen}<span class="unseen">{field.day}: {done}</span></a>'
        cells.append(f"<td>{inside}</td>")
    return Markup("".join(cells))  # noqa: S704 (days and numbers)


def _spark(project: Row) -> Any:
    """The activity of a project in the last weeks, as a row of bars."""
    monday = date.today() - timedelta(days=date.today().weekday())
    weeks = [0] * WEEKS
    for day, row in project["days"].items():
        ago = (monday - date.fromisoformat(day)).days if day else -7 * WEEKS
        if -7 < ago <= 7 * (WEEKS - 1):
            weeks[WEEKS - 1 - max(0, -(-ago // 7))] += row["tools"]
    return svg.bars(weeks, 208, 28, f"Tool calls by week, in {WEEKS} weeks: {sum(weeks)}")
