"""sessionlog path."""

from __future__ import annotations

import os

import click

from sessionlog.cli.common import json_option, places, print_json, project_options
from sessionlog.cli.main import example


@example("sqlite3 $(sessionlog path)", "sessionlog path --all --json")
@click.command()
@project_options
@json_option
def command(project: str | None, everywhere: bool, as_json: bool) -> None:
    """Print where the archive of this project is.

    The file need not exist yet: it is made with the first event.
    """
    found = places(project, everywhere)
    if as_json:
        rows = [{"project": place.project, "path": place.db, "exists": os.path.exists(place.db)} for place in found]
        print_json(rows if everywhere else rows[0])
        return
    for place in found:
        click.echo(place.db)
