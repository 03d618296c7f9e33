"""`sessionlog prune`: make an archive smaller."""

from __future__ import annotations

import os
from collections.abc import Iterator

import click

from sessionlog.archive import lookup, read
from sessionlog.archive.place import Place
from sessionlog.cli import memories, terminal
from sessionlog.cli.common import When, places, project_options
from sessionlog.cli.completion import session_ids
from sessionlog.cli.dialogue import confirm, note
from sessionlog.cli.main import example
from sessionlog.maintain import prune, prune_memory
from sessionlog.text import plain

SHOWN = 20
WIDE = 66  # columns, from which on the times are explained


@example(
    "sessionlog prune --older-than 90d --dry-run",
    "sessionlog prune --keep 200 --only tool-output",
    "sessionlog prune --session f0b8 --yes",
    "sessionlog prune --remembered --all",
)
@click.command("prune")
@click.option("--older-than", metavar="TIME", type=When(), help="Sessions that ended before: 90d, 12w, a date.")
@click.option("--keep", metavar="N", type=click.IntRange(min=0), help="All but the newest N sessions of a project.")
@click.option(
    "--session",
    "sessions",
    metavar="ID",
    multiple=True,
    shell_complete=session_ids,
    help="This session; may be repeated.",
)
@click.option("--only", type=click.Choice(["tool-output"]), help="Only what the tools printed; the rest stays.")
@memories.memory_options(
    "ID",
    "List the pruned sessions that no import brings back.",
    "Let this session come back with an import.",
    lambda: (memory.session_id for memory in prune_memory.listed(read.all_places())),
)
@project_options
@click.option("--dry-run", is_flag=True, help="Show what would go and remove nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def command(
    older_than: str | None,
    keep: int | None,
    sessions: tuple[str, ...],
    only: str | None,
    remembered: bool,
    forgotten: tuple[str, ...],
    project: str | None,
    everywhere: bool,
    dry_run: bool,
    yes: bool,
) -> None:
    """Remove old sessions from the archive, after showing which.

    Events, messages and archived transcripts go, and the space is given back. A session that may still be running stays
    unless it is named. Claude Code's own files are not touched.

    What was pruned stays out: no import and no merge brings it back. What is recorded afterwards is taken in.
    """
    if remembered or forgotten:
        found = places(project, everywhere)
        nothing = "No pruned session is remembered here."
        memories.run(forgotten, lambda wanted: _forget(found, wanted), lambda: _remembered(found), nothing)
        return
    if sum((older_than is not None, keep is not None, bool(sessions))) != 1:
        raise click.UsageError("Say which sessions: --older-than TIME, --keep N or --session ID.")
    found = [place for place in places(project, everywhere) if os.path.exists(place.db)]
    plans = [
        prune.plan(place, which, only is not None) for place, which in _meant(found, older_than, keep, sessions).items()
    ]
    for plan in plans:
        _show(plan)
    plans = [plan for plan in plans if plan.sessions]
    if not plans:
        click.echo("There is nothing to prune.")
        return
    total = plain.counted(sum(len(plan.sessions) for plan in plans), "session")
    what = f"what the tools of {total} printed" if only else total
    rows, size = sum(plan.rows for plan in plans), plain.size(sum(plan.size for plan in plans))
    click.echo(f"In all: {what}, {plain.counted(rows, 'row')}, {size}.")
    if dry_run:
        click.echo("Dry run: nothing was removed.")
        return
    confirm(f"Remove {what} for good?", yes)
    for plan in plans:
        before = os.stat(plan.place.db).st_size
        prune.run(plan)
        after = os.stat(plan.place.db).st_size
        click.secho(f"Pruned {plan.place.db}: {plain.size(before)} before, {plain.size(after)} now.", fg="green")


def _forget(found: list[Place], wanted: str) -> str:
    session_id = prune_memory.forget(found, wanted).session_id
    return f"Session {plain.safe(session_id)} comes back with the next import of its files."


def _remembered(found: list[Place]) -> Iterator[str]:
    for memory in prune_memory.listed(found):
        what = f"everything until {plain.local_time(memory.until)}" if memory.until else ""
        output = f"tool output until {plain.local_time(memory.output_until)}" if memory.output_until else ""
        kept_out = ", ".join(filter(None, (what, output)))
        yield f"{click.style(plain.safe(memory.session_id), fg='yellow')}  {kept_out}"


def _meant(
    found: list[Place], older_than: str | None, keep: int | None, sessions: tuple[str, ...]
) -> dict[Place, prune.Which]:
    if not sessions:
        return dict.fromkeys(found, prune.Which(older_than, keep))
    named: dict[str, tuple[Place, set[str]]] = {}
    for wanted in sessions:
        place, session = lookup.find_session(found, wanted)
        named.setdefault(place.db, (place, set()))[1].add(session["session_id"])
    return {place: prune.Which(named=frozenset(ids)) for place, ids in named.values()}


def _show(plan: prune.Plan) -> None:
    if plan.sessions:
        click.secho(plain.path(plan.place.project), fg="cyan")
    used = "last used " if terminal.width() >= WIDE else ""
    for session in plan.sessions[:SHOWN]:
        name = click.style(plain.safe(session.session_id[:8]), fg="yellow")
        terminal.print_line(
            f"  {name}  {used}{plain.local_time(session.last_at)}"
            f"  {plain.counted(session.rows, 'row'):>10}  {plain.size(session.size):>8}"
        )
    if len(plan.sessions) > SHOWN:
        click.echo(f"  and {plain.counted(len(plan.sessions) - SHOWN, 'more session')}")
    if plan.recent:
        count = plain.counted(plan.recent, "session")
        note(f"{plain.path(plan.place.project)}: {count} may be continued and will stay; --session removes one.")
