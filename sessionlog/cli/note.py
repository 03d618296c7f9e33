"""sessionlog note."""

from __future__ import annotations

import click

from sessionlog.archive import lookup, notes
from sessionlog.cli.common import places, project_options
from sessionlog.cli.completion import session_ids
from sessionlog.cli.main import example
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
    target = f"{f'{moment} of ' if moment else ''}session {plain.safe(session_id[:8])}"
    found = notes.get(place, session_id, moment).note
    if text:
        notes.change(place, session_id, moment, note=" ".join(text))
        click.echo(f"Noted on {target}.", err=True)
    elif not found:
        click.echo(f"No note on {target}.", err=True)
    elif remove:
        notes.change(place, session_id, moment, note="")
        click.echo(f"Removed the note on {target}.", err=True)
    else:
        click.echo(plain.safe(found))
