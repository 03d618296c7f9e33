"""The commands of `sessionlog team` for the owner of the database."""

from __future__ import annotations

import click

from sessionlog.cli.common import When
from sessionlog.cli.completion import offer, services
from sessionlog.cli.main import example
from sessionlog.team import admin, connection
from sessionlog.text import plain

service_option = click.option(
    "--service", metavar="NAME", shell_complete=offer(services), help="The section of ~/.pg_service.conf."
)
team_option = click.option("--team", metavar="NAME", help="The team: small letters, digits, - and _.")


@example("sessionlog team init", "sessionlog team init --print > team.sql")
@click.command()
@service_option
@click.option("--print", "only_print", is_flag=True, help="Print the SQL for PostgreSQL 15, and connect to nothing.")
def init(service: str | None, only_print: bool) -> None:
    """Make the team archive: a schema `sessionlog`, roles and rights, in a database that you own.

    If there is one that an older sessionlog made, it is brought up to date.
    """
    if only_print:
        click.echo(f"BEGIN;\n{admin.schema()}\nCOMMIT;")
        return
    with connection.connect(connection.service_name(service)) as server:
        version = admin.init(server)
    if version is None:
        click.echo("The team archive is ready.")
    elif version < admin.VERSION:
        click.echo("The team archive was brought up to date.")
    else:
        click.echo("There is a team archive already, and it is up to date.")


@example("sessionlog team add ann --team payments")
@click.command()
@click.argument("developer")
@click.option("--team", metavar="NAME", required=True, help="The team: small letters, digits, - and _.")
@service_option
def add(developer: str, team: str, service: str | None) -> None:
    """Let the role DEVELOPER ship, as a member of a team; or move it to another team."""
    with connection.connect(connection.service_name(service)) as server:
        admin.add(server, developer, team)
    click.echo(f"{plain.safe(developer)} can ship, in the team {plain.safe(team)}.")


@example("sessionlog team remove ann")
@click.command()
@click.argument("developer")
@service_option
def remove(developer: str, service: str | None) -> None:
    """Let the role DEVELOPER ship no longer. What was shipped stays."""
    with connection.connect(connection.service_name(service)) as server:
        admin.remove(server, developer)
    click.echo(f"{plain.safe(developer)} can ship no longer.")


@example("sessionlog team reader cat --team payments", "sessionlog team reader dan --all")
@click.command()
@click.argument("role")
@team_option
@click.option("--all", "everything", is_flag=True, help="An auditor: reads every team.")
@click.option("--revoke", is_flag=True, help="Take the right away.")
@service_option
def reader(role: str, team: str | None, everything: bool, revoke: bool, service: str | None) -> None:
    """Let ROLE read the sessions of a team, or of everybody."""
    if bool(team) == everything:
        raise click.UsageError("Give either --team NAME or --all.")
    with connection.connect(connection.service_name(service)) as server:
        admin.reader(server, role, team, revoke)
    verb = "can no longer read" if revoke else "can read"
    click.echo(f"{plain.safe(role)} {verb} {f'the team {plain.safe(team)}' if team else 'everything'}.")


@example("sessionlog team hold ann", "sessionlog team hold ann --archive 12", "sessionlog team hold ann --release")
@click.command()
@click.argument("developer")
@click.option("--archive", metavar="N", type=int, help="Only this archive.")
@click.option("--release", is_flag=True, help="End the hold.")
@service_option
def hold(developer: str, archive: int | None, release: bool, service: str | None) -> None:
    """Put the archives of DEVELOPER on legal hold: nobody can take anything out, and `retain` leaves them alone."""
    with connection.connect(connection.service_name(service)) as server:
        number = admin.hold(server, developer, archive, release)
    click.echo(f"{plain.counted(number, 'archive')} {'released' if release else 'on hold'}.")


@example("sessionlog team retain 400d --dry-run", "sessionlog team retain 2025-11-01")
@click.command()
@click.argument("before", type=When())
@click.option("--dry-run", is_flag=True, help="Tell what would be removed, and remove nothing.")
@service_option
def retain(before: str, dry_run: bool, service: str | None) -> None:
    """Remove what happened before BEFORE (400d, a date), except archives on hold. Whole months are dropped at once."""
    with connection.connect(connection.service_name(service)) as server:
        done = admin.retain(server, before[:10], dry_run)
    removed = ", ".join(f"{number:,} {what}" for what, number in done.items())
    click.echo(f"{'Would remove' if dry_run else 'Removed'} what is older than {before[:10]}: {removed}.")
