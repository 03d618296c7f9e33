"""sessionlog audit."""

from __future__ import annotations

import itertools
import os
from typing import Any

import click

from sessionlog import audit, reading, terminal
from sessionlog.cli import example
from sessionlog.cli.common import json_option, places, print_json, project_options

SHOWN_ROWS = 8


@example("sessionlog audit", "sessionlog audit gaps", "sessionlog audit gaps --all --json | jq 'length'")
@click.command()
@click.argument("question", required=False)
@project_options
@json_option
def command(question: str | None, project: str | None, everywhere: bool, as_json: bool) -> None:
    """Ask the archive a question; without QUESTION, list those that there are.

    The same questions are canned queries in Datasette.
    """
    if question is None:
        found = audit.queries().values()
        if as_json:
            print_json([query._asdict() for query in found])
        for query in () if as_json else found:
            click.echo(f"{click.style(query.name, fg='yellow')}  {query.title}\n    {query.description}")
        return
    rows: list[dict[str, Any]] = []
    for place in places(project, everywhere):
        if everywhere and not os.path.exists(place.db):
            continue
        rows += [{"project": place.project, **row} for row in audit.ask(reading.connect(place), question)]
    if as_json:
        print_json(rows)
    elif not rows:
        click.secho("Nothing found.", fg="green")
    else:
        _print(rows, everywhere)


def _print(rows: list[dict[str, Any]], with_project: bool) -> None:
    """A heading for each project and session, a line for each row, the first of many."""
    for (project, session_id), group in itertools.groupby(rows, lambda row: (row["project"], row.get("session_id"))):
        heading = f"session {session_id}" if session_id else ""
        click.secho(" ".join(filter(None, (terminal.safe(project) if with_project else "", heading))), fg="yellow")
        some = list(group)
        for row in some[:SHOWN_ROWS]:
            row.pop("project"), row.pop("session_id", None)
            values = [str(value) for value in row.values() if value is not None]
            click.echo(f"  {terminal.one_line('  '.join(values), 140)}")
        if len(some) > SHOWN_ROWS:
            click.echo(f"  … and {len(some) - SHOWN_ROWS:,} more (--json lists all)")
