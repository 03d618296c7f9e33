"""sessionlog pick."""

from __future__ import annotations

import os
import shlex
from contextlib import closing
from typing import Any

import click

from sessionlog.agents import registry
from sessionlog.agents.registry import CLAUDE_CODE
from sessionlog.archive import lookup, notes, read
from sessionlog.cli import terminal
from sessionlog.cli.browse import browse
from sessionlog.cli.main import example
from sessionlog.cli.session_view import View
from sessionlog.cli.terminal import page
from sessionlog.errors import SessionlogError
from sessionlog.install import other_agents
from sessionlog.session import header, load
from sessionlog.system import children


@example("sessionlog pick")
@click.command()
def command() -> None:
    """Choose a session from a full-screen list, which is also what `sessionlog` alone does.

    Type to search in all that was recorded. Enter shows the session and leads back to the list, Ctrl+R resumes it with
    its agent (`claude --resume`), Ctrl+O opens it in the browser, Ctrl+E writes it as an HTML page, Ctrl+Y copies its
    id. Shift with the arrows scrolls the preview. Tab switches between this project and all projects.
    """
    if not terminal.is_interactive():
        raise SessionlogError("there is no terminal to draw on; `sessionlog sessions` prints the list")
    from sessionlog.cli.picker import Picker

    os.environ.setdefault("LESS", "-R")  # on a screen of its own, and waiting for a key also if all fits
    picker = Picker(read.place_of())
    while (picked := picker.run()) and picked.action == "show":
        _show(picked.found)
        if os.environ.get("PAGER") == "cat":  # the list would cover what it printed
            return
    if picked is None:
        return
    place, session = picked.found
    session_id = session["session_id"]
    if picked.action == "browse":
        browse(place, session_id, "")
    elif picked.action == "export":
        from sessionlog.export import write

        options = write.Options("html", "normal", "", False)
        chosen = write.choose([place], [session_id], "")
        for file in write.write(chosen, options, f"session-{session_id[:8]}.html"):
            click.echo(file.path)
    else:
        _resume(session, session["cwd"] or place.project)


def _show(found: lookup.FoundSession) -> None:
    session_id = found.session["session_id"]
    with closing(read.connect(found.place)) as connection:
        about = header.load(connection, found.session, found.place.project)
        annotations = notes.of_session(found.place, session_id)
        entries = load.entries(connection, session_id)
        page(View(width=terminal.width()).session(about, entries, annotations=annotations))


def _resume(session: dict[str, Any], folder: str) -> None:
    """Replace this process by the agent of the session, such as `claude --resume`, in the folder of the session."""
    session_id = session["session_id"]
    words = [*_resuming(session["client"]), session_id]
    transcript = session["transcript_path"]
    if session["client"] == CLAUDE_CODE and transcript and not os.path.exists(transcript):
        raise SessionlogError(
            f"the transcript of this session is gone; `sessionlog restore {session_id[:8]}` writes it back, then:\n"
            f"  cd {shlex.quote(folder)} && {shlex.join(words)}"
        )
    client = children.program(words[0])
    if client is None:
        raise SessionlogError(
            f"`{words[0]}` is not on your PATH. Where it is:\n  cd {shlex.quote(folder)} && {shlex.join(words)}"
        )
    try:
        os.chdir(folder)
    except OSError as error:
        raise SessionlogError(
            f"the folder of this session is out of reach: {folder}: {error.strerror}. Where it is now:\n"
            f"  {shlex.join(words)}"
        ) from None
    os.execv(client, words)  # noqa: S606 (no shell; the client itself is what is wanted)


def _resuming(client: str) -> list[str]:
    """The words before the id."""
    if client == CLAUDE_CODE:
        return ["claude", "--resume"]
    agent: Any = other_agents.settings(client) if client in registry.others("settings") else None
    if not hasattr(agent, "RESUME"):
        raise SessionlogError(f"sessionlog does not know how {client} resumes a session")
    return [agent.PROGRAM, *agent.RESUME]
