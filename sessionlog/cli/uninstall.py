"""`sessionlog uninstall`: take the hooks out of the settings files of Claude Code and other agents."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from sessionlog.agents.registry import CLAUDE_CODE
from sessionlog.archive.place import home_folder
from sessionlog.cli import agents, terminal
from sessionlog.cli.dialogue import confirm, note
from sessionlog.cli.main import example
from sessionlog.errors import SessionlogError
from sessionlog.install import mcp_server, other_agents, settings_files
from sessionlog.maintain import purge as maintain
from sessionlog.text import plain


@example(
    "sessionlog uninstall",
    "sessionlog uninstall --dry-run",
    "sessionlog uninstall --agent codex",
    "sessionlog uninstall --purge",
)
@click.command("uninstall")
@click.option(
    "--agent",
    type=click.Choice([*agents.CLIENTS, agents.ALL]),
    default=agents.ALL,
    show_default=True,
    help="The agent that is no longer to be recorded.",
)
@click.option("--purge", is_flag=True, help="Also remove everything that was recorded, for all projects.")
@click.option("--diff", is_flag=True, help="Show the change as a diff before asking.")
@click.option("--dry-run", is_flag=True, help="Show the diff and write nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def command(agent: str, purge: bool, diff: bool, dry_run: bool, yes: bool) -> None:
    """Take sessionlog's hooks and its MCP server out of the settings files of the user and of this project.

    The files become what they were before `sessionlog install`, with all that was changed in them since. What was
    recorded stays, unless you add --purge.
    """
    cwd = Path.cwd()
    changes: list[settings_files.Change] = []
    problems: list[str] = []
    files = settings_files.all_settings_files(cwd) if agent in (CLAUDE_CODE, agents.ALL) else []
    others = [name for name in other_agents.names() if agent in (name, agents.ALL)]
    plans = [partial(settings_files.plan_uninstall, path) for path in files]
    if files:
        plans += [partial(mcp_server.plan_uninstall, path) for path in mcp_server.all_server_files(cwd)]
    for plan in [*plans, *(partial(other_agents.plan_uninstall, name) for name in others)]:
        try:
            change = plan()
        except SessionlogError as error:  # a broken file in one place keeps nobody from uninstalling in another
            problems.append(str(error))
            continue
        if change.needed:
            changes.append(change)
            if diff or dry_run:
                agents.show(change)
    for problem in problems:
        note(problem)
    if not changes:
        click.echo("Nothing of sessionlog is in the settings files of this user and this project.")
    elif dry_run:
        click.echo("Dry run: nothing was written.")
    else:
        for change in changes:
            removed = sum(line.startswith("-") for line in change.diff()) - 1  # one names the file
            lines = plain.counted(removed, "line")
            terminal.say(f"{lines} of sessionlog will go from {change.path}; the rest stays.", err=False)
        if not diff:
            click.echo("`sessionlog uninstall --diff` shows the change.")
        confirm(f"Write {plain.counted(len(changes), 'file')}?", yes)
        for change in changes:
            backup = settings_files.apply(change)
            kept = f" (as it was: {backup})" if backup else ""
            terminal.say(f"Uninstalled from {change.path}{kept}", err=False, fg="green")
    if plugin := settings_files.enabled_plugin(cwd):
        note(f"The plugin {plugin} still records: `claude plugin disable {plugin}` stops it.")
    if purge:
        _purge(dry_run, yes)
    else:
        click.echo(f"The archive stays where it is: {home_folder()}")
    if problems:
        raise SessionlogError("Not every settings file could be read; see above.")


def _purge(dry_run: bool, yes: bool) -> None:
    found = maintain.plan()
    what = f"{plain.counted(found.archives, 'archive')} in {home_folder()} ({plain.size(found.size)})"
    if not found.paths and not dry_run:
        maintain.run(found)  # the empty folder
    if not found.paths:
        click.echo("Nothing is recorded.")
    elif dry_run:
        click.echo(f"Dry run: {what} would be removed.")
    else:
        confirm(f"Remove {what} for good?", yes, "The archives were left as they are")  # hooks may be out by now
        maintain.run(found)
        click.secho(f"Removed {what}.", fg="green")
