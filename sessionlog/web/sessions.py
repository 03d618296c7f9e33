"""Lists of sessions, of one project or of all: filtered, in any order, longer as one scrolls."""

from __future__ import annotations

from typing import Any, NamedTuple

from datasette.utils.asgi import Response

from sessionlog.ask.rollup import open as rollup
from sessionlog.ask.rollup import sessions, stats
from sessionlog.web import archives, counting
from sessionlog.web import page as pages
from sessionlog.web.filters import day

SIZE = 50


class SortColumn(NamedTuple):
    """What a list can be sorted by."""

    sort: str
    label: str
    kind: str = "number"


COLUMNS = (
    SortColumn("title", "Session", "text"),
    SortColumn("started", "Started", "time"),
    SortColumn("took", "Took"),
    SortColumn("prompts", "Prompts"),
    SortColumn("tools", "Tools"),
    SortColumn("edits", "Edits"),
    SortColumn("failures", "Failed"),
    SortColumn("tokens", "Tokens"),
    SortColumn("cost", "Cost"),
    SortColumn("branch", "Branch", "text"),
    SortColumn("model", "Model", "text"),
)
WORDS = ("since", "until", "tool", "file", "branch", "model", "client", "text")


def routes(datasette: Any) -> list[tuple[str, Any]]:
    return [(r"/-/sessions(/(?P<name>[^/]+))?$", page)]


async def page(datasette: Any, request: Any) -> Response:
    archives.look_again(datasette)
    name = pages.part(request, "name") if request.url_vars.get("name") else request.args.get("project") or ""
    found = archives.chosen(datasette, [name])
    asked = {key: (request.args.get(key) or "").strip() for key in (*WORDS, "failed")}
    words: dict[str, Any] = {word: asked[word] for word in WORDS}
    filters = sessions.Filters(**words, failed=bool(asked["failed"]))
    sort = request.args.get("sort") or "started"
    ascending = {column.sort for column in COLUMNS if column.kind == "text"}
    order = sessions.Order(sort, (request.args.get("order") or ("asc" if sort in ascending else "desc")) == "desc")
    after = request.args.get("after")
    only_rows = bool(request.args.get("rows"))

    def question(counted: stats.Counted, sources: list[sessions.Source]) -> dict[str, Any]:
        answer: dict[str, Any] = {
            "page": sessions.page(sources, filters, order, after, SIZE),
            "with_client": len(sessions.clients(sources)) > 1,
            "is_preview": any(rollup.is_preview(source.connection) for source in sources),
        }
        if not only_rows:
            answer |= {"count": sessions.count(sources, filters), "choices": sessions.choices(sources)}
        return answer

    def here(**more: Any) -> str:
        own = {"sort": request.args.get("sort"), "order": request.args.get("order")}
        return pages.address("sessions", *filter(None, [name]), **{**asked, **own, **more})

    answer = await archives.count(found, question)
    shown = {
        "rows": answer["page"].rows,
        "next": here(after=answer["page"].next) if answer["page"].next else None,
        "archives": archives.find(datasette),
        "project": name,
        "with_client": answer["with_client"],
        "by_day": order.by == "started",
        "day_before": _day_before(after) if order.by == "started" else "",
    }
    if only_rows:
        return pages.response(str(await pages.fragment(datasette, "session_rows", **shown)))
    return await pages.render(
        datasette,
        request,
        "sessions",
        **shown,
        asked=asked,
        order=order,
        columns=COLUMNS,
        count=answer["count"],
        choices=answer["choices"],
        is_preview=answer["is_preview"],
        counting=counting.running(found),
        sorted_by=lambda column: _sorted_by(here, order, column),
        clear=pages.address("sessions", *filter(None, [name])),
        every=pages.address("sessions"),
        is_filtered=any(asked.values()),
    )


def _day_before(after: str | None) -> str:
    """The day of the last row of the page before: its heading stands there already."""
    return day(str(sessions.place_after(after)[0])) if after else ""


def _sorted_by(here: Any, order: sessions.Order, column: SortColumn) -> str:
    """The address of the list sorted by a column; the other way round, if it is already."""
    first = "asc" if column.kind == "text" else "desc"
    turned = {"asc": "desc", "desc": "asc"}["desc" if order.descending else "asc"]
    return str(here(sort=column.sort, order=turned if order.by == column.sort else first))
