"""sessionlog audit."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from typing import Any

import click

from sessionlog.archive import read
from sessionlog.ask import audit
from sessionlog.cli import table, terminal
from sessionlog.cli.common import places, project_options, since_option
from sessionlog.cli.completion import audit_names, client_option
from sessionlog.cli.main import example
from sessionlog.cli.rows import form_options, print_rows
from sessionlog.errors import SessionlogError
from sessionlog.text import plain

# Of one session; --json and --csv list all.
SHOWN_ROWS = 20
# Said by the headings, or of use to programs only.
NOT_SHOWN = ("project", "session_id", "client", "agent_id", "tool_use_id")
NARROWEST = 4
WIDE = 120
NARROW = 60
BETWEEN = "\n"  # rows of several lines


@example(
    "sessionlog audit",
    "sessionlog audit dangerous-commands --since 7d",
    "sessionlog audit outside-project --all --csv > outside.csv",
    "sessionlog audit bypassed --since 24h --fail-if-any",
)
@click.command()
@click.argument("name", required=False, shell_complete=audit_names)
@since_option
@client_option
@project_options
@click.option("--empty", "with_empty", is_flag=True, help="Without NAME, list also the audits that find nothing.")
@click.option(
    "--wait/--no-wait",
    default=None,
    help="Read all of a large archive before the answer, or answer after 2 seconds from the newest part and say so. "
    "The default is to wait with --json, --csv and --fail-if-any only.",
)
@form_options("json", "csv")
@click.option(
    "--fail-if-any",
    is_flag=True,
    help="End with 1 if there is a row; without NAME, if an audit whose rows are findings has one.",
)
@click.pass_context
def command(
    ctx: click.Context,
    name: str | None,
    since: str | None,
    client: str | None,
    project: str | None,
    everywhere: bool,
    with_empty: bool,
    wait: bool | None,
    form: str | None,
    fail_if_any: bool,
) -> None:
    """Run the audit NAME; without NAME, list the audits that find something and how many rows each finds.

    Audits in red are risks or trouble; the others count. The same audits are canned queries in Datasette.
    """
    query = audit.find(name) if name else None
    asked = places(project, everywhere)
    found = [place for place in asked if os.path.exists(place.db)]
    if not audit.has_sessions(found, client):  # zeros would look like an all-clear
        if form and not query:
            _print_list(dict.fromkeys(audit.audits(), audit.Count(0, False)), form, with_empty)
        raise _nothing_of(client) if client and audit.has_sessions(found) else read.nothing_recorded(asked)
    waits = fail_if_any or (form is not None and query is not None) if wait is None else wait
    if query:
        seconds = float("inf") if waits else audit.SECONDS
        answer = audit.ask_newest_first(found, query, since or "", seconds, client)
        _print_answer(answer, form, everywhere)
        findings = len(answer.rows)
    else:
        patience = float("inf") if waits else audit.PATIENCE
        counts = audit.counts(found, since or "", patience, client)
        _print_list(counts, form, with_empty)
        findings = sum(counts[query.name].rows for query in audit.audits().values() if query.finding)
    if fail_if_any and findings:
        ctx.exit(1)


def _nothing_of(client: str) -> SessionlogError:
    return SessionlogError(f"no session of {client} is recorded here; `sessionlog stats --by client` lists the agents")


def _print_list(counts: dict[str, audit.Count], form: str | None, with_empty: bool) -> None:
    """For people, the audits that find something, under the names of their groups; for programs, all of them."""
    queries = list(audit.audits().values())
    if form:
        listed = [
            {**query._asdict(), "rows": counts[query.name].rows if counts[query.name].is_all else None}
            for query in queries
        ]
        print_rows(list(listed[0]), [list(query.values()) for query in listed], form)
        return
    empty = [query.name for query in queries if counts[query.name] == audit.Count(0, True)]
    shown = [query for query in queries if with_empty or query.name not in empty]
    widest = max((len(query.name) for query in shown), default=0)
    for group, some in itertools.groupby(shown, lambda query: query.group):
        click.secho(group, bold=True)
        for query in some:
            count = counts[query.name]
            number = click.style(f"{count!s:>6}", fg="red" if query.finding and count.rows else None)
            terminal.print_line(f"{number}  {click.style(query.name.ljust(widest), fg='yellow')}  {query.title}")
    if not all(count.is_all for count in counts.values()):
        click.secho("+ and ? are counts of the newest part; add --wait to count all of it.", dim=True)
    if empty and not with_empty:
        which = "it" if len(empty) == 1 else "them"
        click.secho(f"{plain.counted(len(empty), 'audit')} found nothing (--empty lists {which}).", fg="green")
    if len(empty) < len(queries):
        click.secho("`sessionlog audit NAME` shows the rows.", dim=True)


def _print_answer(answer: audit.Answer, form: str | None, with_project: bool) -> None:
    rows = answer.rows
    if form:
        print_rows(list(rows[0]) if rows else ["project"], (tuple(row.values()) for row in rows), form)
    elif rows:
        _print_sessions(rows, with_project)
    elif answer.is_all:
        click.secho("Nothing found.", fg="green")
    else:  # no all-clear
        click.echo("Nothing found so far.")
    if not answer.is_all:
        back_to = plain.local_time(answer.back_to)
        click.secho(f"Searched back to {back_to}; add --wait to search all of it.", fg="yellow", err=form is not None)


def _print_sessions(rows: list[audit.Row], with_project: bool) -> None:
    """A heading for each project and session, a line for each row, the first of many."""
    columns = [name for name in rows[0] if name not in NOT_SHOWN and any(row[name] is not None for row in rows)]
    groups = [
        (heading, list(group))
        for heading, group in itertools.groupby(rows, lambda row: (row["project"], row.get("session_id")))
    ]
    shown = [[_value(column, row[column]) for column in columns] for _, group in groups for row in group[:SHOWN_ROWS]]
    several = len({row.get("client") for row in rows}) > 1
    width = terminal.width() - 2
    if terminal.width() < NARROW:  # a value a line: columns would show nothing whole
        remaining: Iterator[str] = ("\n  ".join(table.listed(columns, row, width)) for row in shown)
    else:
        times = [column for column in columns if _is_time(column)]
        heading, rule, *lines = table.render(columns, shown, width, NARROWEST, times)
        click.secho(f"  {heading}\n  {rule}", dim=True)
        remaining = iter(lines)
    for (project, session_id), group in groups:
        title = [plain.path(project)] if with_project else []
        title += [f"session {plain.safe(session_id)}"] if session_id else []
        title += [plain.safe(group[0]["client"])] if several and group[0].get("client") else []
        if title:
            click.secho("  ".join(title), fg="yellow")
        for number, line in enumerate(itertools.islice(remaining, min(len(group), SHOWN_ROWS))):
            click.echo(f"{BETWEEN if number and terminal.width() < NARROW else ''}  {line}")
        if len(group) > SHOWN_ROWS:
            click.echo(f"  … and {len(group) - SHOWN_ROWS:,} more (--json and --csv list all)")


def _value(column: str, value: Any) -> Any:
    if not _is_time(column) or not isinstance(value, str):
        return value
    # On a narrow terminal the year gives way to what happened.
    return plain.local_time(value, *(["%m-%d %H:%M"] if terminal.width() < WIDE else []))


def _is_time(column: str) -> bool:
    return column == "at" or column.endswith("_at")
