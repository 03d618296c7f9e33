"""sessionlog restore."""

from __future__ import annotations

from contextlib import closing

import click

from sessionlog import reading, terminal
from sessionlog.cli import example
from sessionlog.cli.common import json_option, places, print_json, project_options
from sessionlog.errors import SessionlogError
from sessionlog.transcripts.restore import Restored, restore

COLOURS = {"restored": "green", "to be restored": "green", "in the way": "red"}


@example("sessionlog restore f0b8", "sessionlog restore last --dry-run", "sessionlog restore f0b8 --to ./rescued")
@click.command()
@click.argument("session")
@click.option("--to", metavar="DIR", type=click.Path(file_okay=False), help="Write below DIR instead.")
@click.option("--dry-run", is_flag=True, help="Tell what would be written, and write nothing.")
@project_options
@json_option
def command(session: str, to: str | None, dry_run: bool, project: str | None, everywhere: bool, as_json: bool) -> None:
    """Write the transcripts of a session back to where Claude Code looks for them.

    SESSION is the start of its id, or `last`. The transcript and those of its sub-agents come back byte for byte, less
    the secrets that were redacted, so that `claude --resume` works again. A file that exists and differs is left alone.
    """
    found = reading.find_session(places(project, everywhere), session)
    with closing(reading.connect(found.place)) as connection:
        done = restore(connection, found.session["session_id"], to, dry_run)
    in_the_way = [file for file in done if file.state == "in the way"]
    if as_json:
        print_json([file._asdict() for file in done])
    else:
        for file in done:
            click.echo(_told(file))
        if not in_the_way and not dry_run and not to:
            folder = terminal.safe(found.session["cwd"] or found.place.project)
            click.echo(f"\nGo on with it:  cd {folder} && claude --resume {found.session['session_id']}")
    if in_the_way:
        raise SessionlogError(
            f"{terminal.counted(len(in_the_way), 'file')} there with other content and not touched; "
            "move them away, or restore with `--to DIR`"
        )


def _told(file: Restored) -> str:
    redacted = f", with {terminal.counted(file.replacements, 'secret')} redacted" if file.replacements else ""
    state = click.style(f"{file.state:<14}", fg=COLOURS.get(file.state))
    return f"{state}  {terminal.safe(file.path)}  ({file.bytes:,} bytes{redacted})"
