"""Small drawings that stand in a page: a calendar of days, a row of bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any, NamedTuple

from markupsafe import Markup

Row = dict[str, Any]

LEVELS = 4


class Day(NamedTuple):
    """A field of the calendar."""

    day: date
    level: int  # 0 is nothing, 4 what only the busiest days have
    row: Row


class Calendar(NamedTuple):
    """A year as weeks stand side by side: seven rows, a column for each week; None lies outside."""

    rows: list[list[Day | None]]
    months: list[tuple[str, int]]  # their names, and over how many weeks each stands


def calendar(days: Mapping[str, Row], last: date, measure: str = "tools", weeks: int = 53) -> Calendar:
    """The weeks up to a day. Levels are quarters of the busy days: one wild day does not make the others pale."""
    first = last - timedelta(days=last.weekday(), weeks=weeks - 1)
    counts = sorted(row[measure] for key, row in days.items() if str(first) <= key <= str(last) and row.get(measure))
    limits = [counts[len(counts) * share // LEVELS] for share in range(1, LEVELS)] if counts else []
    columns = []
    for week in range(weeks):
        monday = first + timedelta(weeks=week)
        fields = [monday + timedelta(days=number) for number in range(7)]
        columns.append([_field(day, days, measure, limits) if day <= last else None for day in fields])
    months: list[tuple[str, int]] = []
    for column in columns:
        name = f"{column[0].day:%b}" if column[0] else ""
        if months and months[-1][0] == name:
            months[-1] = (name, months[-1][1] + 1)
        else:
            months.append((name, 1))
    return Calendar([list(row) for row in zip(*columns, strict=True)], months)


def bars(values: Sequence[float], width: int, height: int, label: str) -> Markup:
    """A row of bars without axes, as high as the highest; a stump where something was, and a dot where nothing."""
    most = max(values, default=0) or 1
    step = width / max(len(values), 1)
    parts = [
        Markup('<svg class="bars" viewBox="0 0 {} {}" width="{}" height="{}" role="img" aria-label="{}">').format(
            width, height, width, height, label
        )
    ]
    for number, value in enumerate(values):
        tall = max(2.0, value / most * height) if value else 1.0
        parts.append(
            Markup('<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="1"{}/>').format(
                number * step, height - tall, max(step - 1.5, 1), tall, "" if value else Markup(' class="none"')
            )
        )
    return Markup("").join([*parts, Markup("</svg>")])


def _field(day: date, days: Mapping[str, Row], measure: str, limits: list[int]) -> Day:
    row = days.get(str(day), {})
    count = row.get(measure) or 0
    level = 1 + sum(count > limit for limit in limits) if count else min(1, row.get("sessions") or 0)
    return Day(day, level, row)
