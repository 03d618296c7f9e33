"""`sessionlog verify`: is everything still as it was recorded?"""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import click

from sessionlog import __version__
from sessionlog.archive import lookup, read
from sessionlog.archive.place import Place
from sessionlog.cli import terminal
from sessionlog.cli.common import json_option, places, print_json_lists, project_options, to_json
from sessionlog.cli.completion import session_ids
from sessionlog.cli.dialogue import progress_bar
from sessionlog.cli.main import example
from sessionlog.errors import SessionlogError
from sessionlog.maintain import seal as sealing
from sessionlog.maintain import verify
from sessionlog.text import plain


@example(
    "sessionlog verify",
    "sessionlog verify --all --json",
    "sessionlog verify --notes last",
    "sessionlog verify --against heads.jsonl",
)
@click.command("verify")
@click.argument("sessions", nargs=-1, metavar="[SESSION]…", shell_complete=session_ids)
@project_options
@click.option("--notes", is_flag=True, help="Also print what prune and redact changed, and when.")
@click.option("--heads", is_flag=True, help="Only print the newest hash of each session, to store elsewhere.")
@click.option("--against", metavar="FILE", type=click.Path(), help="Also compare with the heads in FILE.")
@click.option("--seal", is_flag=True, help="First record the current state of events that are older than the chain.")
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    sessions: tuple[str, ...],
    project: str | None,
    everywhere: bool,
    notes: bool,
    heads: bool,
    against: str | None,
    seal: bool,
    as_json: bool,
) -> None:
    """Find what was changed, removed or inserted by anything other than sessionlog.

    Each event has a hash that is chained to the event before it in its session. prune and redact record their changes
    in the chain. Tables, views, indexes, triggers and the counters of each session are checked too. Prints one line per
    finding; the exit code is 1 if there is one.
    """
    found = [place for place in places(project, everywhere) if os.path.exists(place.db)]
    if not found:
        read.connect(read.place_of(project)).close()  # raises an error that says what to do
    if heads:
        for head in (head for place in found for head in verify.heads(place)):
            click.echo(to_json(head._asdict()))
        return
    for place in found if seal else ():
        click.echo(f"Sealed {plain.counted(sealing.seal(place), 'event')} of {plain.path(place.project)}.", err=True)
    checks = _checks(found, sessions, verify.read_heads(against) if against else [])
    if against and not any(check.heads for check in checks):
        raise SessionlogError(f"{against} has no head of {'these archives' if everywhere else 'this archive'}")
    if as_json:
        findings = (_finding_as_json(check, finding) for check in checks for finding in check.findings())
        archives = (_check_as_json(check, notes) for check in checks)
        print_json_lists({"sessionlog": __version__}, findings=findings, archives=archives)
    else:
        for check in checks:
            _print_findings(check)
            _print_summary(check, notes)
    ctx.exit(1 if any(check.found for check in checks) else 0)


def _checks(found: list[Place], sessions: tuple[str, ...], heads: list[verify.Head]) -> list[verify.Check]:
    if not sessions:
        return [verify.Check(place, heads=heads) for place in found]
    named: dict[str, tuple[Place, list[str]]] = {}
    for wanted in sessions:
        place, session = lookup.find_session(found, wanted)
        named.setdefault(place.db, (place, []))[1].append(session["session_id"])
    return [verify.Check(place, ids, heads) for place, ids in named.values()]


def _print_findings(check: verify.Check) -> None:
    with progress_bar("Verifying") as bar:

        def progress(done: int, total: int) -> None:
            if not check.found:
                bar.length = total
                bar.update(done - bar.pos)

        for finding in check.findings(progress):
            if check.found == 1:
                bar.render_finish()  # from here on, the findings show the progress
            session = f" of session {finding.session_id}" if finding.session_id else ""
            line = f"{finding.kind}: {finding.what}{session}: {finding.text}"
            click.secho(plain.one_line(line, 400), fg="red")
        if not check.found:
            bar.update((bar.length or 0) - bar.pos)


def _print_summary(check: verify.Check, notes: bool) -> None:
    for note in check.notes if notes else ():
        whose = f" of session {note.session_id}" if note.session_id else ""
        what = f"{plain.counted(note.events, 'event')}{whose}{' (' + note.removed + ')' if note.removed else ''}"
        line = f"note {note.id}: {plain.local_time(note.at)} {note.user}: {note.command}: {what}"
        click.echo(plain.one_line(line, 400))
    counts = f"{plain.counted(check.events, 'event')} of {plain.counted(len(check.sessions), 'session')}"
    result = plain.counted(check.found, "finding") if check.found else "all as they were recorded"
    summary = f"{plain.path(check.place.project)}: {counts}: {result}."
    terminal.say(summary, err=False, fg="red" if check.found else "green")
    done: Counter[str] = Counter()
    for note in check.notes:
        if note.command not in ("migration", "verify --seal"):
            done[f"{note.command} {'removed' if note.removed else 'changed'}"] += note.events
    if done:
        changes = ", ".join(f"{what} {plain.counted(number, 'event')}" for what, number in done.items())
        click.echo(f"Recorded changes: {changes}.")
    if check.additions:
        click.echo(plain.one_line(f"Added by someone else, harmless: {', '.join(check.additions)}.", 400))
    if check.unsealed:
        click.echo(
            f"{plain.counted(check.unsealed, 'event')} recorded before the chain existed: their content cannot be "
            "checked. `sessionlog verify --seal` records their current state."
        )


def _finding_as_json(check: verify.Check, finding: verify.Finding) -> dict[str, Any]:
    return {"project": check.place.project, **finding._asdict()}


def _check_as_json(check: verify.Check, notes: bool) -> dict[str, Any]:
    return {
        "project": check.place.project,
        "events": check.events,
        "sessions": len(check.sessions),
        "findings": check.found,
        "unsealed": check.unsealed,
        "additions": check.additions,
        "notes": [note._asdict() for note in check.notes] if notes else len(check.notes),
    }
