"""sessionlog schema."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import click

from sessionlog.archive import describe
from sessionlog.cli.common import json_option, print_json
from sessionlog.cli.completion import table_names
from sessionlog.cli.main import example
from sessionlog.cli.terminal import beside, page
from sessionlog.errors import SessionlogError
from sessionlog.text.plain import did_you_mean


@example("sessionlog schema", "sessionlog schema tool_calls", "sessionlog schema --json | jq -r '.[].name'")
@click.command()
@click.argument("table", required=False, shell_complete=table_names)
@json_option
def command(table: str | None, as_json: bool) -> None:
    """Print the tables, views and columns of an archive with what they mean; of TABLE alone, if given."""
    known = describe.tables()
    if table is not None and table not in known:
        raise SessionlogError(
            f"there is no table {table!r}{did_you_mean(table, known)}\nThere are: {', '.join(sorted(known))}."
        )
    found = [known[table]] if table else sorted(known.values(), key=lambda one: (one.kind, one.name))
    if as_json:
        print_json([{**one._asdict(), "columns": [column._asdict() for column in one.columns]} for one in found])
    elif table:
        click.echo("\n".join(_lines(found)))
    else:
        page(_lines(found))


def _lines(tables: Iterable[describe.Table]) -> Iterator[str]:
    for number, table in enumerate(tables):
        if number:
            yield ""
        yield f"{click.style(table.name, fg='yellow', bold=True)}  {click.style(table.kind, dim=True)}"
        yield from beside("  ", table.description)
        width = max(len(column.name) for column in table.columns)
        for column in table.columns:
            type_ = click.style(f"{column.type:<7}", dim=True)
            yield from beside(f"    {click.style(column.name.ljust(width), fg='cyan')}  {type_}  ", column.description)
