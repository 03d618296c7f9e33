"""sessionlog report."""

from __future__ import annotations

from datetime import datetime

import click

from sessionlog import times
from sessionlog.ask import report
from sessionlog.cli import counting
from sessionlog.cli.common import When, nothing_found, places, project_options
from sessionlog.cli.completion import client_option
from sessionlog.cli.main import example
from sessionlog.cli.terminal import page
from sessionlog.export import report as rendering
from sessionlog.system import atomic


@example("sessionlog report", "sessionlog report --all --since 30d --format html -o november.html")
@click.command()
@click.option("--since", type=When(), default="7d", show_default=True, help="From when on: 24h, 7d, a date.")
@click.option("--until", type=When(), help="Until when; now, if it is left out.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["markdown", "html"]),
    default="markdown",
    show_default=True,
    help="To read or to send.",
)
@click.option("-o", "--output", metavar="FILE", type=click.Path(dir_okay=False), help="Write to this file.")
@client_option
@project_options
def command(
    since: str,
    until: str | None,
    form: str,
    output: str | None,
    client: str | None,
    project: str | None,
    everywhere: bool,
) -> None:
    """Write what was asked, done, failed and spent: for a stand-up, a hand-over or an invoice."""
    asked = places(project, everywhere)
    now = times.archive_text(datetime.now().astimezone())
    gathered = report.gather(asked, since, until or now, client, counting.wait)
    if not gathered.projects:
        nothing_found(asked, "nothing was recorded in that time; try a longer --since", False)
        return
    text = "".join(rendering.html_page(gathered) if form == "html" else rendering.markdown(gathered))
    if output:
        atomic.write(output, [text.encode("utf-8", "replace")])
        click.echo(output, err=True)
    else:
        page(text.splitlines())
