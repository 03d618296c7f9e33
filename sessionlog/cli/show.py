"""sessionlog show."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import click

from sessionlog import reading, terminal
from sessionlog.cli import example
from sessionlog.cli.common import json_option, places, print_json, project_options
from sessionlog.cli.completion import session_ids


@example("sessionlog show last", "sessionlog show f0b8", "sessionlog show last --json | jq '.events[].event'")
@click.command()
@click.argument("session", default="last", shell_complete=session_ids)
@project_options
@json_option
def command(session: str, project: str | None, everywhere: bool, as_json: bool) -> None:
    """Show one session: SESSION is the start of its id, or `last`."""
    found = reading.find_session(places(project, everywhere), session)
    with closing(reading.connect(found.place)) as connection:
        events = list(reading.events(connection, found.session["session_id"]))
    if as_json:
        print_json(
            {**found.session, "project": found.place.project, "events": [reading.as_json(row) for row in events]}
        )
        return
    click.echo_via_pager(line + "\n" for line in render(found, events))


def render(found: reading.Found, events: list[dict[str, Any]]) -> Iterator[str]:
    """The session as lines of text."""
    session = found.session
    counts = [
        terminal.counted(session[column], noun)
        for column, noun in (
            ("prompts", "prompt"),
            ("tool_calls", "tool call"),
            ("edits", "edit"),
            ("failures", "failure"),
        )
    ]
    started = terminal.local_time(session["started_at"], "%Y-%m-%d %H:%M:%S")
    took = terminal.duration(session["seconds"] * 1000)
    yield click.style(f"session {terminal.safe(session['session_id'])}", fg="yellow", bold=True)
    yield f"  {started}, {took}, in {terminal.safe(found.place.project)}"
    yield f"  {' · '.join(counts)}"
    yield ""
    for line in terminal.lines(events):
        time = click.style(terminal.local_time(line.at, "%H:%M:%S"), dim=True)
        kind = click.style(f"{terminal.one_line(line.kind, 12):<12}", fg=line.colour, bold=line.kind == "prompt")
        text = click.style(line.text, fg=line.colour if line.colour in ("red", "yellow") else None)
        yield f"{time}  {'  ' * line.indent}{kind}{text}"
