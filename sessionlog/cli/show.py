"""sessionlog show."""

from __future__ import annotations

import os
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

from sessionlog.archive import lookup, read
from sessionlog.archive.files import NOTES_ENDING
from sessionlog.cli import terminal
from sessionlog.cli.common import json_option, places, print_json_lists, project_options
from sessionlog.cli.completion import client_option, session_ids, tool_list
from sessionlog.cli.main import example
from sessionlog.cli.session_view import View
from sessionlog.cli.terminal import page
from sessionlog.session import header, load

if TYPE_CHECKING:
    from sessionlog.archive.notes import Annotation
    from sessionlog.archive.place import Place


@example(
    "sessionlog show last",
    "sessionlog show f0b8 --full",
    "sessionlog show last --tools Bash,Edit",
    "sessionlog show last --client codex",
    "sessionlog show e1234 --context 20",
    "sessionlog show e1234 --web",
    "sessionlog show last --json | jq '.events[].event'",
)
@click.command()
@click.argument("session", default="last", metavar="[SESSION|HIT]", shell_complete=session_ids)
@click.option("--full", is_flag=True, help="Fold nothing.")
@click.option("--tools", metavar="NAMES", shell_complete=tool_list, help="Of tool calls, only these: Bash,Edit.")
@click.option(
    "-C", "--context", type=click.IntRange(1), default=8, show_default=True, help="How much to show around a HIT."
)
@client_option
@click.option("--web", is_flag=True, help="Open it in the browser instead.")
@project_options
@json_option
def command(
    session: str,
    full: bool,
    tools: str | None,
    context: int,
    client: str | None,
    web: bool,
    project: str | None,
    everywhere: bool,
    as_json: bool,
) -> None:
    """Show one session: SESSION is the start of its id, its title, a tag,
    `last`, `last~2`, `today` or `yesterday`.

    HIT is an event (e1234) or a message (m1234), as `search` and `tail` name them: the session around that moment.
    """
    found_places = places(project, everywhere)
    moment = lookup.find_moment(found_places, session)
    if moment:
        found, connection = moment.found, read.connect(moment.found.place)
    else:
        found, connection = lookup.open_session(found_places, session, client)
    session_id = found.session["session_id"]
    if web:
        connection.close()
        from sessionlog.cli.browse import browse

        browse(found.place, session_id, moment.name if moment else "")
        return
    only = frozenset(name.strip() for name in tools.split(",")) if tools else None
    with closing(connection):
        about = header.load(connection, found.session, found.place.project)
        if as_json:
            near = None
            if moment:
                around = load.around(connection, session_id, moment.name, moment.at, context, only)
                near = {name for entry in around for name in entry.names}
            events, messages = lookup.events(connection, session_id), lookup.messages(connection, session_id)

            def is_meant(name: str, row: dict[str, Any]) -> bool:
                return (near is None or name in near) and (only is None or row["tool_name"] in only)

            print_json_lists(
                {"session": {**found.session, "project": found.place.project}, "usage": about.usage},
                events=(lookup.as_json(row) for row in events if is_meant(f"e{row['id']}", row)),
                messages=(row for row in messages if is_meant(f"m{row['id']}", row)),
            )
            return
        if moment:
            entries = load.around(connection, session_id, moment.name, moment.at, context, only)
        else:
            entries = load.entries(connection, session_id, tools=only)
        is_terminal = sys.stdout.isatty()
        view = View(full, terminal.width() if is_terminal else None, is_terminal or terminal.shows_colour())
        page(view.session(about, entries, moment.name if moment else "", _annotations(found.place, session_id)))


def _annotations(place: Place, session_id: str) -> list[Annotation]:
    if not os.path.lexists(place.db + NOTES_ENDING):
        return []
    from sessionlog.archive import notes  # most projects have none

    return notes.of_session(place, session_id)
