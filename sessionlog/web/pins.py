"""Pins on sessions and on moments of them: the one thing that the pages write, and never into an archive."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import Any, NamedTuple

from datasette.utils.asgi import NotFound, Response

from sessionlog.archive import notes
from sessionlog.archive.notes import Annotation
from sessionlog.ask.rollup import sessions
from sessionlog.text import plain
from sessionlog.web import archives
from sessionlog.web import page as pages
from sessionlog.web.archives import Archive

PATH = "/-/pins"
SHOWN = 20

# The row that a moment is: its session, and what is best known of it.
_MOMENT = {
    "e": "SELECT session_id, coalesce(prompt, command, file_path, last_assistant_message, message, event) AS text "
    "FROM events WHERE id = ?",
    "m": "SELECT session_id, coalesce(command, file_path, text, tool_name, kind) AS text "
    "FROM transcript_parts WHERE id = ?",
}


class Pin(NamedTuple):
    """Something pinned, with what to call it."""

    title: str
    session_title: str  # of a moment
    href: str
    at: str


def routes(datasette: Any) -> list[tuple[str, Any]]:
    return [(f"{PATH}$", change)]


async def change(datasette: Any, request: Any) -> Response:
    """Pin or unpin. guard.py and Datasette's token against forged requests have looked at it before."""
    if request.method != "POST":
        raise NotFound("Pins are shown on the home page.")
    form = await request.post_vars()
    archive = archives.named(datasette, form.get("project", ""))
    session, moment, is_pinned = form.get("session", ""), form.get("moment", ""), form.get("pinned") == "1"

    def write(connection: sqlite3.Connection) -> Annotation:
        if is_pinned and not _exists(connection, session, moment):
            raise NotFound("There is no such session or moment.")
        return notes.change(archive.place, session, moment, pinned=is_pinned)

    changed = await archives.read(archive, write)
    if "application/json" in request.headers.get("accept", ""):
        return pages.response(json.dumps({"pinned": changed.pinned}), content_type="application/json; charset=utf-8")
    back = form.get("back", "")
    back = back if back.startswith("/") and not back.startswith(("//", "/\\")) and back.isprintable() else "/"
    return pages.response("", status=303, location=back)


def of_session(archive: Archive, session: str) -> dict[str, Any]:
    """Whether a session is pinned, and which of its moments are: for _pin.html."""
    own = [one.moment for one in notes.load(archive.place).values() if one.session == session and one.pinned]
    return {"is_pinned": "" in own, "pinned_moments": [moment for moment in own if moment]}


def newest(archive: Archive, source: sessions.Source) -> list[Pin]:
    """The pins of a project, the newest first. What was pruned since is left out."""
    pinned = [one for one in notes.load(archive.place).values() if one.pinned]
    pinned.sort(key=lambda one: one.at, reverse=True)
    pins = []
    for one in pinned[:SHOWN]:
        row = sessions.one(source, one.session)
        if row is None:
            continue
        title = plain.one_line(row["title"] or row["first_prompt"] or f"Session {one.session[:8]}", 140)
        href = pages.address("session", archive.name, one.session, at=one.moment)
        if not one.moment:
            pins.append(Pin(title, "", href, one.at))
        elif found := _moment(archive, one):
            pins.append(Pin(plain.one_line(found, 140), title, f"{href}#{one.moment}", one.at))
    return pins


def _exists(connection: sqlite3.Connection, session: str, moment: str) -> bool:
    if moment:
        row = _row(connection, moment)
        return row is not None and row["session_id"] == session
    query = "SELECT 1 FROM session_summary WHERE session_id = ?"
    return connection.execute(query, (session,)).fetchone() is not None


def _moment(archive: Archive, pin: Annotation) -> str:
    with closing(archives.connect(archive)) as connection:
        row = _row(connection, pin.moment)
    return str(row["text"]) if row and row["session_id"] == pin.session else ""


def _row(connection: sqlite3.Connection, moment: str) -> dict[str, Any] | None:
    if moment[:1] not in _MOMENT or not moment[1:].isdigit() or len(moment) > 19:
        return None
    row: dict[str, Any] | None = connection.execute(_MOMENT[moment[0]], (int(moment[1:]),)).fetchone()
    return row
