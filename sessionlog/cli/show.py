"""sessionlog show."""

from __future__ import annotations

from contextlib import closing

import click

from sessionlog.archive import lookup, read
from sessionlog.cli.common import json_option, places, print_json_lists, project_options
from sessionlog.cli.completion import session_ids
from sessionlog.cli.main import example
from sessionlog.cli.session_view import View
from sessionlog.cli.terminal import page
from sessionlog.session import header, load


@example(
    "sessionlog show last",
    "sessionlog show f0b8 --full",
    "sessionlog show last --tools Bash,Edit",
    "sessionlog show e1234 --context 20",
    "sessionlog show last --json | jq '.events[].event'",
)
@click.command()
@click.argument("session", default="last", metavar="[SESSION|HIT]", shell_complete=session_ids)
@click.option("--full", is_flag=True, help="Fold nothing.")
@click.option("--tools", metavar="NAMES", help="Of tool calls, only these: Bash,Edit.")
@click.option("-C", "--context", default=8, show_default=True, help="How much to show before and after a HIT.")
@project_options
@json_option
def command(
    session: str, full: bool, tools: str | None, context: int, project: str | None, everywhere: bool, as_json: bool
) -> None:
    """Show one session: SESSION is the start of its id, or `last`.

    HIT is an event (e1234) or a message (m1234), as `search` and `tail` name them: the session around that moment.
    """
    found_places = places(project, everywhere)
    moment = lookup.find_moment(found_places, session)
    found = moment.found if moment else lookup.find_session(found_places, session)
    session_id = found.session["session_id"]
    only = frozenset(name.strip() for name in tools.split(",")) if tools else None
    with closing(read.connect(found.place)) as connection:
        about = header.load(connection, found.session, found.place.project)
        if as_json:
            events, messages = lookup.events(connection, session_id), lookup.messages(connection, session_id)
            print_json_lists(
                {**found.session, "project": found.place.project, "usage": about.usage},
                events=(lookup.as_json(row) for row in events if only is None or row["tool_name"] in only),
                messages=(row for row in messages if only is None or row["tool_name"] in only),
            )
            return
        if moment:
            entries = load.around(connection, session_id, moment.name, moment.at, max(context, 1), only)
        else:
            entries = load.entries(connection, session_id, tools=only)
        page(View(full).session(about, entries, moment.name if moment else ""))
