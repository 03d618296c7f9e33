"""sessionlog restore."""

from __future__ import annotations

import shlex
from contextlib import closing

import click

from sessionlog.archive import lookup, read
from sessionlog.cli.common import json_option, places, print_json, project_options
from sessionlog.cli.completion import session_ids
from sessionlog.cli.dialogue import note
from sessionlog.cli.main import example
from sessionlog.errors import SessionlogError
from sessionlog.text import plain
from sessionlog.transcripts.restore import Restored, restore

COLOURS = {"restored": "green", "to be restored": "green", "differs": "red"}


@example("sessionlog restore f0b8", "sessionlog restore last --dry-run", "sessionlog restore f0b8 --to ./rescued")
@click.command()
@click.argument("session", shell_complete=session_ids)
@click.option("--to", metavar="DIR", type=click.Path(file_okay=False), help="Write below DIR instead.")
@click.option("--versions", is_flag=True, help="With --to: every archived version of each file, the fullest first.")
@click.option("--dry-run", is_flag=True, help="Tell what would be written, and write nothing.")
@project_options
@json_option
def command(
    session: str,
    to: str | None,
    versions: bool,
    dry_run: bool,
    project: str | None,
    everywhere: bool,
    as_json: bool,
) -> None:
    """Write the transcripts of a session back to where Claude Code looks for them.

    SESSION is the start of its id, or `last`. The transcript and those of its sub-agents come back byte for byte, less
    the secrets that were redacted, so that `claude --resume` works again. A file that exists and differs is left alone.
    Of a file that was archived in several versions, the one with the most lines is written.
    """
    if versions and not to:
        raise click.UsageError("--versions writes files that Claude Code does not know: say where, with --to DIR.")
    found = lookup.find_session(places(project, everywhere), session)
    with closing(read.connect(found.place)) as connection:
        done = restore(connection, found.session["session_id"], to, dry_run, versions)
    differing = [file for file in done if file.state == "differs"]
    unreadable = [file for file in done if file.state == "unreadable"]
    if as_json:
        print_json([file._asdict() for file in done])
    else:
        for file in done:
            click.echo(_line(file))
        if not differing and not unreadable and not dry_run and not to:
            folder, name = found.session["cwd"] or found.place.project, found.session["session_id"]
            command_line = f"cd {shlex.quote(folder)} && claude --resume {shlex.quote(name)}"
            click.echo(f"\nGo on with it:  {plain.safe(command_line)}")
    if lacking := [file for file in done if file.lacks]:
        lines = plain.counted(sum(file.lacks for file in lacking), "line")
        note(f"Other archived versions have {lines} that this one has not; `--versions --to DIR` writes them all.")
    if unreadable:
        raise SessionlogError(
            f"{plain.counted(len(unreadable), 'file')} could not be read: a part is damaged, or too large when it is "
            "unpacked. It stays in the archive as it is, and the other files were restored"
        )
    if differing:
        raise SessionlogError(
            f"{plain.counted(len(differing), 'file')} there with other content and not touched; "
            "move them away, or restore with `--to DIR`"
        )


def _line(file: Restored) -> str:
    redacted = f", with {plain.counted(file.replacements, 'secret')} redacted" if file.replacements else ""
    state = click.style(f"{file.state:<14}", fg=COLOURS.get(file.state))
    return f"{state}  {plain.safe(file.path)}  ({file.bytes:,} bytes{redacted})"
