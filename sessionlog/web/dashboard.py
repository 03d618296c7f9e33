"""The dashboard: when, with which tools and models, how well and how dearly."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date, datetime, time, timedelta
from typing import Any, NamedTuple

from datasette.utils.asgi import Response

from sessionlog import stats, when
from sessionlog.digest import listing
from sessionlog.errors import SessionlogError
from sessionlog.web import archives, charts, pages, words

Row = dict[str, Any]

PERIODS = (("7d", "7 days"), ("30d", "30 days"), ("90d", "90 days"), ("365d", "a year"), ("all", "all time"))
DEFAULT = "30d"
# More bars than these are hard to tell apart: weeks are drawn then.
MOST_DAYS = 92
TOP = 12  # rows of a table
MODELS = 5  # with a colour of their own


class Span(NamedTuple):
    """A day, or a week, as one bar."""

    first: date
    last: date

    @property
    def label(self) -> str:
        return f"{self.first:%b} {self.first.day}"

    @property
    def text(self) -> str:
        """As one says it."""
        if self.first == self.last:
            return f"{self.first:%a}, {self.first:%b} {self.first.day}, {self.first.year}"
        return f"week of {self.first:%b} {self.first.day}, {self.first.year}"


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

    def question(counted: stats.Counted, sources: list[listing.Source]) -> Row:
        return _answers(counted, sources, begin, name)

    since = when.archive_text(datetime.combine(begin, time.min).astimezone()) if begin else ""
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
        **answers,
    )


def _answers(counted: stats.Counted, sources: list[listing.Source], begin: date | None, project: str) -> Row:
    total = stats.totals(counted)
    days = stats.activity(counted)
    models = stats.by_day_and_model(counted)
    known = [day for day in (*days, *(day for day, _ in models)) if day]
    if not known:
        return {"total": total, "charts": []}
    spans = _spans(begin or date.fromisoformat(min(known)), date.today())

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
        "link": link,
        "weekly": bool(spans) and spans[0].first != spans[0].last,
    }


def _activity_charts(spans: list[Span], days: dict[str, Row], link: Callable[[Span], str]) -> Iterable[Chart]:
    sums = _sums(spans, days.items(), ("sessions", "prompts", "tools", "failures"))
    links = tuple(link(span) if row["sessions"] else "" for span, row in sums)
    told = tuple(
        f"{span.text}: {words.number(row['tools'])} tool calls, {words.number(row['failures'])} failed, "
        f"{words.number(row['prompts'])} prompts"
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
        [(span, [words.number(row[name]) for name in ("prompts", "tools", "failures")]) for span, row in sums],
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
        ("Tokens", "number", _tokens, words.short),
        ("Cost", "dollars", lambda row: row.get("cost_usd") or 0, words.dollars),
    ):
        series = []
        for number, group in enumerate(groups, 1):
            name = words.line(group[0], 40) if len(group) == 1 else f"{len(group)} more models"
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
    length = (spans[0].last - spans[0].first).days + 1
    for day, row in days:
        place = (date.fromisoformat(day) - spans[0].first).days // length if day else -1
        if 0 <= place < len(spans):
            for name in names:
                sums[place][name] += row[name] or 0
    return list(zip(spans, sums, strict=True))


def _spans(first: date, last: date) -> list[Span]:
    """The days; weeks from Monday on, if there are many."""
    first = min(first, last)
    if (last - first).days < MOST_DAYS:
        return [Span(day, day) for day in (first + timedelta(days=n) for n in range((last - first).days + 1))]
    monday = first - timedelta(days=first.weekday())
    weeks = (last - monday).days // 7 + 1
    starts = (monday + timedelta(weeks=number) for number in range(weeks))
    return [Span(start, start + timedelta(days=6)) for start in starts]


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
    """The first day of a period: as `when` reads it, on this machine's clock."""
    if period == "all":
        return None
    try:
        return when.moment(when.parse(period)).astimezone().date() + timedelta(days=period[-1:] == "d")
    except (ValueError, OverflowError):
        raise SessionlogError(f"{period!r} is no time") from None
