"""sessionlog tag."""

from __future__ import annotations

import click

from sessionlog.archive import lookup, notes
from sessionlog.cli.common import places, project_options
from sessionlog.cli.completion import session_ids
from sessionlog.cli.completion import tags as tags_offered
from sessionlog.cli.main import example
from sessionlog.errors import SessionlogError
from sessionlog.text import plain


@example("sessionlog tag last release", "sessionlog tag f0b8", "sessionlog tag f0b8 release --remove")
@click.command()
@click.argument("session", metavar="SESSION|HIT", shell_complete=session_ids)
@click.argument("tags", nargs=-1, metavar="[TAG]…", shell_complete=tags_offered)
@click.option("--remove", is_flag=True, help="Take these tags off.")
@project_options
def command(session: str, tags: tuple[str, ...], remove: bool, project: str | None, everywhere: bool) -> None:
    """Put tags on a session, or on a moment of it; without TAG, list them.

    A tag is a name for the session in every command: `sessionlog show release`. Tags are kept beside the archive.
    """
    if remove and not tags:
        raise click.UsageError("--remove needs a TAG.")
    place, session_id, moment = lookup.find_target(places(project, everywhere), session)
    target = f"{f'{moment} of ' if moment else ''}session {plain.safe(session_id[:8])}"
    before = notes.get(place, session_id, moment).tags
    if remove:
        if missing := [tag for tag in tags if tag not in before]:
            raise SessionlogError(f"{target} has no tag {missing[0]!r}{plain.did_you_mean(missing[0], before)}")
        notes.change(place, session_id, moment, remove_tags=tags)
    elif tags:
        notes.change(place, session_id, moment, add_tags=tags)
    found = notes.get(place, session_id, moment).tags
    if tags or not found:
        click.echo(f"Tags of {target}:" if found else f"No tags on {target}.", err=True)
    for tag in found:
        click.echo(plain.safe(tag))
