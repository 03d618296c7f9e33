"""Rows of an answer for people and for programs: --table, --json, --csv."""

from __future__ import annotations

import base64
import csv
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import click

from sessionlog.cli import table, terminal
from sessionlog.cli.common import to_json
from sessionlog.text import plain

FORMS = {
    "json": "Print a JSON list of objects.",
    "csv": "Print CSV.",
    "table": "Print a table, also where no terminal is.",
}


def form_options(*forms: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Options for these forms; the last one given counts, and none is `form=None`."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for form in reversed(forms):
            command = click.option(f"--{form}", "form", flag_value=form, default=None, help=FORMS[form])(command)
        return command

    return add


def print_rows(columns: Sequence[str], rows: Iterable[Sequence[Any]], form: str | None) -> None:
    """Print rows as they come, in a form; without one, a table on a terminal and tab-separated lines elsewhere."""
    printers: dict[str, Callable[[Sequence[str], Iterable[Sequence[Any]]], None]] = {
        "json": _print_json,
        "csv": _print_csv,
        "table": _print_table,
    }
    print_them = printers[form] if form else _print_table if sys.stdout.isatty() else _print_lines
    print_them(columns, rows)


def _print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print a table as wide as the terminal."""
    for line in table.render(columns, rows, terminal.width()):
        click.echo(line)


def _print_json(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A list with a line for each row: valid as a whole, and good for grep."""
    between = "["
    for row in rows:
        values = dict(zip(columns, map(_for_json, row), strict=True))
        click.echo(f"{between}\n{to_json(values)}", nl=False)
        between = ","
    click.echo("[]" if between == "[" else "\n]")


def _print_csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Values as they are for programs; on a terminal, without control characters."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    shown: Callable[[str], str] = plain.safe if sys.stdout.isatty() else str
    writer.writerow([shown(name) for name in columns])
    for row in rows:
        writer.writerow([None if value is None else shown(_text(value)) for value in row])
    sys.stdout.flush()  # a reader that left is noticed here, where that is no error


def _print_lines(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Tabs between values, a line for each row: for cut, sort and awk."""
    click.echo("\t".join(map(_on_one_line, columns)))
    for row in rows:
        click.echo("\t".join(_on_one_line(value) for value in row))


def _on_one_line(value: Any) -> str:
    if value is None:
        return ""
    text = _text(value).replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t")
    return plain.safe(text)


def _text(value: Any) -> str:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)


def _for_json(value: Any) -> Any:
    """Bytes as Datasette writes them; null for what JSON has no number for."""
    if isinstance(value, bytes):
        return {"$base64": True, "encoded": base64.b64encode(value).decode()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
