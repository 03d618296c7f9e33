"""`sessionlog completion`, and what is offered where a session id is expected."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from itertools import islice

import click
from click.shell_completion import CompletionItem, get_completion_class

from sessionlog.archive import read
from sessionlog.cli.main import cli, example
from sessionlog.errors import SessionlogError
from sessionlog.text import plain
from sessionlog.text.plain import did_you_mean

# Every command imports this module. What only a Tab key or one option needs is imported there.

OFFERED = 50  # more than that nobody reads, and a shell waits for each


@example(
    "source <(sessionlog completion bash)",
    "sessionlog completion bash > ~/.local/share/bash-completion/completions/sessionlog",
    'sessionlog completion zsh > "${fpath[1]}/_sessionlog"',
    "sessionlog completion fish > ~/.config/fish/completions/sessionlog.fish",
)
@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print what makes SHELL complete commands, options and session ids after the Tab key.

    Put it where your shell looks for completions, as below, or into the file that it reads at its start. Bash must be
    4.4 or newer.
    """
    if complete := get_completion_class(shell):
        click.echo(complete(cli, {}, "sessionlog", "_SESSIONLOG_COMPLETE").source())


def session_ids(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The newest sessions whose id begins as typed, each with its first prompt."""
    found = [CompletionItem("last", help="the newest session")] if "last".startswith(incomplete) else []
    with suppress(OSError, sqlite3.Error, SessionlogError):  # whatever is wrong, a Tab key is not the place to say it
        places = read.all_places() if ctx.params.get("everywhere") else [read.place_of(ctx.params.get("project"))]
        for place in places:
            with closing(read.connect(place)) as connection:
                found += islice(_beginning_with(incomplete, connection), OFFERED)
    return found


def audit_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The audits."""
    from sessionlog.ask import audit

    found = audit.audits().values()
    return [CompletionItem(one.name, help=one.title) for one in found if one.name.startswith(incomplete)]


def table_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The tables and views of an archive."""
    from sessionlog.archive import describe

    return [CompletionItem(name) for name in describe.tables() if name.startswith(incomplete)]


def recorded_values(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The tools, branches, models or agents that occur in the archives."""
    from sessionlog.ask.rollup import sessions, stats

    with suppress(OSError, sqlite3.Error, SessionlogError):
        found = read.all_places() if ctx.params.get("everywhere") else [read.place_of(ctx.params.get("project"))]
        with stats.Counted(found) as counted:
            sources = [sessions.Source(place.name, connection) for place, connection in counted.connections]
            values = sessions.choices(sources).get(param.name or "", [])
        # What a shell would not take literally is never put on a command line.
        return [CompletionItem(one) for one in values if one.startswith(incomplete) and re.fullmatch(r"[\w./-]+", one)]
    return []


class Client(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """An agent: one that this version knows, or one that an archive names."""

    name = "agent"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from sessionlog.agents import registry
        from sessionlog.archive import one_client

        known = [registry.CLAUDE_CODE, *registry.others()]
        if value not in known and value not in one_client.present(read.all_places()):
            self.fail(
                f"there is no agent {value!r}{did_you_mean(value, known)} There are: {', '.join(known)}.", param, ctx
            )
        return value


# The filter of every command that lists or counts: one name, one meaning (see archive/one_client.py).
client_option = click.option(
    "--client",
    metavar="AGENT",
    type=Client(),
    shell_complete=recorded_values,
    help="Only sessions of this agent, such as claude-code or codex.",
)


def _beginning_with(incomplete: str, connection: sqlite3.Connection) -> Iterator[CompletionItem]:
    from sessionlog.archive import lookup

    for row in lookup.sessions(connection):
        # What a shell would not take literally is never put on a command line.
        if row["session_id"].startswith(incomplete) and re.fullmatch(r"[\w.-]+", row["session_id"]):
            prompt = plain.one_line(row["first_prompt"] or "", 60)
            yield CompletionItem(row["session_id"], help=f"{plain.local_time(row['started_at'])} {prompt}")
