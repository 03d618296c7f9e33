"""`sessionlog hook-command`: what to register by hand."""

from __future__ import annotations

import json

import click

from sessionlog.agents.claude_code.events import CORE, RECORDED
from sessionlog.agents.registry import CLAUDE_CODE
from sessionlog.cli import agents
from sessionlog.cli.completion import event_names
from sessionlog.cli.main import example
from sessionlog.install import commands, other_agents
from sessionlog.text import plain


@example(
    "sessionlog hook-command",
    "sessionlog hook-command Stop",
    "sessionlog hook-command Stop --json",
    "sessionlog hook-command --agent gemini BeforeTool",
)
@click.command("hook-command")
@click.argument("event", required=False, metavar="[EVENT]", shell_complete=event_names)
@click.option(
    "--agent", type=click.Choice(agents.CLIENTS), default=CLAUDE_CODE, show_default=True, help="The agent to record."
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print a piece of settings.json; for all core events without EVENT."
)
def command(event: str | None, agent: str, as_json: bool) -> None:
    """Print the shell command that records EVENT, to register by hand as a hook of Claude Code or another agent.

    Without EVENT, print one that serves every event. `sessionlog install` does all this for you.
    """
    known = RECORDED if agent == CLAUDE_CODE else other_agents.settings(agent).EVENTS
    if event and event not in known:
        suggestion = plain.did_you_mean(event, known)
        raise click.BadParameter(
            f"there is no event {event!r}{suggestion}\nThere are: {', '.join(known)}.", param_hint="'[EVENT]'"
        )
    if agent != CLAUDE_CODE and not as_json:
        click.echo(other_agents.hook_command(agent, event))
    elif as_json:
        if agent == CLAUDE_CODE:
            handlers = commands.handlers([event] if event else CORE)
        else:
            every = other_agents.handlers(agent)
            handlers = {event: every[event]} if event else every
        groups = {name: [{"hooks": [handler]}] for name, handler in handlers.items()}
        click.echo(json.dumps({"hooks": groups}, indent=2, ensure_ascii=False))
    else:
        click.echo(commands.hook_command(event))
