"""sessionlog tail."""

from __future__ import annotations

import os
import sys

import click

from sessionlog.archive import lookup, read
from sessionlog.ask.tail import Seen, Tail
from sessionlog.cli import event_line, terminal
from sessionlog.cli.common import (
    fail_if_none_option,
    json_option,
    nothing_found,
    places,
    print_json,
    project_options,
)
from sessionlog.cli.completion import client_option
from sessionlog.cli.main import example
from sessionlog.text import plain

# Columns: of the time, the event's name and its kind; of the session; of the project; the shortest text worth showing.
BESIDE, SESSION, PROJECT, SHORT_PROJECT, SHORTEST = 29, 10, 15, 9, 20


@example("sessionlog tail -f", "sessionlog tail --all -n 50", "sessionlog tail -f --json | jq .payload.tool_name")
@click.command()
@click.option("-f", "--follow", is_flag=True, help="Go on with new events as they come, until Ctrl+C.")
@click.option("-n", "--lines", default=20, show_default=True, type=click.IntRange(0), help="How many to begin with.")
@client_option
@project_options
@fail_if_none_option
@json_option
def command(
    follow: bool,
    lines: int,
    client: str | None,
    project: str | None,
    everywhere: bool,
    fail_if_none: bool,
    as_json: bool,
) -> None:
    """Print the last events of this project, one line each."""
    found = places(project, everywhere)
    with Tail(read.all_places if everywhere else lambda: found, client) as tail:
        last = tail.last(lines)
        if not last and lines and not follow:
            nothing_found(found, "nothing is recorded", fail_if_none, as_json)
        for seen in last:
            _print(seen, everywhere, as_json)
        sys.stdout.flush()
        for seen in tail.follow() if follow else ():
            _print(seen, everywhere, as_json)
            sys.stdout.flush()


def _print(seen: Seen, with_project: bool, as_json: bool) -> None:
    row = seen.row
    if as_json:
        print_json({**lookup.as_json(row), "session_id": row["session_id"], "project": seen.project}, indent=None)
        return
    line = event_line.line(row, live=True)
    # What happened is shown rather than whose it is.
    room = terminal.width() - BESIDE if sys.stdout.isatty() else 0
    is_narrow = bool(room) and room - (SESSION + PROJECT if with_project else SESSION) < SHORTEST
    size = (SHORT_PROJECT if is_narrow else PROJECT) - 1
    project = f"{plain.one_line(os.path.basename(seen.project), size):<{size}} " if with_project else ""
    session = "" if is_narrow else f"{plain.safe(row['session_id'][:8]):<8}  "
    terminal.print_line(
        click.style(plain.local_time(line.at, "%H:%M:%S"), dim=True)
        + click.style(f"  e{row['id']:<6} ", dim=True)
        + click.style(project, fg="cyan")
        + click.style(session, fg="yellow")
        + "  " * line.indent
        + click.style(f"{plain.one_line(line.kind, 11):<12}", fg=line.colour)
        + click.style(line.text, fg=line.colour if line.colour in ("red", "yellow") else None)
    )
