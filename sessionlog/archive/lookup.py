"""Looking things up in archives: which sessions, which events."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any, NamedTuple

from sessionlog import times
from sessionlog.archive import place as projects
from sessionlog.archive import read
from sessionlog.archive.place import Place
from sessionlog.archive.read import connect
from sessionlog.errors import SessionlogError
from sessionlog.text.plain import counted, did_you_mean

Row = dict[str, Any]


class FoundSession(NamedTuple):
    """A session, and the archive that it is in."""

    place: Place
    session: Row


def sessions(connection: sqlite3.Connection, limit: int | None = None) -> Iterator[Row]:
    """The sessions of an archive in which something happened, newest first."""
    return connection.execute(
        f"SELECT * FROM session_summary WHERE NOT ({read.LONE_END.format(messages='messages')}) "
        "ORDER BY started_at DESC, session_id LIMIT ?",
        (-1 if limit is None else limit,),
    )


def find_session(places: list[Place], wanted: str, client: str | None = None) -> FoundSession:
    """The session that a person means: by the start of its id, its title, a tag, `last`, `last~2` or `today`.

    With a client, of that agent's sessions.
    """
    existing = [place for place in places if os.path.exists(place.db) or projects.waiting_spools(place)]
    if not existing:
        raise read.nothing_recorded(places)
    if match := re.fullmatch(_NEWEST, wanted):
        return _newest(existing, wanted, int(match[1] or 0), client)
    if wanted in _DAYS:
        return _of_day(existing, wanted, client)
    candidates: list[FoundSession] = []
    for place in existing:
        with closing(_connect(place, client)) as connection:
            # A range instead of LIKE: it uses the index, and `_` is only a letter.
            rows = connection.execute(
                "SELECT * FROM session_summary WHERE session_id >= ? AND session_id < ?",
                (wanted, wanted + "\U0010ffff"),
            ).fetchall()
            candidates += [FoundSession(place, row) for row in rows]
    exact = [found for found in candidates if found.session["session_id"] == wanted]
    if len(exact or candidates) == 1:
        return (exact or candidates)[0]
    titled = [] if candidates else _titled(existing, wanted, client) or _tagged(existing, wanted, client)
    if titled:
        return max(titled, key=_started_at)
    if not candidates:
        raise SessionlogError(f"no session starts with {wanted!r}{did_you_mean(wanted, _names(existing))}\n{_LISTED}.")
    some = "\n".join(f"  {found.session['session_id']}  {found.session['started_at']}" for found in candidates[:10])
    raise SessionlogError(f"{len(candidates)} sessions start with {wanted!r}; type more of the id:\n{some}")


# last, last~1 (the one before it), last~2
_NEWEST = r"last(?:~(\d{1,6}))?"
_DAYS = ("today", "yesterday")
_LISTED = "`sessionlog sessions` lists them (--all: of all projects)"


def _connect(place: Place, client: str | None) -> sqlite3.Connection:
    if not client:
        return connect(place)
    from sessionlog.archive import one_client

    return one_client.connect(place, client)


def open_session(
    places: list[Place], wanted: str, client: str | None = None
) -> tuple[FoundSession, sqlite3.Connection]:
    """As `find_session`, with an open connection to the archive. For `last` in one archive it is the only one."""
    match = re.fullmatch(_NEWEST, wanted)
    if not match or client or len(places) != 1:
        found = find_session(places, wanted, client)
        return found, connect(found.place)
    connection = connect(places[0])
    try:
        rows = sessions(connection, limit=int(match[1] or 0) + 1)
        return _numbered([FoundSession(places[0], row) for row in rows], wanted, int(match[1] or 0), None), connection
    except BaseException:
        connection.close()
        raise


def _newest(places: list[Place], wanted: str, number: int, client: str | None) -> FoundSession:
    found: list[FoundSession] = []
    for place in places:
        with closing(_connect(place, client)) as connection:
            found += [FoundSession(place, row) for row in sessions(connection, limit=number + 1)]
    return _numbered(found, wanted, number, client)


def _numbered(found: list[FoundSession], wanted: str, number: int, client: str | None) -> FoundSession:
    if number < len(found):
        return sorted(found, key=_started_at, reverse=True)[number]
    whose = f" of {client}" if client else ""
    raise SessionlogError(f"there is no {wanted}: {counted(len(found), 'session')}{whose} recorded; {_LISTED}")


def _of_day(places: list[Place], day: str, client: str | None) -> FoundSession:
    """The newest of the sessions that went on at this day."""
    end = times.parse("today") if day == "yesterday" else times.FOREVER
    found: list[FoundSession] = []
    for place in places:
        with closing(_connect(place, client)) as connection:
            rows = connection.execute(
                "SELECT * FROM session_summary WHERE last_at >= ? AND started_at < ? "
                f"AND NOT ({read.LONE_END.format(messages='messages')}) ORDER BY started_at DESC LIMIT 1",
                (times.parse(day), end),
            )
            found += [FoundSession(place, row) for row in rows]
    if not found:
        whose = f" of {client}" if client else ""
        raise SessionlogError(f"nothing{whose} was recorded {day}; {_LISTED}")
    return max(found, key=_started_at)


def _titled(places: list[Place], wanted: str, client: str | None) -> list[FoundSession]:
    found: list[FoundSession] = []
    for place in places:
        with closing(_connect(place, client)) as connection:
            rows = connection.execute(
                "SELECT * FROM session_summary WHERE lower(title) = lower(?)", (wanted,)
            ).fetchall()
            found += [FoundSession(place, row) for row in rows]
    return found


def _tagged(places: list[Place], wanted: str, client: str | None) -> list[FoundSession]:
    from sessionlog.archive import notes  # for names that are neither an id nor a title

    found: list[FoundSession] = []
    for place in places:
        ids = [one.session for one in notes.load(place).values() if wanted in one.tags and not one.moment]
        with closing(_connect(place, client)) as connection:
            for session_id in ids:
                query = "SELECT * FROM session_summary WHERE session_id = ?"
                found += [FoundSession(place, row) for row in connection.execute(query, (session_id,))]
    return found


def _names(places: list[Place]) -> set[str]:
    """What the newest sessions could be called: the beginnings of their ids, their titles and tags."""
    from sessionlog.archive import notes

    names = {"last", *_DAYS}
    for place in places:
        with closing(connect(place)) as connection:
            for row in sessions(connection, limit=200):
                names |= {row["session_id"][:8], row["title"] or "last"}
        names |= {tag for one in notes.load(place).values() for tag in one.tags if not one.moment}
    return names


def _started_at(found: FoundSession) -> str:
    return str(found.session["started_at"])


class Moment(NamedTuple):
    """A session, and the event (e12) or message (m34) in it that is meant."""

    found: FoundSession
    name: str
    at: str


def find_moment(places: list[Place], wanted: str) -> Moment | None:
    """The event or message that `e12`, `#12` or `m34` names; None if it names none, and may be a session."""
    match = re.fullmatch(r"([em#])(\d{1,18})", wanted)
    if not match:
        return None
    table, name = ("transcript_parts", f"m{match[2]}") if match[1] == "m" else ("events", f"e{match[2]}")
    moments = []
    for place in places:
        if os.path.exists(place.db):
            with closing(connect(place)) as connection:
                query = f"SELECT session_id, at FROM {table} WHERE id = ?"
                for row in connection.execute(query, (int(match[2]),)).fetchall():
                    session = connection.execute(
                        "SELECT * FROM session_summary WHERE session_id = ?", (row["session_id"],)
                    ).fetchone()
                    moments.append(Moment(FoundSession(place, session), name, row["at"] or ""))
    if len(moments) > 1:
        some = "\n".join(f"  --project {moment.found.place.project}" for moment in moments[:10])
        raise SessionlogError(f"{len(moments)} projects have an {wanted}; say which:\n{some}")
    if not moments and not _starts_an_id(places, wanted):
        kind = "message" if match[1] == "m" else "event"
        raise SessionlogError(f"there is no {kind} {wanted} here; `sessionlog search` and `tail` show their names")
    return moments[0] if moments else None


def _starts_an_id(places: list[Place], wanted: str) -> bool:
    """An id may begin like the name of an event: e5 of e5c2…"""
    for place in places:
        if os.path.exists(place.db):
            with closing(connect(place)) as connection:
                query = "SELECT 1 FROM sessions WHERE session_id >= ? AND session_id < ?"
                if connection.execute(query, (wanted, wanted + "\U0010ffff")).fetchone():
                    return True
    return False


def find_target(places: list[Place], wanted: str) -> tuple[Place, str, str]:
    """What a tag or a note is put on: the archive, the session, and the moment of it if one is named."""
    moment = find_moment(places, wanted)
    found = moment.found if moment else find_session(places, wanted)
    return found.place, found.session["session_id"], moment.name if moment else ""


def events(connection: sqlite3.Connection, session_id: str) -> Iterator[Row]:
    """The events of a session in the order in which they came."""
    # Not `yield from`: a reader who leaves early (| head) would have it close a cursor whose connection is gone.
    return connection.execute("SELECT * FROM events WHERE session_id = ? ORDER BY at, id", (session_id,))


def messages(connection: sqlite3.Connection, session_id: str) -> Iterator[Row]:
    """What the transcript of a session says, in the order of time."""
    return connection.execute("SELECT * FROM transcript_parts WHERE session_id = ? ORDER BY at, id", (session_id,))


def as_json(row: Row) -> Row:
    """An event for machines: what the archive knows, and the payload as it came."""
    from sessionlog.archive import rebuild  # for programs only

    return {"id": row["id"], "at": row["at"], "event": row["event"], "via": row["via"], "payload": rebuild.payload(row)}
