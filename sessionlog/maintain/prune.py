"""Removes old sessions from an archive, or only what their tools printed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from typing import Any, NamedTuple

from sessionlog.agents.claude_code import transcript_files
from sessionlog.archive import read, sidecar
from sessionlog.archive.chain import Notebook
from sessionlog.archive.event import COLUMNS
from sessionlog.archive.place import Place
from sessionlog.maintain import batches
from sessionlog.session import live
from sessionlog.transcripts import chunks, pruned, store

PRUNED = pruned.MARKER


class Which(NamedTuple):
    """Which sessions are meant: those before a moment, all but the newest, or these."""

    before: str | None = None
    keep: int | None = None
    named: frozenset[str] = frozenset()


class Session(NamedTuple):
    """A session that is to be pruned, and how much of it."""

    session_id: str
    last_at: str
    rows: int
    size: int


class Plan(NamedTuple):
    """What a prune of one archive removes."""

    place: Place
    sessions: list[Session]
    recent: int  # how many stay although they were meant, because they may be continued
    only_output: bool
    named: bool

    @property
    def rows(self) -> int:
        return sum(session.rows for session in self.sessions)

    @property
    def size(self) -> int:
        return sum(session.size for session in self.sessions)


def plan(place: Place, which: Which, only_output: bool = False) -> Plan:
    """Look what a prune would remove, and change nothing."""
    found, recent = [], 0
    with closing(read.connect(place)) as connection:
        for row in _meant(connection, which):
            if not which.named and live.may_be_continued(row):
                recent += 1
                continue
            counted = _count(connection, row["session_id"], only_output)
            if counted != (0, 0) or not only_output:
                found.append(Session(row["session_id"], row["last_at"], *counted))
    return Plan(place, found, recent, only_output, bool(which.named))


def run(plan: Plan) -> None:
    """Carry the plan out. Killed half-way, it leaves a sound archive, and the next run finishes the work."""
    sidecar.forget(plan.place)  # before: a run that is killed must leave no trace of what is gone
    with closing(batches.open_archive(plan.place)) as connection:
        connection.execute(_KEEP_COUNTS)
        notebook = Notebook(connection, "prune --only tool-output" if plan.only_output else "prune")
        for session in plan.sessions:
            if plan.named or _last_at(connection, session.session_id) == session.last_at:  # else it has gone on since
                steps = _prune_output if plan.only_output else _remove
                batches.in_turns(connection, steps(connection, session.session_id, notebook), notebook)
        connection.execute("DROP TRIGGER temp.prune_keeps_counts")
        batches.give_back(plan.place, connection)


def _meant(connection: sqlite3.Connection, which: Which) -> list[dict[str, Any]]:
    rows = connection.execute(
        "SELECT session_id, last_at, ended_at FROM sessions ORDER BY last_at DESC, session_id"
    ).fetchall()
    if which.named:
        return [row for row in rows if row["session_id"] in which.named]
    if which.keep is not None:
        return rows[which.keep :]
    return [row for row in rows if which.before is not None and row["last_at"] < which.before]


_BYTES = {
    "events": " + ".join(f"ifnull(length(CAST({column} AS BLOB)), 0)" for column in COLUMNS),
    "transcript_parts": "ifnull(length(CAST(text AS BLOB)), 0) + ifnull(length(CAST(thinking AS BLOB)), 0) + 200",
    "model_answers": "100",
    "session_facts": "200",
    "subagent_facts": "100",
}
_CHUNKS = (
    "FROM transcript_chunks WHERE transcript_id IN (SELECT id FROM transcripts WHERE session_id = :session_id) "
    f"AND length(data) > {len(store.PRUNED)}"
)
_HAS_OUTPUT = f"session_id = :session_id AND tool_response IS NOT NULL AND tool_response <> '\"{PRUNED}\"'"
_IS_OUTPUT = f"session_id = :session_id AND kind = 'tool_result' AND text IS NOT NULL AND text <> '{PRUNED}'"


def _count(connection: sqlite3.Connection, session_id: str, only_output: bool) -> tuple[int, int]:
    """Rows and bytes of a session that go, without what an index or a page costs on top."""
    if only_output:
        queries = [
            f"SELECT count(*) AS n, sum(length(CAST(tool_response AS BLOB))) AS size FROM events WHERE {_HAS_OUTPUT}",
            f"SELECT count(*) AS n, sum(length(CAST(text AS BLOB))) AS size FROM transcript_parts WHERE {_IS_OUTPUT}",
        ]
    else:
        queries = [
            f"SELECT count(*) AS n, sum({size}) AS size FROM {table} WHERE session_id = :session_id"
            for table, size in _BYTES.items()
        ]
        queries.append(f"SELECT count(*) AS n, sum(length(data)) AS size {_CHUNKS}")
    counts = [connection.execute(query, {"session_id": session_id}).fetchone() for query in queries]
    return sum(row["n"] for row in counts), sum(row["size"] or 0 for row in counts)


# The mirror of the trigger that counts events as they come: the counts are right at every moment, also when the run is
# killed. TEMP: it belongs to this connection alone.
_KEEP_COUNTS = """
CREATE TEMP TRIGGER prune_keeps_counts AFTER DELETE ON main.events BEGIN
    UPDATE sessions SET
        events = events - 1,
        prompts = prompts - old.is_typed,
        tool_calls = tool_calls - (old.event IN ('PostToolUse', 'PostToolUseFailure')),
        edits = edits
            - ifnull(old.event = 'PostToolUse' AND old.action IN ('edit', 'write'), 0),
        failures = failures - (old.outcome IS 'failed')
    WHERE session_id = old.session_id;
END
"""


def _remove(connection: sqlite3.Connection, session_id: str, notebook: Notebook) -> Iterator[None]:
    """Everything of a session, its row last: as long as that is there, another run finds the rest."""
    wanted = {"session_id": session_id}
    pruned.remember(connection, session_id, only_output=False, last_line=_last_line(connection, session_id))
    for table in ("session_facts", "subagent_facts", "model_answers"):
        connection.execute(f"DELETE FROM {table} WHERE session_id = :session_id", wanted)
        yield
    yield from _rewrite_history(connection, session_id)  # before the messages that tell that there is something
    for (row_id,) in connection.execute(
        "SELECT id FROM transcript_parts WHERE session_id = :session_id", wanted
    ).fetchall():
        connection.execute("DELETE FROM transcript_parts WHERE id = ?", (row_id,))
        yield
    for (row_id,) in connection.execute(
        "SELECT id FROM events WHERE session_id = :session_id ORDER BY id", wanted
    ).fetchall():
        notebook.remove(session_id, row_id)
        yield
    for (transcript_id,) in _transcripts(connection, session_id, "id"):
        for sequence in _sequences(connection, transcript_id):
            _empty_chunk(connection, transcript_id, sequence)
            yield
        _note_pruned_bytes(connection, transcript_id)
        yield
    connection.execute(
        "DELETE FROM sessions WHERE session_id = :session_id "
        "AND NOT EXISTS (SELECT 1 FROM events WHERE session_id = :session_id)",  # one has come while we were at it
        wanted,
    )
    yield


def _prune_output(connection: sqlite3.Connection, session_id: str, notebook: Notebook) -> Iterator[None]:
    """What tools printed, wherever it is; the calls themselves stay, and so do all counts.

    The chunks go first: as long as a row has its output, another run finds the session.
    """
    pruned.remember(connection, session_id, only_output=True, last_line=_last_line(connection, session_id))
    for transcript_id, kind, client in _transcripts(connection, session_id, "id, kind, client"):
        for sequence in _sequences(connection, transcript_id):
            if kind == transcript_files.TOOL_RESULT:
                _empty_chunk(connection, transcript_id, sequence)
            elif kind in transcript_files.LINE_KINDS:
                _rewrite_chunk(connection, transcript_id, sequence, partial(pruned.without_output, client=client))
            yield
        _note_pruned_bytes(connection, transcript_id)
        yield
    wanted = {"session_id": session_id}
    for (row_id,) in connection.execute(f"SELECT id FROM transcript_parts WHERE {_IS_OUTPUT}", wanted).fetchall():
        connection.execute("UPDATE transcript_parts SET text = ? WHERE id = ?", (PRUNED, row_id))
        yield
    for (row_id,) in connection.execute(f"SELECT id FROM events WHERE {_HAS_OUTPUT}", wanted).fetchall():
        with notebook.change(row_id):
            connection.execute("UPDATE events SET tool_response = ? WHERE id = ?", (f'"{PRUNED}"', row_id))
        yield


def _last_line(connection: sqlite3.Connection, session_id: str) -> str:
    """The time of the last line in the files of a session."""
    found = ""
    for transcript_id, kind in _transcripts(connection, session_id, "id, kind"):
        if kind in transcript_files.LINE_KINDS and kind != transcript_files.HISTORY:
            row = connection.execute(
                "SELECT data FROM transcript_chunks WHERE transcript_id = ? ORDER BY sequence DESC", (transcript_id,)
            ).fetchone()
            try:
                found = max(found, pruned.last_time(chunks.unpack(row[0]).split(b"\n")) if row else "")
            except chunks.Unreadable:
                pass  # then it is the time of what is in the tables
    return found


def _rewrite_history(connection: sqlite3.Connection, session_id: str) -> Iterator[None]:
    """The history of prompts is one file for all sessions: this one's lines are left empty, to keep the count."""

    def without_session(line: bytes) -> bytes:
        entry = pruned.parsed(line) if session_id.encode() in line else {}
        return b"" if entry.get("sessionId") == session_id else line

    for (transcript_id,) in connection.execute(
        "SELECT id FROM transcripts WHERE kind = ?", (transcript_files.HISTORY,)
    ).fetchall():
        for sequence in _sequences(connection, transcript_id):
            if _rewrite_chunk(connection, transcript_id, sequence, without_session):
                _note_pruned_bytes(connection, transcript_id)
            yield


def _rewrite_chunk(connection: sqlite3.Connection, transcript_id: int, sequence: int, rewrite: Any) -> bool:
    """Whether something changed. Its length and hash stay: by them, `import` knows the file. The hash gets a key."""
    (data,) = connection.execute(
        "SELECT data FROM transcript_chunks WHERE transcript_id = ? AND sequence = ?", (transcript_id, sequence)
    ).fetchone()
    try:
        lines = chunks.unpack(data).split(b"\n")
    except chunks.Unreadable:
        return False  # it stays as it is
    rewritten = list(map(rewrite, lines))
    if rewritten != lines:
        connection.execute(
            "UPDATE transcript_chunks SET data = ?, hash = keyed_hash(hash) WHERE transcript_id = ? AND sequence = ?",
            (chunks.pack(b"\n".join(rewritten)), transcript_id, sequence),
        )
    return rewritten != lines


def _transcripts(connection: sqlite3.Connection, session_id: str, columns: str) -> list[tuple[Any, ...]]:
    return connection.execute(f"SELECT {columns} FROM transcripts WHERE session_id = ?", (session_id,)).fetchall()


def _sequences(connection: sqlite3.Connection, transcript_id: int) -> list[int]:
    rows = connection.execute("SELECT sequence FROM transcript_chunks WHERE transcript_id = ?", (transcript_id,))
    return [sequence for (sequence,) in rows.fetchall()]


def _empty_chunk(connection: sqlite3.Connection, transcript_id: int, sequence: int) -> None:
    """Its bytes go. Its length stays, and its hash, with a key: by them, `import` knows the file, and leaves it out."""
    connection.execute(
        "UPDATE transcript_chunks SET data = ?, hash = keyed_hash(hash), entry_types = '{}', replacements = 0 "
        "WHERE transcript_id = ? AND sequence = ?",
        (store.PRUNED, transcript_id, sequence),
    )


def _note_pruned_bytes(connection: sqlite3.Connection, transcript_id: int) -> None:
    connection.execute(
        "UPDATE transcripts SET pruned_bytes = bytes, replacements = (SELECT ifnull(sum(replacements), 0) "
        "FROM transcript_chunks WHERE transcript_id = transcripts.id) WHERE id = ?",
        (transcript_id,),
    )


def _last_at(connection: sqlite3.Connection, session_id: str) -> str | None:
    row = connection.execute("SELECT last_at FROM sessions WHERE session_id = ?", (session_id,)).fetchone()
    return row[0] if row else None
