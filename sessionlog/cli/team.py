"""sessionlog team: the commands of the team archive."""

from __future__ import annotations

import importlib

import click

from sessionlog.cli.main import example
from sessionlog.text.plain import did_you_mean

# Command name -> (module, one line for the list of commands), as in cli/main.py.
COMMANDS: dict[str, tuple[str, str]] = {
    "add": ("team_admin", "Let a developer ship, as a member of a team."),
    "audit": ("team_read", "Run an audit over the sessions of everybody."),
    "hold": ("team_admin", "Put archives on legal hold, or release them."),
    "init": ("team_admin", "Make the team archive in a PostgreSQL database, or print the SQL."),
    "pull": ("team_read", "Bring sessions back as ordinary archives."),
    "reader": ("team_admin", "Let somebody read a team, or everything."),
    "remove": ("team_admin", "Let a developer ship no longer."),
    "resume": ("team_read", "Take over a session: write its transcript to where `claude --resume` finds it."),
    "retain": ("team_admin", "Remove what is older than a time, except what is on hold."),
    "search": ("team_read", "Search the sessions of everybody."),
    "sessions": ("team_read", "List sessions, with whose they are."),
    "show": ("team_read", "Show one session of anybody."),
    "sql": ("team_read", "Ask in SQL; nothing can be changed."),
    "stats": ("team_read", "Count by team, developer, project, model or day."),
    "verify": ("team_read", "Check hashes there, and compare this machine with what was shipped."),
}


class TeamGroup(click.Group):
    """Imports the module of a command when the command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"sessionlog.cli.{COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            ctx.fail(f"there is no command 'team {args[0]}'{did_you_mean(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in self.list_commands(ctx)])


@example(
    "sessionlog team init --service sessionlog",
    "sessionlog team add ann --team payments",
    "sessionlog team reader cat --team payments",
    "sessionlog team audit dangerous-commands --since 7d",
    "sessionlog team resume f0b8",
)
@click.group(cls=TeamGroup)
def command() -> None:
    """Ask and manage the team archive: the sessions of many people in one PostgreSQL database.

    `sessionlog ship` fills it. What you see depends on your role there: developers see their own sessions, leads those
    of their team, auditors all. `--service` names a section of ~/.pg_service.conf; the default is $PGSERVICE or
    `sessionlog`.
    """
