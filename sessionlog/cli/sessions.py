"""sessionlog sessions."""

from __future__ import annotations

import heapq
import itertools
import os
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import click

from sessionlog.archive import lookup, read
from sessionlog.archive.place import Place
from sessionlog.cli.common import json_option, places, print_json, project_options
from sessionlog.cli.main import example
from sessionlog.errors import SessionlogError
from sessionlog.session import live
from sessionlog.text import plain


@example("sessionlog sessions", "sessionlog sessions --all -n 50", "sessionlog sessions --json | jq '.[0]'")
@click.command()
@project_options
@click.option("-n", "--limit", default=20, show_default=True, help="How many; 0 for all.")
@json_option
def command(project: str | None, everywhere: bool, limit: int, as_json: bool) -> None:
    """List recorded sessions, newest first."""
    found = places(project, everywhere)
    rows = list(itertools.islice(_newest_first(found), limit or None))
    if as_json:
        print_json(rows)
        return
    if not rows:
        raise SessionlogError("no session has been recorded yet; try `sessionlog demo`")
    for row in rows:
        _print(row, everywhere)


def _newest_first(found: list[Place]) -> Iterator[dict[str, Any]]:
    def of_place(place: Place) -> Iterator[dict[str, Any]]:
        with closing(read.connect(place)) as connection:
            for row in lookup.sessions(connection):
                yield {**row, "project": place.project}

    # One project that has nothing yet is an error that says what to do; among many it is nothing.
    some = found if len(found) == 1 else [place for place in found if os.path.exists(place.db)]
    return heapq.merge(*map(of_place, some), key=lambda row: str(row["started_at"]), reverse=True)


def _print(row: dict[str, Any], with_project: bool) -> None:
    counts = f"{row['prompts']:>3} prompts {row['tool_calls']:>4} tools"
    failures = click.style(f" {row['failures']:>3} failed", fg="red") if row["failures"] else " " * 11
    project = f"  {plain.safe(os.path.basename(row['project']))}" if with_project else ""
    when = f"{plain.local_time(row['started_at'])}  {plain.duration((row['seconds'] or 0) * 1000):>7}"
    click.echo(
        click.style(plain.safe(row["session_id"][:8]), fg="yellow")
        + f"  {when}  {counts}{failures}"
        + click.style(project, fg="cyan")
        + (click.style("  live", fg="green") if live.is_live(row) else "")
        + f"  {plain.one_line(row['first_prompt'] or '', 60)}"
    )
