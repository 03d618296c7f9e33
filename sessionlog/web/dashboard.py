"""The dashboard: when, with which tools and models, how well and how dearly."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from datetime import date, datetime, time, timedelta
from typing import Any, NamedTuple

from datasette.utils.asgi import Response

from sessionlog import times
from sessionlog.ask.rollup import open as rollup
from sessionlog.ask.rollup import sessions, stats
from sessionlog.errors import SessionlogError
from sessionlog.web import archives, charts, counting, filters
from sessionlog.web import page as pages
from sessionlog.web.kept import Kept

Row = dict[str, Any]

PERIODS = (("7d", "7 days"), ("30d", "30 days"), ("90d", "90 days"), ("365d", "a year"), ("all", "all time"))
DEFAULT = "30d"
# More bars than these are hard to tell apart: they stand for more time then.
MOST = 106
TOP = 12  # rows of a table
MODELS = 5  # with a colour of their own


_kept: Kept[Row] = Kept()


class Span(NamedTuple):
    """The time of one bar: a day, a week, a month or a year."""

    first: date
    last: date
    unit: str = "day"

    @property
    def label(self) -> str:
        """Below the bar."""
        day = f"{self.first.day} {self.first:%b}"
        return {"month": f"{self.first:%b %Y}", "year": f"{self.first:%Y}"}.get(self.unit, day)

    @property
    def text(self) -> str:
        """As one says it."""
        day = f"{self.first.day} {self.first:%b %Y}"
        return {"day": f"{self.first:%a} {day}", "week": f"week of {day}"}.get(self.unit, self.label)


class Chart(NamedTuple):
    """A chart, and its numbers for those who would rather read them."""

    title: str
    drawing: Any
    legend: Any
    columns: list[str]
    rows: list[tuple[Span, list[str]]]


def routes(datasette: Any) -> list[tuple[str, Any]]:
    return [(r"/-/dashboard$", page)]


async def page(datasette: Any, request: Any) -> Response:
    archives.look_again(datasette)
    name = request.args.get("project") or ""
    period = request.args.get("since") or DEFAULT
    found = archives.chosen(datasette, [name])
    begin = _begin(period)

    def question(counted: stats.Counted, sources: list[sessions.Source]) -> Row:
        if any(rollup.is_preview(source.connection) for source in sources):
            return {"charts": [], "is_preview": True}
        return _kept.answer((name, begin, date.today()), sources, lambda: _answers(counted, sources, begin, name))

    since = times.archive_text(datetime.combine(begin, time.min).astimezone()) if begin else ""
    answers = await archives.count(found, question, since)
    return await pages.render(
        datasette,
        request,
        "dashboard",
        project=name,
        period=period,
        periods=PERIODS,
        is_usual=period in dict(PERIODS),
        top=TOP,
        counting=counting.running(found),
        **answers,
    )


def _answers(counted: stats.Counted, sources: list[sessions.Source], begin: date | None, project: str) -> Row:
    total = stats.totals(counted)
    days = stats.activity(counted)
    models = stats.by_day_and_model(counted)
    known = [day for day in (*days, *(day for day, _ in models)) if day]
    if not known:
        return {"total": total, "charts": []}
    # Bars begin with the period, unless it is far longer than anything known.
    earliest = date.fromisoformat(min(known))
    unit, spans = _spans(max(begin, earliest - timedelta(days=MOST)) if begin else earliest, date.today())

    def link(span: Span) -> str:
        parts = ("sessions", project) if project else ("sessions",)
        return pages.address(*parts, since=span.first, until=span.last)

    tools = stats.tools(counted)
    timed = sorted((row for row in tools if row["timed"]), key=lambda row: -row["average"])
    names = {place: source.name for (place, _), source in zip(counted.connections, sources, strict=True)}
    files = [
        {**row, "project": names[row["place"]], "shown": row["path"].removeprefix(f"{row['place'].project}/")}
        for row in stats.by_file(counted, TOP)
    ]
    return {
        "total": total,
        "charts": [*_activity_charts(spans, days, link), *_model_charts(spans, models, link)],
        "hours": _hours(stats.by_hour(counted)),
        "tools": tools,
        "slowest": timed,
        "files": files,
        "models": stats.by_model(counted),
        "projects": _projects(counted, names) if len(sources) > 1 else [],
        "cache_share": _cache_share(total),
        "busiest": _busiest(days),
        "link": link,
        "unit": unit,
    }


def _projects(counted: stats.Counted, names: dict[Any, str]) -> list[Row]:
    """What each project cost, the costliest first."""
    found = [{**stats.totals(counted.only(place)), "project": names[place]} for place in counted.places]
    spent = [row for row in found if row["sessions"]]
    return sorted(spent, key=lambda row: (-(row["cost_usd"] or 0), -_tokens(row)))


def _cache_share(total: Row) -> float | None:
    """How much of what models read came from the cache."""
    read = sum(total[name] for name in ("input_tokens", "cache_read_tokens", "cache_write_tokens"))
    return total["cache_read_tokens"] / read if read else None


def _busiest(days: dict[str, Row]) -> tuple[date, int] | None:
    """The day with the most tool calls."""
    known = [(row["tools"], day) for day, row in days.items() if day and row["tools"]]
    return (date.fromisoformat(max(known)[1]), max(known)[0]) if known else None


def _activity_charts(spans: list[Span], days: dict[str, Row], link: Callable[[Span], str]) -> Iterable[Chart]:
    sums = _sums(spans, days.items(), ("sessions", "prompts", "tools", "failures"))
    links = tuple(link(span) if row["sessions"] else "" for span, row in sums)
    told = tuple(
        f"{span.text}: {filters.number(row['tools'])} tool calls, {filters.number(row['failures'])} failed, "
        f"{filters.number(row['prompts'])} prompts"
        for span, row in sums
    )
    fine = tuple(max(0, row["tools"] - row["failures"]) for _, row in sums)
    good = charts.Series("tool calls", fine, told, links, "c2")
    bad = charts.Series("failed", tuple(row["failures"] for _, row in sums), told, links, "failed")
    labels = [span.label for span in spans]
    title = "Activity"
    yield Chart(
        title,
        charts.bars("Tool calls over time", labels, [good, bad]),
        charts.legend([good, bad]),
        ["Prompts", "Tool calls", "Failed"],
        [(span, [filters.number(row[name]) for name in ("prompts", "tools", "failures")]) for span, row in sums],
    )
    rates = tuple(round(100 * min(1, row["failures"] / (row["tools"] or 1)), 1) for _, row in sums)
    texts = tuple(f"{span.text}: {rate}% failed" for (span, _), rate in zip(sums, rates, strict=True))
    rate = charts.Series("failed calls", rates, texts, links, "failed")
    yield Chart(
        "Failure rate",
        charts.bars("Share of tool calls that failed", labels, [rate], "percent"),
        charts.legend([rate]),
        ["Failed"],
        [(span, [f"{value}%"]) for (span, _), value in zip(sums, rates, strict=True)],
    )


def _model_charts(spans: list[Span], rows: dict[tuple[str, str], Row], link: Callable[[Span], str]) -> Iterable[Chart]:
    """Tokens and cost, a colour for each model."""
    weight: dict[str, float] = {}
    for (_, model), row in rows.items():
        weight[model] = weight.get(model, 0) + _tokens(row)
    ranked = sorted(weight, key=lambda model: -weight[model])
    groups = [[model] for model in ranked[:MODELS]] + ([ranked[MODELS:]] if ranked[MODELS:] else [])
    labels = [span.label for span in spans]
    for title, unit, measure, shown in (
        ("Tokens", "number", _tokens, filters.amount),
        ("Cost", "dollars", lambda row: row.get("cost_usd") or 0, filters.dollars),
    ):
        series = []
        for number, group in enumerate(groups, 1):
            name = filters.line(group[0], 40) if len(group) == 1 else f"{len(group)} more models"
            days = [(day, {"value": measure(row)}) for (day, model), row in rows.items() if model in group]
            sums = _sums(spans, days, ("value",))
            values = tuple(row["value"] for _, row in sums)
            texts = tuple(f"{span.text}: {shown(row['value'])}, {name}" for span, row in sums)
            links = tuple(link(span) if row["value"] else "" for span, row in sums)
            if any(values):  # a model without a price has no cost
                series.append(charts.Series(name, values, texts, links, f"c{number}"))
        if series:
            yield Chart(
                title,
                charts.bars(f"{title} over time, by model", labels, series, unit),
                charts.legend(series),
                [one.name for one in series],
                [(span, [shown(one.values[place]) for one in series]) for place, span in enumerate(spans)],
            )


def _sums(
    spans: list[Span], days: Iterable[tuple[str, Row]], names: tuple[str, ...]
) -> list[tuple[Span, dict[str, Any]]]:
    """What the rows of days come to in each span."""
    sums: list[dict[str, Any]] = [dict.fromkeys(names, 0) for _ in spans]
    starts = [str(span.first) for span in spans]
    for day, row in days:
        place = bisect_right(starts, day) - 1
        if place >= 0 and day <= str(spans[place].last):
            for name in names:
                sums[place][name] += row[name] or 0
    return list(zip(spans, sums, strict=True))


def _spans(first: date, last: date) -> tuple[str, list[Span]]:
    """The days; or the weeks, months or years, if there are many. And which of them."""
    first = min(first, last)
    for unit in ("day", "week", "month", "year"):
        starts = [_start(first, unit)]
        while (following := _next(starts[-1], unit)) <= last and len(starts) <= MOST:
            starts.append(following)
        if len(starts) <= MOST or unit == "year":
            break
    return unit, [Span(start, _next(start, unit) - timedelta(days=1), unit) for start in starts]


def _start(day: date, unit: str) -> date:
    match unit:
        case "week":
            return day - timedelta(days=day.weekday())
        case "month":
            return day.replace(day=1)
        case "year":
            return day.replace(month=1, day=1)
    return day


def _next(start: date, unit: str) -> date:
    match unit:
        case "week":
            return start + timedelta(weeks=1)
        case "month":
            return (start + timedelta(days=31)).replace(day=1)
        case "year":
            return start.replace(year=start.year + 1)
    return start + timedelta(days=1)


def _hours(hours: dict[tuple[int, int], Row]) -> list[tuple[str, list[tuple[int, int]]]]:
    """Each day of the week with its hours: how many tool calls, and how dark that is, from 0 to 4."""
    most = max((row["tools"] for row in hours.values()), default=0)

    def field(weekday: int, hour: int) -> tuple[int, int]:
        count = hours.get((weekday, hour), {}).get("tools", 0)
        return count, -(-4 * count // most) if most else 0

    names = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
    return [(name, [field(weekday, hour) for hour in range(24)]) for weekday, name in enumerate(names)]


def _tokens(row: Row) -> int:
    names = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
    return sum(row.get(name) or 0 for name in names)


def _begin(period: str) -> date | None:
    """The first day of a period: as `times` reads it, on this machine's clock."""
    if period == "all":
        return None
    try:
        return times.moment(times.parse(period)).astimezone().date() + timedelta(days=period[-1:] == "d")
    except (ValueError, OverflowError):
        raise SessionlogError(f"{period!r} is no time") from None
