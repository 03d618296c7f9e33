"""What is remembered of pruned sessions: listed, lifted, and kept out of an archive that is to be merged."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from typing import NamedTuple

from sessionlog.agents.claude_code import transcript_files
from sessionlog.archive import read
from sessionlog.archive.place import Place
from sessionlog.archive.transaction import writing
from sessionlog.errors import SessionlogError
from sessionlog.fastlib import utc_text
from sessionlog.maintain import batches
from sessionlog.transcripts import chunks, pruned, store


class Memory(NamedTuple):
    """A session of which something stays out."""

    place: Place
    session_id: str
    until: str | None
    output_until: str | None
    pruned_at: str


def listed(places: list[Place]) -> list[Memory]:
    """All that is remembered in these archives, the oldest first."""
    found = []
    for place in places:
        if os.path.exists(place.db):
            with closing(read.connect(place)) as connection:
                rows = connection.execute("SELECT * FROM pruned_sessions ORDER BY pruned_at, session_id").fetchall()
            found += [Memory(place, **row) for row in rows]
    return found


def forget(places: list[Place], wanted: str) -> Memory:
    """Let a pruned session come back with the next import of its files, if there are any."""
    found = [memory for memory in listed(places) if memory.session_id.startswith(wanted)]
    exact = [memory for memory in found if memory.session_id == wanted]
    if len(exact or found) != 1:
        some = "no pruned session" if not found else f"{len(found)} pruned sessions"
        raise SessionlogError(f"{some} starts with {wanted!r}; `sessionlog prune --remembered` lists them")
    (memory,) = exact or found
    with closing(batches.open_archive(memory.place)) as connection, writing(connection):
        connection.execute("DELETE FROM pruned_sessions WHERE session_id = ?", (memory.session_id,))
        for known in store.known_transcripts(connection):
            if known.pruned_bytes and _is_of(connection, known, memory.session_id) and _is_whole(connection, known):
                for table in ("transcript_parts", "transcript_chunks"):
                    connection.execute(f"DELETE FROM {table} WHERE transcript_id = ?", (known.id,))
                connection.execute("DELETE FROM transcripts WHERE id = ?", (known.id,))
    return memory


def _is_of(connection: sqlite3.Connection, known: store.Known, session_id: str) -> bool:
    query = "SELECT 1 FROM transcripts WHERE id = ? AND session_id = ?"
    return connection.execute(query, (known.id, session_id)).fetchone() is not None


def _is_whole(connection: sqlite3.Connection, known: store.Known) -> bool:
    """Whether the file still begins with all that was archived of it, so that the next import can read it again.

    Else what came after the prune may be nowhere but here, and stays.
    """
    try:
        return store.still_holds(connection, known, known.file, every_byte=True)
    except OSError:
        return False


def keep_out(copy: sqlite3.Connection, limits: pruned.Limits) -> None:
    """Take out of a copy of another archive what was pruned in the one that it is to be merged into."""
    if not limits:
        return
    present = {session_id for (session_id,) in copy.execute("SELECT session_id FROM sessions").fetchall()}
    for session_id in present & limits.keys():
        _keep_out_session(copy, session_id, limits[session_id])
    for transcript_id, kind, session_id, mtime, client in copy.execute(
        "SELECT id, kind, session_id, file_mtime_ns, client FROM transcripts"
    ).fetchall():
        if session_id in limits or kind == transcript_files.HISTORY:
            _keep_out_lines(copy, transcript_id, kind, session_id or "", mtime, client, limits)


def _keep_out_session(copy: sqlite3.Connection, session_id: str, limit: pruned.Limit) -> None:
    copy.execute("DELETE FROM events WHERE session_id = ? AND at <= ?", (session_id, limit.until))
    copy.execute(
        "UPDATE events SET tool_response = ? WHERE session_id = ? AND at <= ? AND tool_response IS NOT NULL",
        (pruned.MARKER_JSON, session_id, limit.output_until),
    )
    copy.execute(
        "UPDATE transcript_parts SET text = ? WHERE session_id = ? AND kind = 'tool_result' AND at <= ? "
        "AND text IS NOT NULL",
        (pruned.MARKER, session_id, limit.output_until),
    )
    if not limit.until:
        return
    for table in ("transcript_parts", "model_answers"):
        copy.execute(f"DELETE FROM {table} WHERE session_id = ? AND (at IS NULL OR at <= ?)", (session_id, limit.until))
    (left,) = copy.execute(
        "SELECT min(at) FROM (SELECT at FROM events WHERE session_id = :id "
        "UNION ALL SELECT at FROM transcript_parts WHERE session_id = :id)",
        {"id": session_id},
    ).fetchone()
    if left:
        copy.execute("UPDATE sessions SET started_at = ? WHERE session_id = ?", (left, session_id))
        return
    for table in ("session_facts", "subagent_facts", "sessions"):
        copy.execute(f"DELETE FROM {table} WHERE session_id = ?", (session_id,))


def _keep_out_lines(
    copy: sqlite3.Connection,
    transcript_id: int,
    kind: str,
    session_id: str,
    mtime: int,
    client: str,
    limits: pruned.Limits,
) -> None:
    for sequence, packed in copy.execute(
        "SELECT sequence, data FROM transcript_chunks WHERE transcript_id = ?", (transcript_id,)
    ).fetchall():
        try:
            data = chunks.unpack(packed)
        except chunks.Unreadable:
            continue  # it is merged as it is
        if kind in transcript_files.LINE_KINDS:
            kept = pruned.kept_lines(data.split(b"\n"), kind, session_id, limits, client)
            kept_data = b"\n".join(kept) if any(kept) else b""
        else:
            limit = limits[session_id]
            until = max(limit) if kind == transcript_files.TOOL_RESULT else limit.until
            kept_data = b"" if utc_text(mtime // 1_000_000) <= until else data
        if kept_data != data:
            copy.execute(
                "UPDATE transcript_chunks SET data = ?, hash = keyed_hash(hash) "
                "WHERE transcript_id = ? AND sequence = ?",
                (chunks.pack(kept_data), transcript_id, sequence),
            )


# The prunes of a project that was moved go with it; what is here stays here.
TAKE_OVER = """
INSERT OR IGNORE INTO main.pruned_sessions
SELECT * FROM other.pruned_sessions WHERE session_id NOT IN (SELECT session_id FROM main.sessions)
"""
