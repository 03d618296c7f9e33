"""`sessionlog merge`: take other archives in."""

from __future__ import annotations

import click

from sessionlog.archive import read
from sessionlog.archive.place import Place, waiting_spools
from sessionlog.cli.dialogue import confirm, note
from sessionlog.cli.main import example
from sessionlog.maintain import merge
from sessionlog.text import plain

NOUNS = {"sessions": "session", "events": "event", "messages": "message", "transcripts": "transcript", "notes": "note"}


@example("sessionlog merge laptop.db --dry-run", "sessionlog merge old/*.db --into ~/shop --yes")
@click.command("merge")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path())
@click.option("--into", metavar="DIR", type=click.Path(), help="The project in DIR instead of the one we are in.")
@click.option("--dry-run", is_flag=True, help="Show what would come in and write nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def command(files: tuple[str, ...], into: str | None, dry_run: bool, yes: bool) -> None:
    """Add other archives to this one: of a moved project, of another machine, from a backup.

    What is here already is recognised, so merging an archive again adds nothing. The other archives are only read.
    """
    place = read.place_of(into, may_be_new=True)
    read.bring_up_to_date(place)
    for file in files:
        for spool in waiting_spools(Place(place.home, "", file))[:1]:
            note(f"events wait in {spool} and are not merged; `sessionlog sessions` in that project stores them.")
    found = merge.preview(place, list(files))
    for file, summary in zip(files, found, strict=True):
        click.echo(f"{plain.safe(file)}: {_told(summary)}")
    if not any(found):
        return
    if dry_run:
        click.echo("Dry run: nothing was written.")
        return
    confirm(f"Merge into {place.db}?", yes)
    merge.run(place, list(files))
    click.secho(f"Merged into the archive of {plain.path(place.project)}.", fg="green")


def _told(summary: merge.Summary) -> str:
    return ", ".join(plain.counted(summary[key], noun) for key, noun in NOUNS.items() if summary[key]) or "nothing new"
