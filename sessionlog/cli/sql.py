"""sessionlog sql."""

from __future__ import annotations

import sys

import click

from sessionlog.ask import sql
from sessionlog.cli.common import places, project_options
from sessionlog.cli.main import example
from sessionlog.cli.rows import form_options, print_rows


@example(
    "sessionlog sql 'SELECT at, command FROM bash_commands WHERE failed ORDER BY at DESC LIMIT 10'",
    "sessionlog sql --all 'SELECT DISTINCT project, model FROM session_usage' --json",
    "sessionlog sql -p tool Bash 'SELECT started_at, error FROM tool_calls WHERE tool_name = :tool'",
    "sessionlog sql - < report.sql",
)
@click.command()
@click.argument("query")
@click.option("-p", "--param", "parameters", nargs=2, multiple=True, metavar="NAME VALUE", help="The value of :NAME.")
@project_options
@form_options("table", "json", "csv")
def command(
    query: str, parameters: tuple[tuple[str, str], ...], project: str | None, everywhere: bool, form: str | None
) -> None:
    """Ask in SQL; QUERY may be - to read it from stdin. Nothing can be changed.

    With --all, each table and view holds the rows of all projects and has a column `project`: a count counts them all,
    and a join of two tables needs the same project in both. `sessionlog schema` lists tables and columns.
    """
    text = sys.stdin.read() if query == "-" else query
    with sql.ask(places(project, everywhere), text, dict(parameters), all_together=everywhere) as answer:
        print_rows(answer.columns, answer.rows, form)
