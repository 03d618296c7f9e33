"""sessionlog export."""

from __future__ import annotations

import sys

import click

from sessionlog.cli.common import places, project_options, since_option
from sessionlog.cli.completion import client_option, session_ids
from sessionlog.cli.main import example
from sessionlog.errors import SessionlogError
from sessionlog.export import write as export
from sessionlog.text import plain


@example(
    "sessionlog export last --format html -o session.html",
    "sessionlog export --format markdown -o sessions/ --since 7d",
    "sessionlog export --all > exported.jsonl",
    "sessionlog export f0b8 --format markdown --detail brief --redact",
)
@click.command()
@click.argument("sessions", nargs=-1, metavar="[SESSION]…", shell_complete=session_ids)
@click.option(
    "--format",
    "form",
    type=click.Choice(list(export.FORMATS)),
    default="jsonl",
    show_default=True,
    help="JSONL to import again; Markdown or HTML to read.",
)
@click.option("-o", "--output", metavar="FILE|DIR", type=click.Path(), help="Write there; to DIR, a file a session.")
@since_option
@client_option
@click.option(
    "--detail",
    type=click.Choice(export.DETAILS),
    default="normal",
    show_default=True,
    help="How much of Markdown and HTML: everything, long output cut, or prompts, answers and a line for each call.",
)
@click.option("--redact", is_flag=True, help="Apply today's redaction rules to what is written.")
@project_options
def command(
    sessions: tuple[str, ...],
    form: str,
    output: str | None,
    since: str | None,
    client: str | None,
    detail: str,
    redact: bool,
    project: str | None,
    everywhere: bool,
) -> None:
    """Write sessions as JSONL, Markdown or HTML; without SESSION, all of this project.

    JSONL has an event a line and can be imported again without loss. Markdown and HTML are to be read: what a session
    says is shown and never obeyed, and the HTML is one file without scripts.
    """
    options = export.Options(form, detail, since or "", redact)
    chosen = export.choose(places(project, everywhere), sessions, options.since, client)
    if not chosen:
        raise SessionlogError("there is nothing to export; `sessionlog sessions` lists what was recorded")
    if output is None or output == "-":
        stream = sys.stdout.buffer
        for chunk in export.chunks(chosen, options):
            stream.write(chunk)
        stream.flush()
    else:
        for file in export.write(chosen, options, output):
            size = f"{plain.counted(file.sessions, 'session')}, {file.bytes:,} bytes"
            click.echo(f"{plain.safe(file.path)}  ({size})", err=True)
    if form == "jsonl" and (count := export.not_carried(chosen)):
        click.secho(
            f"Note: JSONL leaves out {plain.counted(count, 'transcript')} of these sessions; "
            "`sessionlog restore SESSION --to DIR` writes transcripts, `sessionlog import DIR` reads them.",
            fg="yellow",
            err=True,
        )
