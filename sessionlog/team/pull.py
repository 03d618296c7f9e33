"""Brings sessions of the team archive back as ordinary archives in a cache: all commands and pages work on them."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

from sessionlog.archive import chain, migrate, sidecar
from sessionlog.archive.files import PULLED
from sessionlog.archive.place import Place, user_home
from sessionlog.archive.pulled import read_all
from sessionlog.errors import SessionlogError
from sessionlog.fastlib import getenv, utc_text
from sessionlog.system import atomic
from sessionlog.team import server
from sessionlog.team.tables import BITS, TABLES

if TYPE_CHECKING:
    from sessionlog.team.server import Connection

# A session is whole or not there: its hashes are checked from its first event on.
_OF_SESSIONS = ("events", "transcript_parts", "model_answers", "session_facts", "subagent_facts", "transcripts")
MOST_SESSIONS = 5000


class Wanted(NamedTuple):
    """Which sessions are pulled."""

    developers: Sequence[str] | None = None
    since: str = ""
    session: str = ""


class Pulled(NamedTuple):
    """An archive that was pulled."""

    place: Place
    developer: str
    host: str
    project: str
    sessions: list[str]
    events: int
    content: str


def cache_folder(service: str) -> str:
    """Where pulled archives are: a folder that can be named as $SESSIONLOG_HOME."""
    cache = getenv("XDG_CACHE_HOME") or f"{user_home()}/.cache"
    safe = "".join(letter if letter.isalnum() or letter in "_-" else "-" for letter in service)
    return f"{cache}/sessionlog/team/{safe}"


def pull(connection: Connection, folder: str, wanted: Wanted) -> list[Pulled]:
    """Pull these sessions, one archive for each that they come from. What was pulled before is replaced."""
    migrate.make_private_folder(folder)
    found = connection.execute(
        "SELECT sessions.archive, session_id FROM sessions WHERE last_at >= %(since)s "
        "AND (%(people)s::text[] IS NULL OR developer = ANY (%(people)s)) "
        "AND (%(session)s = '' OR session_id = %(session)s) ORDER BY archive, last_at DESC LIMIT %(most)s",
        {
            "since": wanted.since,
            "people": None if wanted.developers is None else list(wanted.developers),
            "session": wanted.session,
            "most": MOST_SESSIONS + 1,
        },
    ).fetchall()
    if len(found) > MOST_SESSIONS:
        raise SessionlogError(f"that is more than {MOST_SESSIONS:,} sessions; choose fewer with --since or --developer")
    by_archive: dict[int, list[str]] = {}
    for archive, session_id in found:
        by_archive.setdefault(archive, []).append(session_id)
    done = [_pull_archive(connection, folder, archive, names) for archive, names in by_archive.items()]
    _remember(folder, done)
    return done


def _pull_archive(connection: Connection, folder: str, archive: int, session_ids: list[str]) -> Pulled:
    about = connection.execute(
        "SELECT developer, host, project, created_at, content FROM archives WHERE archive = %s", (archive,)
    ).fetchone()
    assert about is not None  # noqa: S101 (a session refers to it)
    developer, host, project, created_at, content = about
    stem = "".join(letter if letter.isalnum() else "-" for letter in f"{os.path.basename(project)[:40]}-{developer}")
    place = Place(folder, project, f"{folder}/{stem.strip('-')}-{archive}.db")
    draft = Place(folder, project, f"{place.db}.{os.urandom(4).hex()}.draft")
    try:
        with closing(migrate.open_new_or_outdated(draft, 10)) as lite:
            lite.execute("PRAGMA synchronous = OFF")
            lite.execute("BEGIN IMMEDIATE")
            lite.execute("UPDATE archive SET created_at = ?", (created_at,))
            events = _fill(connection, lite, archive, session_ids, content)
            lite.execute("COMMIT")
            lite.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        sidecar.forget(place)
        for ending in ("-wal", "-shm"):
            _unlink(place.db + ending)
        os.replace(draft.db, place.db)
    finally:
        for ending in ("", "-wal", "-shm", ".lock"):
            _unlink(draft.db + ending)
    names = [_at_home(session_id, archive) for session_id in session_ids]
    return Pulled(place, developer, host, project, names, events, content)


def _fill(connection: Connection, lite: sqlite3.Connection, archive: int, session_ids: list[str], content: str) -> int:
    for table in ("chain_notes", "chain_changes"):
        _copy(connection, lite, archive, table, "true", [])
    lite.execute("UPDATE archive SET last_note = (SELECT hash FROM chain_notes ORDER BY id DESC LIMIT 1)")
    counts = {
        table: _copy(connection, lite, archive, table, "session_id = ANY (%s)", [session_ids], content == "all")
        for table in _OF_SESSIONS
    }
    # The history of prompts belongs to no session; messages refer to it, and its bytes stay there.
    referred = "id IN (SELECT transcript_id FROM transcript_parts WHERE session_id = ANY (%s))"
    _copy(connection, lite, archive, "transcripts", referred, [session_ids])
    of_files = "transcript_id IN (SELECT id FROM transcripts WHERE session_id = ANY (%s)) AND data IS NOT NULL"
    _copy(connection, lite, archive, "transcript_chunks", of_files, [session_ids])
    # After the events: a trigger has counted those, and the row says more.
    _copy(connection, lite, archive, "sessions", "session_id = ANY (%s)", [session_ids], replace=True)
    _note(connection, lite, archive, session_ids, content)
    return counts["events"]


def _copy(
    connection: Connection,
    lite: sqlite3.Connection,
    archive: int,
    table: str,
    condition: str,
    values: list[Any],
    with_hashes: bool = True,
    replace: bool = False,
) -> int:
    types = server.columns(table)
    names = list(types)
    shown = [_column(name, table, archive, with_hashes) for name in names]
    order = "id" if "id" in types else names[0]
    select = f"SELECT {', '.join(shown)} FROM {table} WHERE archive = %s AND {condition} ORDER BY {order}"
    query = f"COPY ({select}) TO STDOUT (FORMAT BINARY)"
    verb = "INSERT OR REPLACE" if replace else "INSERT OR IGNORE"
    into = f"{verb} INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"
    with connection.cursor() as cursor, cursor.copy(query, [archive, *values]) as copy:
        copy.set_types(["int8" if type_ == "bool" else type_ for type_ in types.values()])
        done = lite.executemany(into, copy.rows())
    return done.rowcount


def _column(name: str, table: str, archive: int, with_hashes: bool) -> str:
    if name in TABLES[table].ids:
        # A session that no hook saw has no last event.
        return f"(CASE WHEN {name} > 0 THEN {name} & {(1 << BITS) - 1} ELSE 0 END)::int8"
    if name == "session_id":
        return f"regexp_replace(session_id, '@{archive}$', '')"
    if name.startswith("is_"):
        return f"{name}::int::int8"
    if table == "events" and name in ("hash", "salt") and not with_hashes:
        return "NULL::text"
    return f'"{name}"'


def _note(connection: Connection, lite: sqlite3.Connection, archive: int, session_ids: list[str], content: str) -> None:
    """Note what was not pulled, so that `verify` does not miss it."""
    last = lite.execute("SELECT ifnull(max(id), 0) FROM events").fetchone()[0]
    if content != "all":
        lite.execute("UPDATE sessions SET head_hash = NULL")
        chain.note(lite, "team pull", last, unchained_until=last)
    for session_id, event_id, link in connection.execute(
        "SELECT session_id, event_id, hash FROM cut_sessions WHERE archive = %s AND session_id = ANY (%s)",
        (archive, session_ids),
    ):
        chain.note(lite, "team retain", 0, session_id=_at_home(session_id, archive), removed=str(event_id), chain=link)
    noted = sorted(
        ids
        for (text,) in lite.execute("SELECT removed FROM chain_notes WHERE removed IS NOT NULL")
        for ids in chain.from_ranges(text)
    )
    present = (row[0] for row in lite.execute("SELECT id FROM events ORDER BY id").fetchall())
    gaps = list(_gaps(present, noted))
    if gaps:
        removed = ",".join(f"{first}-{end}" if end > first else str(first) for first, end in gaps)
        chain.note(lite, "team pull", sum(end - first + 1 for first, end in gaps), removed=removed)


def _gaps(present: Iterable[int], noted: list[tuple[int, int]]) -> Iterable[tuple[int, int]]:
    """The ids that are neither there nor in a note; both are sorted."""
    position, expected = 0, 1
    for event_id in present:
        while expected < event_id:
            while position < len(noted) and noted[position][1] < expected:
                position += 1
            begin, end = noted[position] if position < len(noted) else (event_id, event_id)
            if begin <= expected:
                expected = min(end + 1, event_id)
                continue
            yield expected, min(begin, event_id) - 1
            expected = min(begin, event_id)
        expected = event_id + 1


def _remember(folder: str, done: list[Pulled]) -> None:
    """Write down whose sessions these are: commands say so."""
    known = read_all(folder)
    now = utc_text(time.time_ns() // 1_000_000)
    for found in done:
        known[os.path.basename(found.place.db)] = f"sessions of {found.developer} on {found.host}, pulled {now[:16]}Z"
    atomic.write(f"{folder}/{PULLED}", [json.dumps(known, indent=2, ensure_ascii=False).encode() + b"\n"])


def heads(connection: Connection, pulled: Pulled) -> list[tuple[str, int, str]]:
    """The newest event of each session in each shipment: session, event and hash, as they are at home."""
    archive = int(pulled.place.name.rpartition("-")[2])
    rows = connection.execute("SELECT session_id, event_id, hash FROM session_heads WHERE archive = %s", (archive,))
    known = {_at_home(session_id, archive): (event_id, link) for session_id, event_id, link in rows}
    return [(name, *known[name]) for name in pulled.sessions if name in known]


def _at_home(session_id: str, archive: int) -> str:
    return session_id.removesuffix(f"@{archive}")


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
