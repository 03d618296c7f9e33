"""Looking things up in the archive: which projects, which sessions, which events."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from sessionlog import archive, event, migrate, projects, read_only, spool
from sessionlog.errors import SessionlogError
from sessionlog.lean import getenv
from sessionlog.projects import Place

Row = dict[str, Any]


class Found(NamedTuple):
    """A session, and the archive that it is in."""

    place: Place
    session: Row


def place_of(folder: str | None = None) -> Place:
    """The archive of the project in `folder`, else of the one we are in.

    A session may have been started below the top of a checkout: the nearest folder upwards that has an archive counts.
    """
    if folder is None and (getenv("CLAUDE_PROJECT_DIR") or getenv("CLAUDE_PROJECT_ROOT")):
        return projects.place(projects.of_environment(os.getcwd(), os.path.realpath))
    if folder is not None and not os.path.isdir(folder):
        raise SessionlogError(f"{folder} is not a folder")
    start = os.path.realpath(folder or os.getcwd())
    for candidate in projects.ancestors(start):
        place = projects.place(projects.main_checkout(candidate, os.path.realpath))
        if os.path.exists(place.db) or projects.waiting_spools(place):
            return place
    return projects.place(projects.of_folder(start, os.path.realpath))


def all_places() -> list[Place]:
    """Every archive there is, by the name of its file."""
    if db := getenv("SESSIONLOG_DB"):
        return [place_at(db)] if os.path.exists(db) else []
    return [place_at(str(path)) for path in sorted(Path(projects.home_folder()).glob("*.db")) if path.is_file()]


def place_at(db: str) -> Place:
    """The archive in this file."""
    project = ""
    try:
        with closing(_open_read_only(db)) as connection:
            row = connection.execute("SELECT project FROM archive").fetchone()
            project = row[0] if row else ""
    except sqlite3.Error:
        pass  # shown by its file name; reading it will say what is wrong
    return Place(projects.home_folder(), project or os.path.basename(db), db)


def connect(place: Place) -> sqlite3.Connection:
    """A read-only connection to an archive that is up to date: what waited in the spool is in it."""
    bring_up_to_date(place)
    if not os.path.exists(place.db):
        raise SessionlogError(
            f"nothing has been recorded for {place.project} yet.\n"
            "Register the hooks (`sessionlog hook-command` prints the command), or try `sessionlog demo`."
        )
    connection = _open_read_only(place.db)
    connection.row_factory = lambda cursor, row: {
        column[0]: value for column, value in zip(cursor.description, row, strict=True)
    }
    connection.text_factory = lambda data: data.decode("utf-8", "replace")  # JSON may hold half a surrogate pair
    try:
        version = connection.execute("PRAGMA user_version").fetchone()["user_version"]
        if version > archive.SCHEMA_VERSION:
            raise SessionlogError(f"{place.db} was written by a newer sessionlog; upgrade sessionlog to read it")
        connection.execute("SELECT project FROM archive")
    except (sqlite3.DatabaseError, UnicodeDecodeError, SessionlogError) as error:  # damaged names, told by SQLite
        connection.close()
        if isinstance(error, SessionlogError):
            raise
        raise SessionlogError(f"{place.db} cannot be read: {error}") from error
    return connection


def bring_up_to_date(place: Place) -> None:
    """Let waiting events come home and outdated schemas be migrated; reading goes on if that cannot be done now."""
    outdated = os.path.exists(place.db) and _version(place) < archive.SCHEMA_VERSION
    if not (outdated or projects.waiting_spools(place)):
        return
    try:
        with closing(archive.open_for_writing(place)) as connection:
            spool.bring_home(place, connection)
    except (sqlite3.Error, OSError, SessionlogError):
        pass  # `notices` tells that something waits


def notices(place: Place) -> list[str]:
    """What a person should know about this archive, and do."""
    found = [
        f"events wait in {path}: the archive cannot be written at the moment" for path in projects.waiting_spools(place)
    ]
    for path in migrate.set_aside_files(place):
        found.append(
            f"the archive was damaged and set aside as {path}; "
            f"`sqlite3 {path} .recover | sqlite3 recovered.db` saves what can be read"
        )
    return found


def sessions(connection: sqlite3.Connection, limit: int | None = None) -> Iterator[Row]:
    """The sessions of an archive, newest first."""
    return connection.execute(
        "SELECT * FROM session_summary ORDER BY started_at DESC, session_id LIMIT ?", (-1 if limit is None else limit,)
    )


def find_session(places: list[Place], wanted: str) -> Found:
    """The one session whose id starts with `wanted`, or the newest one for `last`."""
    candidates: list[Found] = []
    for place in places:
        if not os.path.exists(place.db) and not projects.waiting_spools(place):
            continue
        with closing(connect(place)) as connection:
            if wanted == "last":
                rows = list(sessions(connection, limit=1))
            else:
                # A range instead of LIKE: it uses the index, and `_` is only a letter.
                rows = connection.execute(
                    "SELECT * FROM session_summary WHERE session_id >= ? AND session_id < ?",
                    (wanted, wanted + "\U0010ffff"),
                ).fetchall()
            candidates += [Found(place, row) for row in rows]
    exact = [found for found in candidates if found.session["session_id"] == wanted]
    if wanted == "last" and candidates:
        return max(candidates, key=lambda found: str(found.session["started_at"]))
    if len(exact or candidates) == 1:
        return (exact or candidates)[0]
    if not candidates:
        raise SessionlogError(
            f"no session starts with {wanted!r}; `sessionlog sessions` lists them (--all: everywhere)"
        )
    some = "\n".join(f"  {found.session['session_id']}  {found.session['started_at']}" for found in candidates[:10])
    raise SessionlogError(f"{len(candidates)} sessions start with {wanted!r}; type more of the id:\n{some}")


class Moment(NamedTuple):
    """A session, and the event (e12) or message (m34) in it that is meant."""

    found: Found
    name: str
    at: str


def find_moment(places: list[Place], wanted: str) -> Moment | None:
    """The event or message that `e12`, `#12` or `m34` names; None if it names none, and may be a session."""
    match = re.fullmatch(r"([em#])(\d{1,18})", wanted)
    if not match:
        return None
    table, name = ("messages", f"m{match[2]}") if match[1] == "m" else ("events", f"e{match[2]}")
    moments = []
    for place in places:
        if os.path.exists(place.db):
            with closing(connect(place)) as connection:
                query = f"SELECT session_id, at FROM {table} WHERE id = ?"
                for row in connection.execute(query, (int(match[2]),)).fetchall():
                    session = connection.execute(
                        "SELECT * FROM session_summary WHERE session_id = ?", (row["session_id"],)
                    ).fetchone()
                    moments.append(Moment(Found(place, session), name, row["at"] or ""))
    if len(moments) > 1:
        some = "\n".join(f"  --project {moment.found.place.project}" for moment in moments[:10])
        raise SessionlogError(f"{len(moments)} projects have an {wanted}; say which:\n{some}")
    if not moments and match[1] == "#":
        raise SessionlogError(f"there is no event {wanted}; `sessionlog search` and `tail --json` tell the ids")
    return moments[0] if moments else None


def events(connection: sqlite3.Connection, session_id: str) -> Iterator[Row]:
    """The events of a session in the order in which they came."""
    # Not `yield from`: a reader who leaves early (| head) would have it close a cursor whose connection is gone.
    return connection.execute("SELECT * FROM events WHERE session_id = ? ORDER BY at, id", (session_id,))


def messages(connection: sqlite3.Connection, session_id: str) -> Iterator[Row]:
    """What the transcript of a session says, in the order of time."""
    return connection.execute("SELECT * FROM messages WHERE session_id = ? ORDER BY at, id", (session_id,))


def events_around(connection: sqlite3.Connection, row: Row, count: int) -> list[Row]:
    """The events just before and after one, of the same session, in order."""
    near = []
    for order, sign in (("DESC", "<"), ("ASC", ">")):
        near += connection.execute(
            f"SELECT * FROM events WHERE session_id = :session_id AND (at, id) {sign} (:at, :id) "
            f"ORDER BY at {order}, id {order} LIMIT :count",
            {"session_id": row["session_id"], "at": row["at"], "id": row["id"], "count": count},
        ).fetchall()
    return sorted([*near, row], key=lambda event: (event["at"], event["id"]))


def as_json(row: Row) -> Row:
    """An event for machines: what the archive knows, and the payload as it came."""
    return {"id": row["id"], "at": row["at"], "event": row["event"], "via": row["via"], "payload": event.rebuild(row)}


def _open_read_only(db: str) -> sqlite3.Connection:
    if not os.path.isfile(db):  # whoever opens a pipe waits for somebody to write to it
        raise SessionlogError(f"{db} is not a file")
    return sqlite3.connect(read_only.uri(db), uri=True)


def _version(place: Place) -> int:
    try:
        with closing(_open_read_only(place.db)) as connection:
            return int(connection.execute("PRAGMA user_version").fetchone()[0])
    except (sqlite3.Error, SessionlogError):
        return archive.SCHEMA_VERSION  # not outdated but unreadable: `connect` says so
