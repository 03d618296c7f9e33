"""Options and small habits that the commands share."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any

import click

from sessionlog import times
from sessionlog.archive import read
from sessionlog.archive.place import Place
from sessionlog.errors import SessionlogError
from sessionlog.text.plain import safe


def project_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """--project and --all: whose archive is meant."""
    command = click.option("--all", "everywhere", is_flag=True, help="All projects instead of this one.")(command)
    return click.option(
        "--project", metavar="DIR", type=click.Path(), help="The project in DIR instead of the one we are in."
    )(command)


class When(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A point in time: 24h, 7d, yesterday, a date; handed on as the archive writes times."""

    name = "when"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            return times.parse(value)
        except SessionlogError as error:
            self.fail(str(error), param, ctx)


since_option = click.option("--since", type=When(), help="Only what happened since then: 24h, 7d, yesterday, a date.")

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for other programs.")


def places(project: str | None, everywhere: bool) -> list[Place]:
    """The archives that the options mean; what a person should know of them goes to stderr."""
    if project and everywhere:
        raise click.UsageError("--project and --all exclude each other.")
    found = read.all_places() if everywhere else [read.place_of(project)]
    for place in found:
        read.bring_up_to_date(place)
        for notice in read.notices(place):
            click.secho(f"Note: {safe(notice)}", fg="yellow", err=True)
    return found


def print_json(value: Any, indent: int | None = 2) -> None:
    """JSON for machines; archive text may hold what orjson refuses (lone surrogates, numbers beyond 64 bits)."""
    click.echo(_json(value, indent))


def print_json_lists(head: dict[str, Any], **lists: Iterable[Any]) -> None:
    """An object with lists in it that are too long to be held in memory: an item a line."""
    click.echo(_json(head, 2)[:-2], nl=False)
    for name, items in lists.items():
        click.echo(f",\n  {_json(name, None)}: [", nl=False)
        comma = "\n"
        for item in items:
            click.echo(f"{comma}    {_json(item, None)}", nl=False)
            comma = ",\n"
        click.echo("\n  ]", nl=False)
    click.echo("\n}")


def inert_json(text: str) -> str:
    """The same JSON without letters that a terminal obeys; JSON itself has escaped those below the blank."""
    return _OBEYED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _json(value: Any, indent: int | None) -> str:
    text = inert_json(json.dumps(value, ensure_ascii=False, indent=indent))
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


_OBEYED = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
