"""sessionlog answer."""

from __future__ import annotations

from contextlib import closing

import click

from sessionlog.archive import lookup, read
from sessionlog.cli.common import places, project_options
from sessionlog.cli.completion import session_ids
from sessionlog.cli.main import example
from sessionlog.errors import SessionlogError
from sessionlog.session import load
from sessionlog.text import plain


@example("sessionlog answer", "sessionlog answer last~1", "sessionlog answer f0b8 > answer.md")
@click.command()
@click.argument("session", default="last", shell_complete=session_ids)
@project_options
def command(session: str, project: str | None, everywhere: bool) -> None:
    """Print the last answer of a session, as the Markdown that the model wrote."""
    found = lookup.find_session(places(project, everywhere), session)
    last = ""
    with closing(read.connect(found.place)) as connection:
        for entry in load.entries(connection, found.session["session_id"]):
            if entry.kind == "answer" and not entry.agent_id and entry.text:
                last = entry.text
    if not last:
        raise SessionlogError(f"no answer is recorded in session {found.session['session_id'][:8]}")
    click.echo(plain.safe(last))
