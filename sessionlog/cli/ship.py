"""sessionlog ship."""

from __future__ import annotations

import os
import platform
import secrets
from typing import Any

import click

from sessionlog.archive import read
from sessionlog.archive.place import Place, home_folder
from sessionlog.cli.common import json_option, print_json
from sessionlog.cli.completion import offer, services
from sessionlog.cli.dialogue import progress_bar
from sessionlog.cli.main import example
from sessionlog.errors import SessionlogError
from sessionlog.team import choices, connection, levels, ship
from sessionlog.team.choices import Choice
from sessionlog.text import plain


@example(
    "sessionlog ship --enable sessionlog",
    "sessionlog ship --enable sessionlog --content no-outputs --project ~/shop",
    "sessionlog ship --dry-run",
    "sessionlog ship",
    "sessionlog ship --status",
    "sessionlog ship --disable",
)
@click.command()
@click.option(
    "--enable",
    metavar="SERVICE",
    shell_complete=offer(services),
    help="Ship this project from now on, to a service of ~/.pg_service.conf.",
)
@click.option("--disable", is_flag=True, help="Ship this project no longer; what was shipped stays there.")
@click.option(
    "--content",
    type=click.Choice(list(levels.LEVELS)),
    help="With --enable, what leaves this machine: "
    + "; ".join(f"{name}: {text}" for name, text in levels.LEVELS.items())
    + ".",
)
@click.option("--project", metavar="DIR", type=click.Path(file_okay=False), help="Only the project in DIR.")
@click.option(
    "--to",
    metavar="SERVICE",
    shell_complete=offer(services),
    help="Only projects that are shipped to this service.",
)
@click.option(
    "--as-copy", is_flag=True, help="Ship this project's archive as a new one: it is a copy of a shipped one."
)
@click.option("--dry-run", is_flag=True, help="Tell how many events and messages would be sent, and send nothing.")
@click.option("--status", is_flag=True, help="Ask the team archive how far it came, and send nothing.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing unless something is wrong.")
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    enable: str | None,
    disable: bool,
    content: str | None,
    project: str | None,
    to: str | None,
    as_copy: bool,
    dry_run: bool,
    status: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Send what is new to the team archive, of the projects that were enabled.

    Nothing is sent unless a project is enabled. Secrets are replaced before they are recorded, and what looks like one
    is refused. Every event arrives once, however often this runs. Host, user and TLS settings are in
    ~/.pg_service.conf, the password in ~/.pgpass.
    """
    if enable or disable or as_copy:
        _choose(read.place_of(project), enable, content, disable, as_copy)
        return
    if content:
        raise click.UsageError("--content goes with --enable.")
    chosen = _chosen(project, to)
    if not chosen:
        raise SessionlogError("no project is shipped yet; `sessionlog ship --enable SERVICE` enables this one")
    reports, failed = [], False
    for place, choice in chosen:
        try:
            reports.append(_one(place, choice, dry_run, status, quiet or as_json))
        except SessionlogError as error:
            failed = True
            reports.append({"project": place.project, "service": choice.service, "error": str(error)})
    if as_json:
        print_json(reports)
    else:
        for report in reports:
            _print(report, quiet)
    if failed:
        ctx.exit(1)


def _choose(place: Place, enable: str | None, content: str | None, disable: bool, as_copy: bool) -> None:
    before = choices.of(place)
    if disable:
        choices.choose(place, None)
        click.echo(f"{plain.path(place.project)} is shipped no longer.")
        return
    if not enable and not before:
        raise SessionlogError("this project is not shipped; `sessionlog ship --enable SERVICE` enables it")
    choice = Choice(
        enable or (before.service if before else ""),
        content or (before.content if before else "all"),
        secrets.token_hex(4) if as_copy else before.copy if before else "",
    )
    choices.choose(place, choice)
    told = f"{plain.path(place.project)} is shipped to {choice.service!r} from now on: {levels.LEVELS[choice.content]}."
    click.echo(f"{told}\n`sessionlog ship` sends what is new; after each session it starts by itself.")


def _chosen(project: str | None, to: str | None) -> list[tuple[Place, Choice]]:
    enabled = choices.read(home_folder())
    found = [read.place_of(project)] if project else read.all_places()
    pairs = [(place, enabled[name]) for place in found if (name := os.path.basename(place.db)) in enabled]
    return [(place, choice) for place, choice in pairs if to is None or choice.service == to]


def _one(place: Place, choice: Choice, dry_run: bool, status: bool, quiet: bool) -> dict[str, Any]:
    common = {"project": place.project, "service": choice.service, "content": choice.content}
    if dry_run:
        return {**common, **_would_send(place, choice)}
    with connection.connect(choice.service) as server:
        if status:
            found = ship.status(server, place, choice, platform.node())
            return {**common, **found._asdict(), "last_at": found.last_at and found.last_at.isoformat()}
        with progress_bar("Shipping", hidden=quiet) as bar:

            def progress(done: int, total: int) -> None:
                bar.length = max(total, 1)
                bar.update(done - bar.pos)

            done = ship.ship(server, place, choice, platform.node(), progress)
    return {**common, **done._asdict()}


def _would_send(place: Place, choice: Choice) -> dict[str, Any]:
    """What is new since the last shipment; without the server, nobody knows, and all that is here is counted."""
    try:
        with connection.connect(choice.service) as server:
            found = ship.status(server, place, choice, platform.node())
    except SessionlogError as error:
        events, messages = ship.count(place)
        return {"would_send": {"events": events, "messages": messages}, "unreachable": str(error)}
    return {"would_send": {"events": found.waiting, "messages": found.messages_waiting}}


def _print(report: dict[str, Any], quiet: bool) -> None:
    project = plain.safe(report["project"])
    if "error" in report:
        click.secho(f"{project}: {plain.safe(report['error'])}", fg="red", err=True)
        return
    for notice in report.get("notices", ()):
        click.secho(f"{project}: {notice}", fg="yellow", err=True)
    if quiet:
        return
    if "would_send" in report:
        would = report["would_send"]
        text = f"{plain.counted(would['events'], 'event')} and {plain.counted(would['messages'], 'message')}"
        reason = report.get("unreachable")
        text = f"would send at most {text}; {reason}" if reason else f"would send {text}"
    elif "waiting" in report:
        at = f", last at {report['last_at']}" if report["last_at"] else ""
        held = ", on legal hold" if report["hold"] else ""
        text = f"{report['shipped']:,} shipped, {plain.counted(report['waiting'], 'event')} waiting{at}{held}"
    else:
        parts = [plain.counted(report["events"], "event"), plain.counted(report["messages"], "message")]
        text = "sent " + " and ".join(parts)
        if report["taken_out"]:
            text += f"; took out or redacted {plain.counted(report['taken_out'], 'event')}"
    click.echo(f"{project} → {plain.safe(report['service'])} ({report['content']}): {text}")
