"""sessionlog pick."""

from __future__ import annotations

import os
import shutil
from contextlib import closing

import click

from sessionlog.archive import read
from sessionlog.cli import terminal
from sessionlog.cli.browse import browse
from sessionlog.cli.main import example
from sessionlog.cli.session_view import View
from sessionlog.cli.terminal import page
from sessionlog.errors import SessionlogError
from sessionlog.session import header, load


@example("sessionlog pick")
@click.command()
def command() -> None:
    """Choose a session from a full-screen list, which is also what `sessionlog` alone does.

    Type to search in all that was recorded. Enter shows the session, Ctrl+R resumes it with `claude --resume`, Ctrl+O
    opens it in the browser, Ctrl+E writes it as an HTML page, Ctrl+Y copies its id. Tab switches between this project
    and all projects.
    """
    if not terminal.is_interactive():
        raise SessionlogError("there is no terminal to draw on; `sessionlog sessions` prints the list")
    from sessionlog.cli.picker import Picker

    picked = Picker(read.place_of()).run()
    if picked is None:
        return
    place, session = picked.found
    session_id = session["session_id"]
    if picked.action == "show":
        with closing(read.connect(place)) as connection:
            about = header.load(connection, session, place.project)
            page(View().session(about, load.entries(connection, session_id)))
    elif picked.action == "browse":
        browse(place, session_id, "")
    elif picked.action == "export":
        from sessionlog.export import write

        options = write.Options("html", "normal", "", False)
        chosen = write.choose([place], [session_id], "")
        for file in write.write(chosen, options, f"session-{session_id[:8]}.html"):
            click.echo(file.path)
    else:
        _resume(session_id, session["cwd"] or place.project)


def _resume(session_id: str, folder: str) -> None:
    """Replace this process by `claude --resume`, in the folder of the session."""
    client = shutil.which("claude")
    if client is None:
        raise SessionlogError(f"`claude` is not on your PATH. In {folder}: claude --resume {session_id}")
    os.chdir(folder)
    os.execv(client, [client, "--resume", session_id])  # noqa: S606 (no shell; the client itself is what is wanted)
