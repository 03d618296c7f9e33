"""`sessionlog verify`: is the record as it was written?"""

from __future__ import annotations

import json
import os
from collections import Counter
from typing import Any

import click

from sessionlog import __version__, reading, terminal, verify
from sessionlog.cli import example
from sessionlog.cli.common import inert_json, json_option, places, print_json_lists, project_options
from sessionlog.errors import SessionlogError
from sessionlog.projects import Place


@example(
    "sessionlog verify",
    "sessionlog verify --all --json",
    "sessionlog verify --notes last",
    "sessionlog verify --against heads.jsonl",
)
@click.command("verify")
@click.argument("sessions", nargs=-1, metavar="[SESSION]…")
@project_options
@click.option("--notes", is_flag=True, help="Also print what prune and redact have noted down.")
@click.option("--heads", is_flag=True, help="Print the newest hash of each session, to keep elsewhere; check nothing.")
@click.option("--against", metavar="FILE", type=click.Path(), help="Also compare with heads that were kept in FILE.")
@click.option("--seal", is_flag=True, help="First vouch for events older than the chain, as they are now.")
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
    """Find events that were changed, removed or inserted by other means than sessionlog.

    Each event carries a hash that is chained to the one before it in its session. What prune and redact did is noted in
    the chain, and told apart. Prints a line for each finding, and ends with 1 if there is one.
    """
    found = [place for place in places(project, everywhere) if os.path.exists(place.db)]
    if not found:
        reading.connect(reading.place_of(project)).close()  # says that there is nothing, and what to do
    if heads:
        for head in (head for place in found for head in verify.heads(place)):
            click.echo(inert_json(json.dumps(head._asdict(), ensure_ascii=False)))
        return
    for place in found if seal else ():
        click.echo(
            f"Sealed {terminal.counted(verify.seal(place), 'event')} of {terminal.safe(place.project)}.", err=True
        )
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
        place, session = reading.find_session(found, wanted)
        named.setdefault(place.db, (place, []))[1].append(session["session_id"])
    return [verify.Check(place, ids, heads) for place, ids in named.values()]


def _print_findings(check: verify.Check) -> None:
    with click.progressbar(length=1, label="Verifying", width=30, show_eta=True) as bar:

        def progress(done: int, total: int) -> None:
            if not check.found:
                bar.length = total
                bar.update(done - bar.pos)

        for finding in check.findings(progress):
            if check.found == 1:
                bar.render_finish()  # from here on, the lines show that it goes on
            session = f" of session {finding.session_id}" if finding.session_id else ""
            line = f"{finding.kind}: {finding.what}{session}: {finding.text}"
            click.secho(terminal.one_line(line, 400), fg="red")
        if not check.found:
            bar.update((bar.length or 0) - bar.pos)


def _print_summary(check: verify.Check, notes: bool) -> None:
    for note in check.notes if notes else ():
        whose = f" of session {note.session_id}" if note.session_id else ""
        what = f"{terminal.counted(note.events, 'event')}{whose}{' (' + note.removed + ')' if note.removed else ''}"
        line = f"note {note.id}: {terminal.local_time(note.at)} {note.user}: {note.command}: {what}"
        click.echo(terminal.one_line(line, 400))
    counts = f"{terminal.counted(check.events, 'event')} of {terminal.counted(len(check.sessions), 'session')}"
    told = terminal.counted(check.found, "finding") if check.found else "all as they were recorded"
    click.secho(f"{terminal.safe(check.place.project)}: {counts}: {told}.", fg="red" if check.found else "green")
    done: Counter[str] = Counter()
    for note in check.notes:
        if note.command not in ("migration", "verify --seal"):
            done[f"{note.command} {'removed' if note.removed else 'changed'}"] += note.events
    if done:
        click.echo("By right: " + ", ".join(f"{what} {terminal.counted(n, 'event')}" for what, n in done.items()) + ".")
    if check.unsealed:
        click.echo(
            f"{terminal.counted(check.unsealed, 'event')} from before there was a chain: nothing can be said of their "
            "content. `sessionlog verify --seal` vouches for them as they are now."
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
        "notes": [note._asdict() for note in check.notes] if notes else len(check.notes),
    }
