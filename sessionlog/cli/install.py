"""`sessionlog install`: register the hooks with Claude Code and other agents."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from sessionlog.agents.registry import CLAUDE_CODE
from sessionlog.cli import agents, terminal
from sessionlog.cli.dialogue import confirm, note
from sessionlog.cli.main import example
from sessionlog.errors import SessionlogError
from sessionlog.install import commands, mcp_server, other_agents, settings_files
from sessionlog.record import bundle
from sessionlog.text import plain


@example(
    "sessionlog install",
    "sessionlog install --dry-run",
    "sessionlog install --scope local --events core --yes",
    "sessionlog install --supervisor 'sessionlog review'",
    "sessionlog install --mcp",
    "sessionlog install --agent codex",
    "sessionlog install --agent all",
)
@click.command("install")
@click.option(
    "--agent",
    type=click.Choice([*agents.CLIENTS, agents.ALL]),
    default=CLAUDE_CODE,
    show_default=True,
    help="The agent to record. all: those found on this machine.",
)
@click.option(
    "--scope",
    type=click.Choice(settings_files.SCOPES),
    default="user",
    show_default=True,
    help="user: all your sessions. local: yours in this project. project: everybody's, the file is shared.",
)
@click.option(
    "--events",
    type=click.Choice(["all", "core"]),
    help="core: the 14 events of the specification. all: newer ones too, as far as your Claude Code knows them.  "
    "[default: all; core in a shared file]",
)
@click.option(
    "--supervisor",
    metavar="COMMAND",
    help="Register a supervisor too: COMMAND decides whether Claude may stop, or ask you (see `sessionlog supervise`). "
    "Without this option, one that is registered stays as it is.",
)
@click.option(
    "--mcp", is_flag=True, help="Register the MCP server, through which agents ask the archive, and no hooks."
)
@click.option("--client-version", metavar="X.Y.Z", help="The version of Claude Code; asked from `claude` otherwise.")
@click.option("--diff", is_flag=True, help="Show the change as a diff before asking.")
@click.option("--dry-run", is_flag=True, help="Show the diff and write nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def command(
    agent: str,
    scope: str,
    events: str | None,
    supervisor: str | None,
    mcp: bool,
    client_version: str | None,
    diff: bool,
    dry_run: bool,
    yes: bool,
) -> None:
    """Register sessionlog's hooks with Claude Code, or with other agents.

    Only our own entries are added or brought up to date; every other byte of the settings file stays as it is. A copy
    of the file is kept beside it. `sessionlog uninstall` takes the entries out again.
    """
    if agent != CLAUDE_CODE and (scope != "user" or events or supervisor or client_version):
        raise SessionlogError("--scope, --events, --supervisor and --client-version are for Claude Code alone.")
    commands.refuse_cache()
    if mcp:
        _install_server(scope, Path.cwd(), dry_run, yes)
        return
    if agent in (CLAUDE_CODE, agents.ALL):
        _install_claude_code(scope, events, supervisor, client_version, diff, dry_run, yes)
    if agent != CLAUDE_CODE:
        agents.install(other_agents.found() if agent == agents.ALL else [agent], diff, dry_run, yes)
    if not dry_run:
        bundle.bring_up_to_date()


def _install_claude_code(
    scope: str,
    events: str | None,
    supervisor: str | None,
    client_version: str | None,
    diff: bool,
    dry_run: bool,
    yes: bool,
) -> None:
    cwd = Path.cwd()
    path = settings_files.settings_file(scope, cwd)
    version = commands.parse_version(client_version) if client_version else commands.client_version()
    if client_version and version is None:
        raise SessionlogError(f"{client_version} is no version of Claude Code. Write it as `claude --version` does.")
    shared = scope == "project"
    if events is None:  # a colleague's old client might ignore a whole file for one event that it does not know
        events = "core" if shared else "all"
    handlers = commands.handlers(commands.events_for(events, version), quiet_if_missing=shared)
    groups = None if supervisor is None else commands.supervisor_groups(supervisor, quiet_if_missing=shared)
    change = settings_files.plan_install(path, handlers, groups)
    if diff or dry_run:
        agents.show(change)
    if events == "all" and version is None:
        note(
            "The version of Claude Code is unknown, so only the 14 core events are registered (--client-version X.Y.Z)."
        )
    if shared and not shutil.which("sessionlog-hook"):
        note("sessionlog-hook is not on your PATH: hooks in a shared file record only where it is.")
    if shared and groups and not shutil.which("sessionlog-supervisor"):
        note("sessionlog-supervisor is not on your PATH: in a shared file it supervises only where it is.")
    for notice in settings_files.notices(cwd, path, handlers):
        note(notice)
    if not change.needed:
        click.echo(f"Already installed in {path}: {len(handlers)} events.")
        return
    if dry_run:
        click.echo("Dry run: nothing was written.")
        return
    terminal.say(
        f"{plain.counted(len(handlers), 'event')} will be recorded by hooks in {path}; the rest of it stays as it is.",
        err=False,
    )
    every_line = "" if diff else "`sessionlog install --diff` shows every line; "
    terminal.say(f"{every_line}`sessionlog uninstall` takes the hooks out again.", err=False)
    confirm(f"Write {path}?", yes)
    backup = settings_files.apply(change)
    click.secho(f"Installed in {path}: {len(handlers)} events.", fg="green")
    if supervisor is not None:
        click.echo(f"`{supervisor}` decides from now on whether Claude may stop, or ask you a question.")
    if backup:
        click.echo(f"The file as it was: {backup}")
    terminal.say("New sessions are recorded from now on, running ones too; no restart is needed.", err=False)
    click.echo("  sessionlog sessions  see what was recorded")
    click.echo("  sessionlog import    archive transcripts on disk")
    others = [name for name in other_agents.found() if not other_agents.is_registered(name)]
    if others:
        titles = ", ".join(other_agents.settings(name).TITLE for name in others)
        click.echo(f"  sessionlog install --agent all    record {titles} too")


def _install_server(scope: str, cwd: Path, dry_run: bool, yes: bool) -> None:
    path = mcp_server.server_file(scope, cwd)
    change = mcp_server.plan_install(path, scope)
    agents.show(change)
    if not change.needed:
        click.echo(f"A server called {mcp_server.NAME} is registered in {path}.")
        return
    if dry_run:
        click.echo("Dry run: nothing was written.")
        return
    confirm(f"Write {path}?", yes)
    settings_files.apply(change)
    click.secho(f"Installed in {path}.", fg="green")
    click.echo("New sessions can ask the archive; /mcp in Claude Code lists the tools.")
