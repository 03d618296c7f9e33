"""sessionlog sessions."""

from __future__ import annotations

import os
import re
from typing import Any

import click

from sessionlog.archive.place import Place
from sessionlog.ask.rollup import open as rollup
from sessionlog.ask.rollup import sessions, stats
from sessionlog.ask.rollup.build import SORTS
from sessionlog.cli import counting, table, terminal
from sessionlog.cli.common import (
    When,
    fail_if_none_option,
    json_option,
    limit_option,
    nothing_found,
    places,
    print_json,
    project_options,
    since_option,
    unknown_value,
)
from sessionlog.cli.completion import client_option, recorded_values
from sessionlog.cli.main import example
from sessionlog.session import live
from sessionlog.text import plain

Row = dict[str, Any]

# Sorted from A to Z; numbers and times begin with the largest.
ASCENDING = ("branch", "model", "title")
# The shortest title worth showing; other columns give way to it.
SHORTEST_TITLE = 24
SHORT_TIME = "%m-%d %H:%M"


class Cost(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A comparison with a number of dollars: '>1', '<=0.5'."""

    name = "cost"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, float]:
        match = re.fullmatch(r"\s*(>=|<=|>|<|=)\s*\$?\s*(\d+(?:\.\d+)?)\s*", value)
        if not match:
            self.fail(f"{value!r} is not a comparison; write '>1' or '<=0.50'", param, ctx)
        return match[1], float(match[2])


@example(
    "sessionlog sessions",
    "sessionlog sessions --all --since 7d --failed",
    "sessionlog sessions --file '*.py' --branch main",
    "sessionlog sessions --cost '>1' --sort cost",
    "sessionlog sessions --json | jq '.[0]'",
)
@click.command()
@project_options
@since_option
@click.option("--until", type=When(), help="Only sessions before then.")
@click.option("--branch", shell_complete=recorded_values, help="Sessions on this git branch.")
@click.option("--model", shell_complete=recorded_values, help="Sessions with this model; a part of its name is enough.")
@client_option
@click.option("--tool", shell_complete=recorded_values, help="Sessions that called this tool, such as Bash.")
@click.option("--file", metavar="GLOB", help="Sessions that changed these files, such as '*.py'.")
@click.option("--failed", is_flag=True, help="Sessions in which something failed.")
@click.option("--cost", type=Cost(), metavar="'>N'", help="Sessions that cost more or less: '>1', '<=0.50'.")
@click.option("--text", help="Sessions with this in their title or first prompt.")
@click.option("--sort", type=click.Choice(list(SORTS)), default="started", show_default=True, help="What comes first.")
@click.option("--reverse", is_flag=True, help="The other way round.")
@limit_option("sessions")
@click.option(
    "--wait/--no-wait",
    default=None,
    help="Wait until all events are counted, or list the sessions at once without costs. Default: wait with --json, "
    f"with --fail-if-none, with -n above {rollup.PREVIEW_PROMPTS}, and if a filter or the order needs the counts.",
)
@fail_if_none_option
@json_option
def command(
    project: str | None,
    everywhere: bool,
    sort: str,
    reverse: bool,
    limit: int,
    wait: bool | None,
    fail_if_none: bool,
    as_json: bool,
    **filters: Any,
) -> None:
    """List recorded sessions, newest first."""
    asked = places(project, everywhere)
    found = [place for place in asked if os.path.exists(place.db)]
    wanted = sessions.Filters(**{name: value for name, value in filters.items() if value is not None})
    order = sessions.Order(sort, (sort not in ASCENDING) is not reverse)
    without_waiting = counting.WithoutWaiting()
    if wait is None:
        is_long = not 0 < limit <= rollup.PREVIEW_PROMPTS
        wait = as_json or fail_if_none or is_long or _depends_on_counts(wanted, sort)
    with stats.Counted(found, connect=counting.wait if wait else without_waiting.connect) as counted:
        sources = [sessions.Source(place.name, connection) for place, connection in counted.connections]
        rows = sessions.page(sources, wanted, order, None, limit or sessions.count(sources, wanted)).rows
        by_name = {place.name: place for place in found}
        if as_json:
            connections = {source.name: source.connection for source in sources}
            print_json([_as_json(row, by_name[row["project"]], connections[row["project"]]) for row in rows])
        has_several_clients = len(sessions.clients(sources)) > 1
    if rows and not as_json:
        _print(rows, by_name if everywhere else {}, has_several_clients)
    if without_waiting.count_the_rest():
        missing = "Sessions may be missing" if _depends_on_counts(wanted, sort) else "Costs are missing"
        terminal.say(without_waiting.sentence(missing), fg="yellow")
    if not rows:
        unknown = unknown_value(found, tool=wanted.tool, branch=wanted.branch)
        none = f"no sessions match{unknown}" if any(wanted) else "no sessions are recorded"
        nothing_found(asked, none, fail_if_none, as_json)


def _depends_on_counts(wanted: sessions.Filters, sort: str) -> bool:
    """Whether the archive alone cannot tell which sessions are to be listed."""
    return bool(wanted.tool or wanted.file or wanted.cost or wanted.text) or sort in ("tokens", "cost", "title")


def _as_json(row: Row, place: Place, connection: Any) -> Row:
    """All that the archive knows of a session, with its tokens and cost."""
    summary = connection.execute(
        "SELECT * FROM archive.session_summary WHERE session_id = ?", (row["session_id"],)
    ).fetchone()
    return {
        **summary,
        "tokens": row["tokens"],
        "cost_usd": row["cost_usd"],
        "unpriced_tokens": row["unpriced_tokens"],
        "project": place.project,
    }


def _print(rows: list[Row], projects: dict[str, Place], with_client: bool) -> None:
    """A line per session: what does not fit the terminal is left out, from the least important on."""
    cells = [_cells(row, projects, with_client) for row in rows]
    names = [name for name in cells[0] if any(row[name] for row in cells)]
    widths = {name: max(table.display_width(row[name]) for row in cells) for name in names}
    width = terminal.width()
    for name in ("cost", "took", "project", "client", "tools", "prompts"):
        if sum(widths.values()) + 2 * len(widths) + SHORTEST_TITLE > width:
            widths.pop(name, None)
    if sum(widths.values()) + 2 * len(widths) + SHORTEST_TITLE > width:  # then the year, too
        for row, row_cells in zip(rows, cells, strict=True):
            row_cells["at"] = plain.local_time(row["started_at"], SHORT_TIME)
        widths["at"] = max(table.display_width(row_cells["at"]) for row_cells in cells)
    room = max(width - sum(widths.values()) - 2 * len(widths), 1)
    for row, row_cells in zip(rows, cells, strict=True):
        parts = [
            click.style(table.pad(text, size, right=name in NUMBERS), fg=COLOURS.get(name)) if text else " " * size
            for name, size in widths.items()
            for text in [row_cells[name]]
        ]
        # A title may contain newlines and escape sequences.
        title = plain.one_line(row["title"] or row["first_prompt"] or "", max(room, 20))
        click.echo("  ".join([*parts, table.cut(title, room)]).rstrip())


NUMBERS = ("took", "prompts", "tools", "failed", "cost")
COLOURS = {"id": "yellow", "failed": "red", "project": "cyan", "client": "magenta", "live": "green"}


def _cells(row: Row, projects: dict[str, Place], with_client: bool) -> dict[str, str]:
    place = projects.get(row["project"])
    return {
        "id": plain.safe(row["session_id"][:8]),
        "at": plain.local_time(row["started_at"]),
        "took": plain.duration(row["seconds"] * 1000) if row["seconds"] else "",
        "prompts": plain.counted(row["prompts"], "prompt"),
        "tools": plain.counted(row["tool_calls"], "call"),
        "failed": f"{row['failures']:,} failed" if row["failures"] else "",
        "cost": plain.cost(row["cost_usd"] or None, row["unpriced_tokens"]),
        "project": plain.one_line(os.path.basename(place.project), 24) if place else "",
        "client": plain.one_line(row["client"], 16) if with_client else "",
        "live": "live" if live.is_live(row) else "",
    }
