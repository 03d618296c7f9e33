"""`sessionlog backup`: copy a live archive."""

from __future__ import annotations

import os

import click

from sessionlog.archive import read
from sessionlog.cli.common import places, project_options
from sessionlog.cli.main import example
from sessionlog.errors import SessionlogError
from sessionlog.maintain import backup
from sessionlog.text import plain


@example(
    "sessionlog backup shop.db", "sessionlog backup --all /media/usb/sessionlog", "sessionlog backup --force shop.db"
)
@click.command("backup")
@click.argument("target", metavar="FILE", type=click.Path())
@project_options
@click.option("--force", is_flag=True, help="Replace a file that is there.")
def command(target: str, project: str | None, everywhere: bool, force: bool) -> None:
    """Copy the archive to FILE, as it is at this moment; sessions may go on.

    With --all, FILE is a folder for the archives of all projects. The copy is checked, and readable by you alone. It is
    an archive itself: `sessionlog merge` takes it in again.
    """
    found = [place for place in places(project, everywhere) if os.path.exists(place.db)]
    if not found:
        read.connect(read.place_of(project)).close()  # says that there is nothing, and what to do
    if everywhere:
        os.makedirs(target, mode=0o700, exist_ok=True)
    elif os.path.isdir(target):
        raise SessionlogError(f"{target} is a folder; name a file in it")
    for place in found:
        path = os.path.join(target, os.path.basename(place.db)) if everywhere else target
        size = backup.backup(place, path, force)
        click.secho(f"Copied {plain.path(place.project)} to {path}, {plain.size(size)}.", fg="green")
