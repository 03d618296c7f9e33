"""`sessionlog completion`, and what the Tab key offers where an argument has values."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from itertools import islice
from typing import TYPE_CHECKING

import click

from sessionlog.archive import read
from sessionlog.archive.place import Place
from sessionlog.cli.main import cli, example
from sessionlog.errors import SessionlogError
from sessionlog.text import plain
from sessionlog.text.plain import did_you_mean

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

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
    from click.shell_completion import get_completion_class

    if complete := get_completion_class(shell):
        click.echo(complete(cli, {}, "sessionlog", "_SESSIONLOG_COMPLETE").source())


def _item(value: str, about: str | None = None) -> CompletionItem:
    from click.shell_completion import CompletionItem

    return CompletionItem(value, help=about)


def session_ids(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names for the newest sessions, tags, and ids that begin as typed, each with the first prompt."""
    found = [_item(name, about) for name, about in NAMES.items() if name.startswith(incomplete)]
    found += tags(ctx, param, incomplete)
    with suppress(OSError, sqlite3.Error, SessionlogError):  # whatever is wrong, a Tab key is not the place to say it
        for place in _places(ctx):
            with closing(read.connect(place)) as connection:
                found += islice(_beginning_with(incomplete, connection), OFFERED)
    return found


NAMES = {
    "last": "the newest session",
    "last~1": "the one before it",
    "today": "the newest session of today",
    "yesterday": "the newest session of yesterday",
}


def tags(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The tags of sessions."""
    from sessionlog.archive import notes

    with suppress(OSError, SessionlogError):
        found = {tag for place in _places(ctx) for one in notes.load(place).values() for tag in one.tags}
        return _beginning(sorted(found), incomplete, "tag")
    return []


def offer(values: Callable[[], Iterable[str]]) -> Callable[..., list[CompletionItem]]:
    """The completion of an argument whose values a function lists; it is called when the Tab key is pressed."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        with suppress(OSError, sqlite3.Error, SessionlogError):
            return _beginning(values(), incomplete)
        return []

    return complete


def event_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The hook events; of another agent, its own."""
    from sessionlog.agents import registry
    from sessionlog.agents.claude_code.events import RECORDED

    agent = ctx.params.get("agent")
    if agent in registry.others("settings"):
        from sessionlog.install import other_agents

        return _beginning(other_agents.settings(str(agent)).EVENTS, incomplete)
    return _beginning(RECORDED, incomplete)


def tool_list(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Tools with commas between them."""
    before, comma, last = incomplete.rpartition(",")
    items = _recorded(ctx, "tool", last)
    return [_item(f"{before}{comma}{item.value}") for item in items]


def agent_types(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The types of sub-agents that occur in the archives."""
    found: set[str] = set()
    with suppress(OSError, sqlite3.Error, SessionlogError):
        for place in _places(ctx):
            with closing(read.connect(place)) as connection:
                rows = connection.execute("SELECT DISTINCT agent_type FROM subagent_facts WHERE agent_type <> ''")
                found |= {row["agent_type"] for row in rows}
    return _beginning(sorted(found), incomplete)


def services() -> list[str]:
    """The sections of PostgreSQL's service file."""
    import configparser
    import os

    parser = configparser.ConfigParser(interpolation=None, strict=False)
    with suppress(configparser.Error, UnicodeDecodeError):
        parser.read(os.environ.get("PGSERVICEFILE") or os.path.expanduser("~/.pg_service.conf"), encoding="utf-8")
    return parser.sections()


def revisions() -> list[str]:
    """HEAD, and the branches and tags of the repository that we are in."""
    import os

    from sessionlog.system.git import Repository

    root = os.getcwd()
    while not os.path.exists(f"{root}/.git") and root != os.path.dirname(root):
        root = os.path.dirname(root)
    names = Repository(root).run("for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/tags")
    return ["HEAD", *names.decode("utf-8", "replace").split()]


def audit_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The audits."""
    from sessionlog.ask import audit

    found = audit.audits().values()
    return [_item(one.name, one.title) for one in found if one.name.startswith(incomplete)]


def _places(ctx: click.Context) -> list[Place]:
    return read.all_places() if ctx.params.get("everywhere") else [read.place_of(ctx.params.get("project"))]


def _beginning(values: Iterable[str], incomplete: str, about: str | None = None) -> list[CompletionItem]:
    """Those that begin as typed. What a shell would not take literally is never put on a command line."""
    found = [one for one in values if one.startswith(incomplete) and re.fullmatch(LITERAL, one)]
    return [_item(one, about) for one in found]


LITERAL = r"[\w./~@%+-]+"


def table_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The tables and views of an archive."""
    from sessionlog.archive import describe

    return [_item(name) for name in describe.tables() if name.startswith(incomplete)]


def recorded_values(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The tools, branches, models or agents that occur in the archives."""
    return _recorded(ctx, param.name or "", incomplete)


def _recorded(ctx: click.Context, name: str, incomplete: str) -> list[CompletionItem]:
    from sessionlog.ask.rollup import sessions, stats
    from sessionlog.cli import counting

    with (
        suppress(OSError, sqlite3.Error, SessionlogError),
        stats.Counted(_places(ctx), connect=counting.at_once) as counted,
    ):
        sources = [sessions.Source(place.name, connection) for place, connection in counted.connections]
        return _beginning(sessions.choices(sources).get(name, []), incomplete)
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
        if row["session_id"].startswith(incomplete) and re.fullmatch(LITERAL, row["session_id"]):
            prompt = plain.one_line(row["first_prompt"] or "", 60)
            yield _item(row["session_id"], f"{plain.local_time(row['started_at'])} {prompt}")
