"""sessionlog stats."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

import click

from sessionlog.ask.rollup import stats
from sessionlog.cli import counting, table, terminal
from sessionlog.cli.common import When, json_option, nothing_found, places, print_json, project_options
from sessionlog.cli.completion import client_option
from sessionlog.cli.main import example
from sessionlog.text import plain

Row = dict[str, Any]

BLOCKS = " ▏▎▍▌▋▊▉█"
BAR = 40
LONGEST_GAP = 366  # days without an event that are shown one by one
# The shortest bar worth drawing.
SHORTEST = 6
# How many tools an overview shows.
TOP = 10

TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
ACTIVITY = ("sessions", "prompts", "tools", "failures", "files", "tokens", "cost")
# The columns of each table, and what its bars measure.
SHOWN = {
    **dict.fromkeys(("day", "week", "month", "branch", "client"), (ACTIVITY, "tools")),
    "project": (ACTIVITY, "tools"),
    "model": (("sessions", "answers", "input", "output", "cached", "cost"), "output_tokens"),
    "tool": (("sessions", "tools", "failures", "time"), "tools"),
}
# On a narrow terminal, these columns are left out first.
DISPENSABLE = ("files", "cached", "answers", "sessions", "input", "time", "prompts", "tokens", "failures")
NARROWEST_LABEL = 12
HEADINGS = {"tools": "calls", "failures": "failed"}


@example(
    "sessionlog stats",
    "sessionlog stats --since 7d --by tool",
    "sessionlog stats --since 365d --by month",
    "sessionlog stats --all --by project --json",
)
@click.command()
@click.option("--since", type=When(), default="30d", show_default=True, help="From when on: 24h, 7d, a date.")
@click.option("--by", type=click.Choice(list(stats.BY)), help="Only this table, with all its rows.")
@client_option
@project_options
@json_option
def command(
    since: str, by: str | None, client: str | None, project: str | None, everywhere: bool, as_json: bool
) -> None:
    """Count sessions, prompts, tool calls, failures, changed files, tokens and cost.

    Tokens come from transcripts (`sessionlog import`). A model without a known price shows tokens and no cost.
    """
    asked = places(project, everywhere)
    found = [place for place in asked if os.path.exists(place.db)]
    with stats.Counted(found, since, client, counting.wait) as counted:
        if as_json:
            print_json(stats.BY[by](counted) if by else _everything(counted))
        elif not any(stats.totals(counted)[name] for name in (*stats.ACTIVITY, *stats.USAGE)):
            nothing_found(asked, f"nothing was recorded since {plain.local_time(since)}; try a longer --since", False)
        elif by:
            _print(by, stats.BY[by](counted))
        else:
            _print_overview(counted, everywhere)


def _everything(counted: stats.Counted) -> Row:
    return {
        "since": counted.since,
        "totals": stats.totals(counted),
        **{f"by_{name}": collect(counted) for name, collect in stats.BY.items()},
    }


def _print_overview(counted: stats.Counted, everywhere: bool) -> None:
    total, since = stats.totals(counted), counted.since
    counts = [(total["sessions"], "session"), (total["prompts"], "prompt"), (total["tools"], "tool call")]
    parts = [plain.counted(*count) for count in counts]
    parts += [click.style(f"{total['failures']:,} failed", fg="red")] if total["failures"] else []
    parts += [
        f"{plain.counted(total['files'], 'file')} changed",
        f"{_amount(_tokens(total))} tokens" if _tokens(total) else "",
        plain.cost(total["cost_usd"], total["unpriced_tokens"]),
    ]
    parts[0] = click.style(f"Since {plain.local_time(since)}: ", bold=True) + parts[0]
    terminal.print_parts(list(filter(None, parts)))
    for name in ("day", *(["project"] if everywhere else []), "client", "model", "tool"):
        rows = stats.BY[name](counted)
        if rows and (name != "client" or len(rows) > 1):
            click.echo()
            _print(name, rows[:TOP] if name == "tool" else rows)


def _print(by: str, rows: list[Row]) -> None:
    """A table with a bar at the end of each row."""
    if not rows:
        return
    columns, measure = SHOWN[by]
    rows = list(_every_day(rows)) if by == "day" else rows
    label = max(len(by), *(table.display_width(_label(by, row)) for row in rows))
    sizes = {
        column: max(len(HEADINGS.get(column, column)), *(len(_cell(column, row)) for row in rows)) for column in columns
    }
    for column in DISPENSABLE:
        if terminal.width() - sum(sizes.values()) - 2 * len(sizes) < min(label, NARROWEST_LABEL) + 2:
            sizes.pop(column, None)
    columns, widths = tuple(sizes), list(sizes.values())
    cells = [[_cell(column, row) for column in columns] for row in rows]
    headings = [HEADINGS.get(column, column) for column in columns]
    room = terminal.width() - sum(widths) - 2 * len(widths) - 2
    label = min(label, max(NARROWEST_LABEL, room - SHORTEST))
    longest = min(BAR, room - label) if room - label >= SHORTEST else 0
    most = max(row[measure] for row in rows)
    heading = "  ".join(name.rjust(width) for name, width in zip(headings, widths, strict=True))
    click.secho(f"{by.ljust(label)}  {heading}", dim=True)
    for row, values in zip(rows, cells, strict=True):
        line = "  ".join(
            click.style(value.rjust(width), fg="red" if column == "failures" and row["failures"] else None)
            for column, value, width in zip(columns, values, widths, strict=True)
        )
        bar = _bar(row[measure] / most if most else 0, longest)
        drawn = f"  {click.style(bar, fg='cyan')}" if bar else ""
        text = _label(by, row)
        # On a narrow terminal a day without its weekday says more than one that is cut.
        click.echo(f"{table.pad(text if by != 'day' or len(text) <= label else text[:10], label)}  {line}{drawn}")


def _every_day(rows: list[Row]) -> Iterator[Row]:
    """Days without events are shown too, unless the gap is long: then a wrong clock is likely."""
    days = {row["day"]: row for row in rows}
    empty = dict.fromkeys(rows[0], 0) | {"cost_usd": None}
    yield from (days.pop("") for _ in range("" in days))
    before: date | None = None
    for text in sorted(days):
        day = date.fromisoformat(text)
        gap = (day - before).days if before else 1
        if before and gap <= LONGEST_GAP:
            yield from ({**empty, "day": str(before + timedelta(days=passed))} for passed in range(1, gap))
        yield days[text]
        before = day


def _label(by: str, row: Row) -> str:
    text = table.cell(row[by]) or "unknown"
    return f"{text} {date.fromisoformat(text):%a}" if by == "day" and row[by] else text


def _cell(column: str, row: Row) -> str:
    match column:
        case "tokens":
            return _amount(_tokens(row))
        case "input":
            return _amount(row["input_tokens"])
        case "output":
            return _amount(row["output_tokens"])
        case "cached":
            return _amount(row["cache_read_tokens"] + row["cache_write_tokens"])
        case "cost":
            return plain.cost(row["cost_usd"], row["unpriced_tokens"])
        case "time":
            return plain.duration(row["milliseconds"]) if row["milliseconds"] else ""
    return f"{row[column]:,}" if row[column] else "-"


def _tokens(row: Row) -> int:
    return sum(row[name] for name in TOKENS)


def _amount(number: int) -> str:
    return plain.amount(number) if number else "-"


def _bar(share: float, longest: int) -> str:
    """A bar in eighths of a character, or in # where the output has no block characters."""
    try:
        BLOCKS.encode(sys.stdout.encoding or "ascii")
    except (LookupError, UnicodeEncodeError):
        return "#" * round(share * longest)
    eighths = max(round(share * longest * 8), 1 if share and longest else 0)
    return BLOCKS[8] * (eighths // 8) + BLOCKS[eighths % 8].strip()
