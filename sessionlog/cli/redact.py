"""`sessionlog redact`: take secrets out of what is already recorded."""

from __future__ import annotations

import os
import sys

import click

from sessionlog import terminal
from sessionlog.cli import example
from sessionlog.cli.common import places, project_options
from sessionlog.cli.install import confirm, note
from sessionlog.keep import redaction
from sessionlog.projects import home_folder


@example(
    "sessionlog redact --dry-run",
    "sessionlog redact --pattern 'ACME-[0-9a-f]{32}' --all",
    "sessionlog redact --value - --yes < secret.txt",
)
@click.command("redact")
@click.option("--pattern", "patterns", metavar="REGEX", multiple=True, help="Whatever matches; may be repeated.")
@click.option(
    "--value", "values", metavar="TEXT", multiple=True, help="This very text; - reads it from the terminal or stdin."
)
@project_options
@click.option("--dry-run", is_flag=True, help="Show what would be replaced and write nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def command(
    patterns: tuple[str, ...], values: tuple[str, ...], project: str | None, everywhere: bool, dry_run: bool, yes: bool
) -> None:
    """Take secrets out of what is already recorded: by today's rules, and by what you name.

    Events, messages and archived transcripts are cleaned as if the rules had been there from the start. Afterwards the
    bytes are in no file of the archive: not in free pages, the WAL or the search index either.
    """
    home = home_folder()
    rules = redaction.GivenRules(home, patterns, [text for value in values for text in _texts(value)])
    found = [place for place in places(project, everywhere) if os.path.exists(place.db)]
    previews = [(terminal.safe(place.project), redaction.preview(place, rules)) for place in found]
    previews.append(("Payloads that were no events", redaction.clean_rejected(home, rules, write=False)))
    for name, preview in previews:
        if preview.rows:
            _show(name, preview)
    if dry_run:
        click.echo("Dry run: nothing was written.")
        return
    # Also with nothing to be seen: what was deleted left its bytes in free pages, and a run may have been killed.
    nothing = "Nothing is left to replace. Rewrite the files all the same, so that no free page holds it?"
    confirm("Replace them for good?" if any(preview.rows for _, preview in previews) else nothing, yes)
    for place in found:
        redaction.run(place, rules)
        click.secho(f"Cleaned {place.db}.", fg="green")
    redaction.clean_rejected(home, rules, write=True)
    for path in sorted({path for place in found for path in redaction.out_of_reach(place)}):
        note(f"{path} was not cleaned and may still hold what was replaced.")
    if not everywhere:
        note("The archives of other projects are cleaned with --all.")
    note("Backups, and the transcripts that Claude Code keeps itself, are not touched.")
    if patterns or values:
        note(f"For what is recorded from now on, put the pattern into {home}/config.json.")


def _texts(value: str) -> list[str]:
    """On a command line, a secret would stay in the history of the shell."""
    if value != "-":
        return [value]
    if sys.stdin.isatty():
        return [click.prompt("The text to be replaced", hide_input=True)]
    return [line for line in sys.stdin.read().splitlines() if line]


def _show(name: str, found: redaction.Found) -> None:
    click.secho(name, fg="cyan")
    for kind, count in found.kinds.most_common():
        click.echo(f"  {count:>6,} × {kind}")
    where = ", ".join(f"{count:,} in {table}" for table, count in found.rows.most_common())
    click.echo(f"  {terminal.counted(sum(found.rows.values()), 'row')}: {where}")
