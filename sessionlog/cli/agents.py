"""What `install`, `uninstall` and `hook-command` do for agents other than Claude Code."""

from __future__ import annotations

import click

from sessionlog.agents.registry import CLAUDE_CODE
from sessionlog.cli.dialogue import confirm, note
from sessionlog.errors import SessionlogError
from sessionlog.install import other_agents, settings_files
from sessionlog.text.plain import counted, safe

ALL = "all"

# The values of --client: whose sessions to show.
CLIENTS = [CLAUDE_CODE, *other_agents.names()]


def install(names: list[str], diff: bool, dry_run: bool, yes: bool) -> None:
    """Register the hook with these agents; a settings file that cannot be changed does not stop the others."""
    problems = []
    for name in names:
        agent = other_agents.settings(name)
        try:
            change = other_agents.plan_install(name)
        except SessionlogError as error:
            problems.append(str(error))
            continue
        if diff or dry_run:
            show(change)
        if not change.needed:
            click.echo(f"{agent.TITLE}: already installed in {change.path}.")
        elif dry_run:
            click.echo("Dry run: nothing was written.")
        else:
            confirm(f"Write {change.path}?", yes)
            backup = settings_files.apply(change)
            click.secho(
                f"{agent.TITLE}: installed in {change.path}, {counted(len(agent.EVENTS), 'event')}.", fg="green"
            )
            if backup:
                click.echo(f"The file as it was: {backup}")
        if agent.NOTICE:
            note(agent.NOTICE)
    _report(problems)


def show(change: settings_files.Change) -> None:
    """Print the diff, in colour on a terminal (click takes the colour out elsewhere)."""
    for line in change.diff():
        click.secho(safe(line), fg={"+": "green", "-": "red", "@": "cyan"}.get(line[:1]))


def _report(problems: list[str]) -> None:
    for problem in problems:
        note(problem)
    if problems:
        raise SessionlogError("Not every settings file could be changed; see above.")
