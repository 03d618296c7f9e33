"""`sessionlog redact`: take secrets out of what is already recorded."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import click

from sessionlog.archive.place import home_folder
from sessionlog.cli import memories
from sessionlog.cli.common import places, project_options
from sessionlog.cli.dialogue import confirm, note
from sessionlog.cli.main import example
from sessionlog.errors import SessionlogError
from sessionlog.maintain import memory, redact, trial
from sessionlog.text import plain

LONGEST = 64 << 20  # bytes of a file to be tried


@example(
    "sessionlog redact --dry-run",
    "sessionlog redact --pattern 'ACME-[0-9a-f]{32}' --all",
    "sessionlog redact --value - --yes < secret.txt",
    "sessionlog redact --test - < .env",
    "sessionlog redact --remembered",
)
@click.command("redact")
@click.option("--pattern", "patterns", metavar="REGEX", multiple=True, help="Whatever matches; may be repeated.")
@click.option(
    "--value", "values", metavar="TEXT", multiple=True, help="This very text; - reads it from the terminal or stdin."
)
@click.option(
    "--test",
    "tried",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True),
    help="Show what would be taken out of this file, and why; - reads stdin. Archives are left alone.",
)
@memories.memory_options(
    "NAME",
    "List the values and patterns that are kept out from now on.",
    "Keep this one out no longer.",
    lambda: (remembered.name for remembered in memory.listed(home_folder())),
)
@project_options
@click.option("--dry-run", is_flag=True, help="Show what would be replaced and write nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def command(
    patterns: tuple[str, ...],
    values: tuple[str, ...],
    tried: str | None,
    remembered: bool,
    forgotten: tuple[str, ...],
    project: str | None,
    everywhere: bool,
    dry_run: bool,
    yes: bool,
) -> None:
    """Take secrets out of what is already recorded: by today's rules, and by what you name.

    Events, messages and archived transcripts are cleaned as if the rules had been there from the start. Afterwards the
    bytes are in no file of the archive: not in free pages, the WAL or the search index either.

    What you name stays out: it is remembered, a value as a keyed hash, and taken out of whatever is recorded,
    imported, merged or restored on this machine from now on.
    """
    home = home_folder()
    if remembered or forgotten:
        nothing = "Nothing is remembered. `redact --value` and `redact --pattern` remember what they take out."
        memories.run(forgotten, lambda name: _forget(home, name), lambda: _remembered(home), nothing)
        return
    texts = [text for value in values for text in _texts(value)]
    rules = redact.GivenRules(home, patterns, texts)
    if tried is not None:
        if project or everywhere or yes:
            raise click.UsageError("--test looks at a file and at no archive: leave --project, --all and --yes away.")
        _try(tried, rules)
        return
    found = [place for place in places(project, everywhere) if os.path.exists(place.db)]
    previews = [(plain.path(place.project), redact.preview(place, rules)) for place in found]
    previews.append(("Payloads that were no events", redact.clean_rejected(home, rules, write=False)))
    if everywhere:
        previews.append(("Events that wait for an archive", redact.clean_spools(home, rules, write=False)))
    for name, preview in previews:
        if preview.rows:
            _show(name, preview)
        for file, reason in preview.not_searched.items():
            note(f"{file} was not searched and stays as it is: {reason}.")
    if dry_run:
        replaced = sum(sum(preview.rows.values()) for _, preview in previews)
        found_in = f"{plain.counted(replaced, 'row')} of {plain.counted(len(found), 'project')}"
        click.echo(f"Dry run: nothing was written; {found_in} would change.")
        return
    # Also if nothing was found: deleted rows leave bytes in free pages, and an earlier run may have been killed.
    nothing = "Nothing is left to replace. Rewrite the files all the same, so that no free page holds it?"
    confirm("Replace them for good?" if any(preview.rows for _, preview in previews) else nothing, yes)
    if patterns or texts:  # first: an import that runs meanwhile would bring back what is gone
        _remember(home, patterns, texts)
    for place in found:
        redact.run(place, rules)
        click.secho(f"Cleaned {place.db}.", fg="green")
    redact.clean_rejected(home, rules, write=True)
    if everywhere:
        redact.clean_spools(home, rules, write=True)
        for path in redact.spools_without_archive(home):
            click.secho(f"Cleaned {path}, whose events wait for an archive.", fg="green")
    for path in sorted({path for place in found for path in redact.out_of_reach(place)}):
        note(f"{path} was not cleaned and may still hold what was replaced.")
    if not everywhere:
        note("The archives of other projects are cleaned with --all.")
    note("Backups, and the transcripts that Claude Code keeps itself, are not touched.")


def _remember(home: str, patterns: tuple[str, ...], texts: list[str]) -> None:
    try:
        for kept in memory.remember(home, patterns, texts):
            note(f"The {kept.kind} stays out from now on; `sessionlog redact --forget {kept.name}` lifts that.")
    except (SessionlogError, OSError) as error:  # what is recorded now is replaced in any case
        note(f"It may come back with what is recorded or imported later: {error}.")


def _forget(home: str, name: str) -> str:
    return f"Forgot the {memory.forget(home, name).kind} {name}: it is recorded again when it occurs."


def _remembered(home: str) -> Iterator[str]:
    for kept in memory.listed(home):
        yield f"{kept.name:<12}{kept.kind:<9}since {plain.local_time(kept.at)}  {plain.one_line(kept.about)}"


def _texts(value: str) -> list[str]:
    """On a command line, a secret would stay in the history of the shell."""
    if value != "-":
        return [value]
    if sys.stdin.isatty():
        return [click.prompt("The text to be replaced", hide_input=True)]
    return [line for line in sys.stdin.read().splitlines() if line]


def _try(path: str, rules: redact.GivenRules) -> None:
    with click.open_file(path, "rb") as file:
        data = file.read(LONGEST + 1)
    if len(data) > LONGEST:
        raise SessionlogError(f"{path} is over {LONGEST >> 20} MB; try a piece of it")
    name = "stdin" if path == "-" else path
    found = trial.sightings(data.decode("utf-8", "replace"), rules)
    if not rules.enabled:
        note(f"Redaction is switched off in {rules.home}/config.json.")
    if not found:
        click.echo(f"Nothing would be taken out of {plain.safe(name)}.")
        return
    click.secho(f"{plain.counted(len(found), 'secret')} would be taken out of {plain.safe(name)}:", fg="cyan")
    for sighting in found:
        line = "" if sighting.line is None else f"line {sighting.line}"
        click.echo(f"  {line:<10}{sighting.kind:<18} {plain.safe(sighting.masked)}")
        click.echo(f"  {'':10}{plain.safe(sighting.rule)}")


def _show(name: str, found: redact.Replacements) -> None:
    click.secho(name, fg="cyan")
    for kind, count in found.kinds.most_common():
        click.echo(f"  {count:>6,} × {kind}")
    where = plain.safe(", ".join(f"{count:,} in {table}" for table, count in found.rows.most_common()))
    click.echo(f"  {plain.counted(sum(found.rows.values()), 'row')}: {where}")
