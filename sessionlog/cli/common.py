"""Options and helpers that the commands share."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click

from sessionlog import times
from sessionlog.archive import read
from sessionlog.archive.place import Place
from sessionlog.cli import terminal
from sessionlog.errors import SessionlogError
from sessionlog.text.plain import did_you_mean, safe

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def project_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """--project and --all: which archives to read."""
    command = click.option("--all", "everywhere", is_flag=True, help="All projects instead of this one.")(command)
    return project_option(command)


project_option = click.option(
    "--project", metavar="DIR", type=click.Path(file_okay=False), help="The project in DIR instead of the current one."
)


class When(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A point in time: 24h, 7d, yesterday, a date; handed on as the archive writes times."""

    name = "when"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            return times.parse(value)
        except SessionlogError as error:
            self.fail(str(error), param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem  # for the Tab key only

        return [CompletionItem(one) for one in ("today", "yesterday", "24h", "7d", "30d") if one.startswith(incomplete)]


since_option = click.option("--since", type=When(), help="Only what happened since then: 24h, 7d, yesterday, a date.")


def limit_option(what: str, default: int = 20) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """-n: how many."""
    help_text = f"How many {what}; 0 for all."
    return click.option("-n", "--limit", type=click.IntRange(0), default=default, show_default=True, help=help_text)


fail_if_none_option = click.option("--fail-if-none", is_flag=True, help="Exit with 1 if nothing is found.")

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for other programs.")


def file_place(file: str, project: str | None) -> Place:
    """The archive of the project that a file is in; the file itself need not be there any more."""
    folder = os.path.dirname(os.path.abspath(file))
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    return places(project or folder, False)[0]


def places(project: str | None, everywhere: bool) -> list[Place]:
    """The archives that the options name; notices about them are printed to stderr."""
    if project and everywhere:
        raise click.UsageError("--project and --all exclude each other.")
    found = read.all_places() if everywhere else [read.place_of(project)]
    for place in found:
        read.bring_up_to_date(place)
        for notice in read.notices(place):
            terminal.say(f"Note: {safe(notice)}", fg="yellow")
    return found


def nothing_found(asked: list[Place], what: str, fail: bool, as_json: bool = False) -> None:
    """The one rule for an empty answer: a sentence on stderr and exit 0, or 1 if the caller asked for that."""
    if not as_json:
        empty = not any(os.path.exists(place.db) for place in asked)
        text = str(read.nothing_recorded(asked)) if empty else f"{what}{'' if what.endswith('?') else '.'}"
        terminal.say(text[:1].upper() + text[1:])
    if fail:
        raise click.exceptions.Exit(1)


def unknown_value(found: list[Place], **filters: str | None) -> str:
    """The end of a sentence that nothing was found: which tool or branch does not occur, and which one may be meant."""
    if not any(filters.values()):
        return ""
    from sessionlog.ask.rollup import open as rollup  # for those that found nothing only
    from sessionlog.ask.rollup import sessions, stats
    from sessionlog.cli import counting

    try:
        with stats.Counted(found, connect=counting.at_once) as counted:
            known = sessions.choices([sessions.Source(place.name, rows) for place, rows in counted.connections])
    except rollup.StillCounting:
        return ""
    for name, value in filters.items():
        if value and value not in known.get(name, ()):
            return f"; there is no {name} {value!r} here{did_you_mean(value, known.get(name, ()))}"
    return ""


def print_json(value: Any, indent: int | None = 2) -> None:
    """JSON for machines; archive text may hold what orjson refuses (lone surrogates, numbers beyond 64 bits)."""
    click.echo(to_json(value, indent))


def print_json_lists(head: dict[str, Any], **lists: Iterable[Any]) -> None:
    """An object with lists in it that are too long to be held in memory: an item a line."""
    click.echo(to_json(head, 2)[:-2], nl=False)
    for name, items in lists.items():
        click.echo(f",\n  {to_json(name)}: [", nl=False)
        comma = "\n"
        for item in items:
            click.echo(f"{comma}    {to_json(item)}", nl=False)
            comma = ",\n"
        click.echo("\n  ]", nl=False)
    click.echo("\n}")


def to_json(value: Any, indent: int | None = None) -> str:
    """JSON without control characters; \\u escapes where stdout cannot write a character."""
    import json  # for programs only

    text = json.dumps(value, ensure_ascii=not terminal.writes_unicode(), indent=indent)
    # JSON itself has escaped the control characters below the blank.
    text = re.sub(_OBEYED, lambda match: f"\\u{ord(match[0]):04x}", text)
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


_OBEYED = "[\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
