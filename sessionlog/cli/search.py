"""sessionlog search."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import click

from sessionlog.archive import notes, one_client, read
from sessionlog.archive.place import Place
from sessionlog.ask.search import find as search
from sessionlog.ask.search import labels
from sessionlog.ask.search.partial import Partial
from sessionlog.cli import terminal
from sessionlog.cli.common import (
    When,
    fail_if_none_option,
    json_option,
    limit_option,
    nothing_found,
    places,
    print_json,
    project_options,
    since_option,
    unknown_value,
)
from sessionlog.cli.completion import agent_types, client_option, event_names, recorded_values, session_ids
from sessionlog.cli.main import example
from sessionlog.cli.progress import Bar
from sessionlog.errors import SessionlogError
from sessionlog.text import plain


@example(
    "sessionlog search 折扣",
    'sessionlog search "connection refused" --failed --since 7d',
    "sessionlog search threading.Lock --file '*.py' --all",
    "sessionlog search 'deploy* -staging' --tool Bash --context 2",
    "sessionlog search --regex 'TODO:? +[A-Z]' --json",
)
@click.command(context_settings={"ignore_unknown_options": True})  # a question may begin with -not
@click.argument("query", nargs=-1, required=True)
@project_options
@click.option(
    "--session", metavar="ID", shell_complete=session_ids, help="In this session; the start of its id is enough."
)
@click.option("--tool", shell_complete=recorded_values, help="Calls of this tool, such as Bash.")
@click.option("--event", shell_complete=event_names, help="Events of this name, such as UserPromptSubmit.")
@click.option("--file", metavar="GLOB", help="Calls on these files, such as 'src/*.py'.")
@since_option
@click.option("--until", type=When(), help="Only what happened before then.")
@click.option("--branch", shell_complete=recorded_values, help="Sessions on this git branch.")
@client_option
@click.option(
    "--agent", metavar="ID|TYPE", shell_complete=agent_types, help="What this sub-agent, or this type of them, did."
)
@click.option("--role", type=click.Choice(["user", "assistant", "tool", "system"]), help="Who said or did it.")
@click.option("--failed", is_flag=True, help="Only what failed.")
@click.option("--best", is_flag=True, help="Best match first, instead of newest.")
@click.option("--substring", is_flag=True, help="Look for the exact characters, anywhere; slower.")
@click.option("--regex", is_flag=True, help="Look for a regular expression; slower.")
@limit_option("hits")
@click.option("-C", "--context", type=click.IntRange(0), default=0, help="How many entries to show around each hit.")
@click.option(
    "--wait/--no-wait",
    default=None,
    help="Index all of a large archive before the answer, or answer after 2 seconds from the newest part and say so. "
    "The default is to wait with --json and --fail-if-none only.",
)
@fail_if_none_option
@json_option
def command(
    query: tuple[str, ...],
    project: str | None,
    everywhere: bool,
    best: bool,
    substring: bool,
    regex: bool,
    limit: int,
    context: int,
    wait: bool | None,
    fail_if_none: bool,
    as_json: bool,
    **filters: Any,
) -> None:
    """Search prompts, answers, commands, files, edits, output and errors.

    Words must all occur; "a phrase", prefix*, one OR another, and -not are understood. Chinese, Japanese and Korean are
    found from one character on, identifiers by their parts.
    """
    wanted = search.Filters(**filters)
    question = " ".join(query)
    asked = places(project, everywhere)
    found = [place for place in asked if os.path.exists(place.db)]
    if wanted.session:  # says so if there is no such session
        from sessionlog.archive import lookup

        wanted = wanted._replace(
            session=lookup.find_session(asked, wanted.session, wanted.client).session["session_id"]
        )
    # Programs do not read sentences about what is missing.
    partial = None if (as_json or fail_if_none if wait is None else wait) else Partial()
    hits = search.merged(
        [_hits(place, question, wanted, best, substring, regex, partial) for place in found], best, limit or None
    )
    noted = [(place, one) for place in found for one in notes.find(place, query) if not any(wanted)]
    clients = {place.db: _clients(place) for place in found}
    has_several_clients = len({client for own in clients.values() for client in own.values()}) > 1
    shown = 0
    listed = []
    for place, one in noted:
        shown += 1
        if as_json:
            listed.append(_note_as_json(place, one, clients[place.db].get(one.session)))
        else:
            _print_note(place, one, everywhere)
    for hit in itertools.islice(hits, limit or None):
        shown += 1
        client = clients[hit.place.db].get(hit.row["session_id"])
        if as_json:
            listed.append(_as_json(hit, client, partial))
        else:
            _print(hit, everywhere, client if has_several_clients else None, context)
    if as_json:
        print_json(listed)
    if partial:
        partial.index_the_rest()
        for sentence in partial.sentences("add --wait to search all of it"):
            terminal.say(sentence, fg="yellow")
    if not shown:
        hint = unknown_value(found, tool=wanted.tool, branch=wanted.branch) or _hint(question, everywhere)
        nothing_found(asked, f"nothing found for {question!r}{hint}", fail_if_none, as_json)


def _print_note(place: Place, one: notes.Annotation, with_project: bool) -> None:
    project = f"  {plain.path(os.path.basename(place.project))}" if with_project else ""
    tags = "".join(f"#{tag} " for tag in one.tags)
    name = click.style(plain.safe(one.session[:8]), fg="yellow") + click.style(
        f" {one.moment}" if one.moment else "", dim=True
    )
    terminal.print_line(f"{name}  {plain.local_time(one.at)}  {click.style('note', fg='cyan')}{project}")
    terminal.print_line(f"    {plain.one_line(tags + one.note, 200)}")


def _note_as_json(place: Place, one: notes.Annotation, client: str | None) -> dict[str, Any]:
    return {
        "project": place.project,
        "session_id": one.session,
        "client": client,
        "hit": one.moment or None,
        "at": one.at,
        "field": "note",
        "snippet": one.note,
        "tags": list(one.tags),
    }


def _hint(question: str, everywhere: bool) -> str:
    if re.search(r"(^|\s)-\w", question):
        return """; -word means "without word": put code into double quotes, as in '"ls -la"'"""
    return "" if everywhere else " in this project; --all looks in all of them"


def _hits(
    place: Place,
    question: str,
    filters: search.Filters,
    best: bool,
    substring: bool,
    regex: bool,
    partial: Partial | None,
) -> Iterator[search.Hit]:
    if substring or regex:
        try:
            pattern = re.compile(question if regex else re.escape(question))
        except re.error as error:
            raise SessionlogError(f"{question!r} is not a regular expression: {error}") from None
        return search.scan(place, pattern, filters)
    return _indexed_hits(place, question, filters, best, partial)


def _indexed_hits(
    place: Place, question: str, filters: search.Filters, best: bool, partial: Partial | None
) -> Iterator[search.Hit]:
    bar = Bar("Indexing", place)
    for hit in search.find(place, question, filters, best_first=best, progress=bar.show, partial=partial):
        bar.finish()
        yield hit
    bar.finish()


def _clients(place: Place) -> dict[str, str]:
    with closing(read.connect(place)) as archive:
        return one_client.by_session(archive)


def _print(hit: search.Hit, with_project: bool, client: str | None, context: int) -> None:
    row = hit.row
    kind = labels.label(row, hit.is_message)
    project = f"  {plain.path(os.path.basename(hit.place.project))}" if with_project else ""
    terminal.print_line(
        click.style(plain.safe(row["session_id"][:8]), fg="yellow")
        + click.style(f" {hit.name}", dim=True)
        + f"  {plain.local_time(row['at'] or '')}  "
        + click.style(plain.one_line(kind, 20), fg="cyan")
        + click.style(f" {labels.FIELDS[hit.field]}" if labels.FIELDS[hit.field] else "", dim=True)
        + project
        + click.style(f"  {plain.one_line(client, 16)}" if client else "", fg="magenta")
    )
    if context:
        _print_context(hit, context)
    terminal.print_line(f"    {_highlighted(hit)}")


def _print_context(hit: search.Hit, context: int) -> None:
    """The first line of each entry around the hit; the hit itself is marked, as in `show`."""
    from sessionlog.cli.session_view import View  # much to import, and only for this
    from sessionlog.session import load

    view = View()
    with closing(read.connect(hit.place)) as archive:
        for entry in load.around(archive, hit.row["session_id"], hit.name, hit.row["at"] or "", context):
            terminal.print_line(f"    {next(view.entry(entry, hit.name in entry.names))}")


def _highlighted(hit: search.Hit) -> str:
    pieces, end = [], 0
    for start, stop in hit.marks:
        pieces.append(plain.safe(hit.snippet[end:start]))
        pieces.append(click.style(plain.safe(hit.snippet[start:stop]), fg="red", bold=True))
        end = stop
    return "".join(pieces) + plain.safe(hit.snippet[end:])


def _as_json(hit: search.Hit, client: str | None, partial: Partial | None) -> dict[str, Any]:
    from sessionlog.archive import rebuild

    row = hit.row
    common: dict[str, Any] = {
        "project": hit.place.project,
        "session_id": row["session_id"],
        "client": client,
        "hit": hit.name,
        "at": row["at"],
        "field": hit.field,
        "snippet": hit.snippet,
    }
    if partial and hit.place.db in partial.coverage:
        common["searched_back_to"] = partial.coverage[hit.place.db].back_to
    return common | ({"message": row} if hit.is_message else {"event": row["event"], "payload": rebuild.payload(row)})
