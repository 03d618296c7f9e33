"""sessionlog note."""

from __future__ import annotations

import click

from sessionlog.archive import lookup, notes
from sessionlog.cli.common import places, project_options
from sessionlog.cli.completion import session_ids
from sessionlog.cli.main import example
from sessionlog.errors import SessionlogError
from sessionlog.text import plain


@example(
    "sessionlog note last 'the fix for the discount'",
    "sessionlog note e1234 'why did this fail?'",
    "sessionlog note f0b8",
)
@click.command()
@click.argument("session", metavar="SESSION|HIT", shell_complete=session_ids)
@click.argument("text", nargs=-1, metavar="[TEXT]…")
@click.option("--remove", is_flag=True, help="Remove the note.")
@project_options
def command(session: str, text: tuple[str, ...], remove: bool, project: str | None, everywhere: bool) -> None:
    """Write a note on a session, or on a moment of it (e1234); without TEXT, print it.

    Notes are shown by `show`, found by `search`, and kept beside the archive.
    """
    if remove and text:
        raise click.UsageError("--remove takes no TEXT.")
    place, session_id, moment = lookup.find_target(places(project, everywhere), session)
    if remove or text:
        notes.change(place, session_id, moment, note=" ".join(text))
        done = "Removed the note" if remove else "Noted"
        click.echo(f"{done} on {moment or 'session'} {plain.safe(session_id[:8])}.", err=True)
        return
    found = notes.get(place, session_id, moment)
    if not found.note:
        raise SessionlogError(f"there is no note on {session}")
    click.echo(plain.safe(found.note))
