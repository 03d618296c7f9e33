"""The commands of `sessionlog team` that ask."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import click

from sessionlog.archive import read
from sessionlog.ask import audit as audits
from sessionlog.ask.search import find
from sessionlog.cli import show as show_command
from sessionlog.cli.common import When, json_option, print_json, since_option
from sessionlog.cli.completion import audit_names, event_names
from sessionlog.cli.main import example
from sessionlog.cli.rows import form_options, print_rows
from sessionlog.cli.team_admin import service_option
from sessionlog.errors import SessionlogError
from sessionlog.maintain import verify as verifying
from sessionlog.team import ask, choices, connection, hand_over
from sessionlog.team import pull as pulling
from sessionlog.team import ship as shipping
from sessionlog.text import plain


def whose_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """--developer and --team."""
    command = click.option("--team", "teams", metavar="NAME", multiple=True, help="Only this team.")(command)
    return click.option("--developer", "developers", metavar="NAME", multiple=True, help="Only this person.")(command)


@example(
    "sessionlog team sessions", "sessionlog team sessions --team payments --since 7d", "sessionlog team sessions --json"
)
@click.command()
@whose_options
@since_option
@click.option("-n", "--limit", default=20, show_default=True, help="How many; 0 for all.")
@json_option
@service_option
def sessions(
    developers: tuple[str, ...],
    teams: tuple[str, ...],
    since: str | None,
    limit: int,
    as_json: bool,
    service: str | None,
) -> None:
    """List sessions, newest first, with whose they are."""
    with connection.connect(connection.service_name(service)) as server:
        rows = ask.sessions(server, ask.Whose(developers, teams), since or "", limit or None)
    if as_json:
        print_json(rows)
        return
    if not rows:
        raise SessionlogError("no session that you may see was shipped yet")
    print_rows(
        ("session", "developer", "project", "started", "prompts", "tools", "failed", "about"),
        [
            (
                row["session_id"][:8],
                row["developer"],
                os.path.basename(row["project"]),
                plain.local_time(row["started_at"]),
                row["prompts"],
                row["tool_calls"],
                row["failures"],
                row["title"] or row["first_prompt"],
            )
            for row in rows
        ],
        None,
    )


@example(
    "sessionlog team search 折扣", "sessionlog team search 'connection refused' --failed --since 7d --team payments"
)
@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("question", nargs=-1, required=True)
@whose_options
@click.option("--session", metavar="ID", help="In this session; the start of its id is enough.")
@click.option("--tool", help="Calls of this tool, such as Bash.")
@click.option("--event", shell_complete=event_names, help="Events of this name, such as UserPromptSubmit.")
@click.option("--file", metavar="GLOB", help="Calls on these files, such as 'src/*.py'.")
@click.option("--role", type=click.Choice(["user", "assistant", "tool", "system"]), help="Who said or did it.")
@click.option("--failed", is_flag=True, help="Only what failed.")
@since_option
@click.option("--until", type=When(), help="Only what happened before then.")
@click.option("-n", "--limit", default=20, show_default=True, help="How many hits; 0 for all.")
@json_option
@service_option
def search(
    question: tuple[str, ...],
    developers: tuple[str, ...],
    teams: tuple[str, ...],
    limit: int,
    as_json: bool,
    service: str | None,
    **filters: Any,
) -> None:
    """Search all sessions that you may see, newest first: words, phrases, prefix*, -without, a OR b."""
    whose = ask.Whose(developers, teams)
    listed = []
    found = 0
    with connection.connect(connection.service_name(service)) as server:
        for hit, developer in ask.search(server, " ".join(question), find.Filters(**filters), whose, limit):
            found += 1
            if as_json:
                listed.append(_hit_as_json(hit, developer))
            else:
                _print_hit(hit, developer)
    if as_json:
        print_json(listed)
    elif not found:
        raise SessionlogError(f"nothing found for {' '.join(question)!r}")


def _hit_as_json(hit: find.Hit, developer: str) -> dict[str, Any]:
    about = {"developer": developer, "project": hit.place.project, "session_id": hit.row["session_id"]}
    return {**about, "at": hit.row["at"], "field": hit.field, "snippet": hit.snippet}


def _print_hit(hit: find.Hit, developer: str) -> None:
    kind = hit.row["tool_name"] or (hit.row["kind"] if hit.is_message else hit.row["event"])
    click.echo(
        click.style(plain.safe(hit.row["session_id"][:8]), fg="yellow")
        + f"  {plain.local_time(hit.row['at'] or '')}  "
        + click.style(plain.one_line(kind, 20), fg="cyan")
        + f"  {plain.path(os.path.basename(hit.place.project))} ({plain.safe(developer)})\n"
        + f"    {plain.one_line(hit.snippet, 300)}"
    )


@example("sessionlog team audit", "sessionlog team audit dangerous-commands --since 7d --team payments --fail-if-any")
@click.command()
@click.argument("name", required=False, shell_complete=audit_names)
@whose_options
@since_option
@form_options("json", "csv")
@click.option("--fail-if-any", is_flag=True, help="End with 1 if there is a row.")
@service_option
@click.pass_context
def audit(
    ctx: click.Context,
    name: str | None,
    developers: tuple[str, ...],
    teams: tuple[str, ...],
    since: str | None,
    form: str | None,
    fail_if_any: bool,
    service: str | None,
) -> None:
    """Run the audit NAME over all sessions that you may see; without NAME, list the audits."""
    if name is None:
        for about in audits.audits().values():
            click.echo(f"{click.style(about.name, fg='yellow')}  {about.title}")
        return
    with connection.connect(connection.service_name(service)) as server:
        rows = ask.audit(server, name, since or "", ask.Whose(developers, teams))
        owners = ask.owners(server, [row["session_id"] for row in rows if row.get("session_id")])
    named = [{"project": owners.get(row.get("session_id", ""), ""), **row} for row in rows]
    if not named and not form:
        click.secho("Nothing found.", fg="green")
    else:
        print_rows(list(named[0]) if named else ["project"], (tuple(row.values()) for row in named), form)
    if fail_if_any and rows:
        ctx.exit(1)


@example("sessionlog team stats --by team", "sessionlog team stats --by developer --since 7d --json")
@click.command()
@click.option("--by", type=click.Choice(list(ask.BY)), default="team", show_default=True, help="What to sum up by.")
@click.option("--since", type=When(), default="30d", show_default=True, help="From when on: 24h, 7d, a date.")
@whose_options
@form_options("table", "json", "csv")
@service_option
def stats(
    by: str, since: str, developers: tuple[str, ...], teams: tuple[str, ...], form: str | None, service: str | None
) -> None:
    """Count sessions, prompts, tool calls, failures, tokens and cost."""
    with connection.connect(connection.service_name(service)) as server:
        rows = ask.stats(server, by, ask.Whose(developers, teams), since)
    print_rows(list(rows[0]) if rows else [by], (tuple(row.values()) for row in rows), form)


@example(
    "sessionlog team sql 'SELECT developer, count(*) FROM sessions GROUP BY 1'", "sessionlog team sql - < report.sql"
)
@click.command()
@click.argument("query")
@form_options("table", "json", "csv")
@service_option
def sql(query: str, form: str | None, service: str | None) -> None:
    """Ask in SQL, as PostgreSQL takes it; QUERY may be - to read it from stdin. Nothing can be changed."""
    text = sys.stdin.read() if query == "-" else query
    with connection.connect(connection.service_name(service)) as server:
        print_rows(*ask.sql(server, text), form)


@example("sessionlog team pull --since 7d --developer ann", "sessionlog team pull --session f0b8")
@click.command()
@whose_options
@since_option
@click.option("--session", default="", metavar="ID", help="Only this session; the start of its id is enough.")
@click.option("--to", metavar="DIR", type=click.Path(file_okay=False), help="Into this folder instead of the cache.")
@service_option
def pull(
    developers: tuple[str, ...],
    teams: tuple[str, ...],
    since: str | None,
    session: str,
    to: str | None,
    service: str | None,
) -> None:
    """Bring sessions back as ordinary archives, in a cache folder: browse, show, export and verify work on them.

    Whole sessions are pulled, those that went on since --since. What was pulled of the same archive before is replaced.
    """
    name = connection.service_name(service)
    folder = os.path.abspath(to) if to else pulling.cache_folder(name)
    with connection.connect(name) as server:
        wanted = pulling.Wanted(ask.people(server, ask.Whose(developers, teams)), since or "", session)
        done = pulling.pull(server, folder, wanted)
    if not done:
        raise SessionlogError("no such session that you may see was shipped")
    for found in done:
        counts = f"{plain.counted(len(found.sessions), 'session')}, {plain.counted(found.events, 'event')}"
        click.echo(
            f"{plain.safe(found.developer)}  {plain.path(found.project)}: {counts}  →  {plain.safe(found.place.db)}"
        )
    click.echo(f"\nLook at them:  SESSIONLOG_HOME={shlex.quote(folder)} sessionlog browse")


@example("sessionlog team show f0b8", "sessionlog team show f0b8 --full")
@click.command()
@click.argument("session")
@click.option("--full", is_flag=True, help="Fold nothing.")
@json_option
@service_option
@click.pass_context
def show(ctx: click.Context, session: str, full: bool, as_json: bool, service: str | None) -> None:
    """Show one session of anybody; SESSION is the start of its id."""
    found = _pull_one(connection.service_name(service), session)
    os.environ["SESSIONLOG_DB"] = found.place.db  # the one archive that there is, for the command
    ctx.invoke(show_command.command, session=found.sessions[0], full=full, as_json=as_json, everywhere=True)


@example("sessionlog team resume f0b8", "sessionlog team resume f0b8 --project ~/shop --dry-run")
@click.command()
@click.argument("session")
@click.option(
    "--project", metavar="DIR", type=click.Path(file_okay=False), help="My copy of the project; default: here."
)
@click.option("--dry-run", is_flag=True, help="Tell what would be written, and write nothing.")
@service_option
def resume(session: str, project: str | None, dry_run: bool, service: str | None) -> None:
    """Take over a session: write its transcript to where `claude --resume` finds it.

    SESSION is the start of its id. Paths of the other person's project become paths of mine. A file that exists and
    differs is left alone.
    """
    found = _pull_one(connection.service_name(service), session)
    mine = read.place_of(project).project
    done = hand_over.hand_over(found.place, found.sessions[0], found.project, mine, dry_run)
    for file in done:
        click.echo(f"{file.state:<14}  {plain.safe(file.path)}  ({file.bytes:,} bytes)")
    if any(file.state == "differs" for file in done):
        raise SessionlogError("a file is there with other content and was not touched; move it away first")
    if not dry_run:
        command_line = f"cd {shlex.quote(mine)} && claude --resume {shlex.quote(found.sessions[0])}"
        click.echo(f"\nGo on with the session of {plain.safe(found.developer)}:  {plain.safe(command_line)}")


@example("sessionlog team verify", "sessionlog team verify --developer ann --since 7d")
@click.command()
@whose_options
@since_option
@service_option
@click.pass_context
def verify(
    ctx: click.Context, developers: tuple[str, ...], teams: tuple[str, ...], since: str | None, service: str | None
) -> None:
    """Check the hashes of what is in the team archive, and compare this machine's archives with what was shipped."""
    name = connection.service_name(service)
    findings = 0
    folder = tempfile.mkdtemp(prefix="sessionlog-verify-")
    try:
        with connection.connect(name) as server:
            wanted = pulling.Wanted(ask.people(server, ask.Whose(developers, teams)), since or "")
            for found in pulling.pull(server, folder, wanted):
                heads = [
                    verifying.Head(found.place.name, *head)
                    for head in pulling.heads(server, found)
                    if found.content == "all"
                ]
                check = verifying.Check(found.place, heads=heads)
                problems = list(check.findings())
                findings += len(problems)
                about = f"{found.developer}, {found.project}"
                _report(about, [f"{problem.kind} {problem.what}: {problem.text}" for problem in problems], check.events)
            for place in read.all_places():
                choice = choices.of(place)
                if choice and choice.service == name:
                    differing = shipping.differences(server, place, choice, platform.node())
                    findings += len(differing)
                    _report(f"this machine, {place.project}", differing, shipping.count(place)[0])
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if findings:
        ctx.exit(1)


def _report(about: str, problems: list[str], events: int) -> None:
    if problems:
        click.secho(f"{plain.safe(about)}: {plain.counted(len(problems), 'finding')}", fg="red")
        for problem in problems[:20]:
            click.echo(f"  {plain.safe(problem)}")
        if len(problems) > 20:
            click.echo(f"  … and {len(problems) - 20:,} more")
    else:
        click.secho(f"{plain.safe(about)}: {plain.counted(events, 'event')} as they were recorded", fg="green")


def _pull_one(service: str, session: str) -> pulling.Pulled:
    with connection.connect(service) as server:
        ids = ask.session_ids(server, session)
        if not ids:
            raise SessionlogError(
                f"no session that you may see starts with {session!r}; `sessionlog team sessions` lists them"
            )
        if len(ids) > 1:
            raise SessionlogError(f"{session!r} is the start of {len(ids)} sessions: {', '.join(ids[:5])}")
        # Not among those that were pulled on purpose, which one session would replace.
        return pulling.pull(server, f"{pulling.cache_folder(service)}/single", pulling.Wanted(session=ids[0]))[0]
