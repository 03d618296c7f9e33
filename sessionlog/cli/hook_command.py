"""`sessionlog hook-command`: what to register by hand."""

from __future__ import annotations

import json

import click

from sessionlog.agents.claude_code.events import CORE, RECORDED
from sessionlog.cli.main import example
from sessionlog.install import commands


@example("sessionlog hook-command", "sessionlog hook-command Stop", "sessionlog hook-command Stop --json")
@click.command("hook-command")
@click.argument("event", required=False, type=click.Choice(RECORDED), metavar="[EVENT]")
@click.option(
    "--json", "as_json", is_flag=True, help="Print a piece of settings.json; for all core events without EVENT."
)
def command(event: str | None, as_json: bool) -> None:
    """Print the shell command that records EVENT, to register by hand as a Claude Code hook.

    Without EVENT, print one that serves every event. `sessionlog install` does all this for you.
    """
    if as_json:
        handlers = commands.handlers([event] if event else CORE)
        groups = {name: [{"hooks": [handler]}] for name, handler in handlers.items()}
        click.echo(json.dumps({"hooks": groups}, indent=2, ensure_ascii=False))
    else:
        click.echo(commands.hook_command(event))
