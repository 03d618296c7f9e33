"""Takes other archives in: of a project that was moved, of another machine, from a backup. Twice is once."""

from __future__ import annotations

import os
import re
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing

from sessionlog.agents.claude_code import prices, transcript_lines
from sessionlog.archive import append, bulk, event, migrate, notes, sidecar
from sessionlog.archive.locks import open_private
from sessionlog.archive.place import Place
from sessionlog.errors import SessionlogError
from sessionlog.maintain import backup, batches, merge_notes, prune_memory, redact
from sessionlog.transcripts import chunks, pruned, store

Summary = Counter[str]  # what was new: {"events": 12, …}

# The same event, whichever registration brought it.
_CONTENT = " AND ".join(f"+old.{column} IS new.{column}" for column in event.COLUMNS if column != "via")
_ADD_EVENT = bulk.insertion(
    # Those that were here before: two equal events of one millisecond in the other archive are two. The signs leave
    # SQLite no index but that of session and time; by id, it would read the whole archive for every event.
    "new.id = :id AND NOT EXISTS (SELECT 1 FROM main.events AS old "
    f"WHERE old.session_id = new.session_id AND old.at = new.at AND +old.id <= :newest AND {_CONTENT})",
    prefix="new.",
    source=", other.events AS new",
)

# Events of the past have come in after later ones: the end of a session, and the like, is computed again by time.
_FIRST, _LAST = "ORDER BY at, id LIMIT 1", "ORDER BY at DESC, id DESC LIMIT 1"
_OF_SESSION = "FROM main.events WHERE session_id = :session_id AND"
_START = "event = 'SessionStart' AND json_valid(extra)"
_SETTLE_SESSION = f"""
UPDATE main.sessions SET
    (ended_at, end_reason) = (
        SELECT
            iif(event = 'SessionEnd', at, NULL),
            iif(event = 'SessionEnd' AND json_valid(extra), json_extract(extra, '$.reason'), NULL)
        {_OF_SESSION} event IN ('SessionStart', 'SessionEnd') {_LAST}
    ),
    start_reason = coalesce((SELECT json_extract(extra, '$.source') {_OF_SESSION} {_START} {_FIRST}), start_reason),
    model = coalesce((
        SELECT json_extract(extra, '$.model')
        {_OF_SESSION} {_START} AND json_extract(extra, '$.model') IS NOT NULL {_LAST}
    ), model),
    cwd = coalesce((SELECT cwd {_OF_SESSION} cwd IS NOT NULL {_FIRST}), cwd),
    transcript_path = coalesce(
        (SELECT transcript_path {_OF_SESSION} transcript_path IS NOT NULL {_LAST}), transcript_path
    ),
    permission_mode = coalesce(
        (SELECT permission_mode {_OF_SESSION} permission_mode IS NOT NULL {_LAST}), permission_mode
    )
WHERE session_id = :session_id
"""

# A session that no hook saw; those of events have made themselves.
_ADD_SESSION = f"""
INSERT INTO main.sessions (session_id, started_at, last_at, model, cwd, transcript_path, client)
SELECT session_id, started_at, last_at, model, cwd, transcript_path, client
FROM other.sessions WHERE session_id = :session_id
{store.WIDEN_SESSION}
"""
_ADD_FACTS = f"""
INSERT INTO main.session_facts (session_id, {", ".join(store.FACT_COLUMNS)})
SELECT session_id, {", ".join(store.FACT_COLUMNS)} FROM other.session_facts WHERE session_id = :session_id
ON CONFLICT (session_id) DO UPDATE SET
    {", ".join(f"{column} = coalesce({column}, excluded.{column})" for column in store.FACT_COLUMNS)}
"""

_TRANSCRIPT = (
    *("name", "kind", "session_id", "agent_id", "bytes", "lines", "replacements", "file_size", "file_mtime_ns"),
    *("first_import_at", "last_import_at", "pruned_bytes", "client"),
)


def preview(place: Place, sources: list[str]) -> list[Summary]:
    """What each of the archives would bring, by merging them into a copy."""
    with _folder_beside(place) as folder:
        copy = Place(place.home, place.project, os.path.join(folder, "target.db"))
        if os.path.exists(place.db):
            _copy(place.db, copy.db)
            notes.add(copy, notes.load(place).values())
        return run(copy, sources)


def run(place: Place, sources: list[str]) -> list[Summary]:
    """Merge the archives into that of the place; they themselves are only read."""
    return [_merge(place, source) for source in sources]


def _merge(place: Place, source: str) -> Summary:
    summary: Summary = Counter()
    annotations = merge_notes.load(source, redact.GivenRules(place.home))
    with _folder_beside(place) as folder, closing(batches.open_archive(place)) as connection:
        copy = _prepared_copy(source, folder, place.home)
        connection.execute("ATTACH ? AS other", (copy,))
        _refuse_other_tables(connection, source)
        prices.register(connection, place.home)
        bulk.register_link(connection)
        with closing(sqlite3.connect(copy)) as other, other:
            chunks.register(other, place.home)
            prune_memory.keep_out(other, pruned.read(connection))
        sessions = [row[0] for row in connection.execute("SELECT session_id FROM other.sessions").fetchall()]
        batches.in_turns(connection, _steps(connection, sessions, summary))
        summary["notes"] += merge_notes.add(place, connection, annotations)
        connection.execute("DETACH other")
        connection.execute("UPDATE archive SET prices = NULL")
        prices.apply(connection, place.home)
    sidecar.forget(place, [".digest"])  # which sees what is new, and answers that were known may have grown
    return +summary


def _folder_beside(place: Place) -> tempfile.TemporaryDirectory[str]:
    """For copies: as private as the archive, and on a disk that has room for it."""
    folder = os.path.dirname(place.db)
    migrate.make_private_folder(folder)
    return tempfile.TemporaryDirectory(prefix=".merging-", dir=folder)


def _copy(db: str, target: str) -> None:
    """A copy for our eyes only, also if the merge is killed and leaves it behind."""
    os.close(open_private(target, os.O_EXCL))
    backup.copy(db, target)


def _prepared_copy(source: str, folder: str, home: str) -> str:
    """A copy of the archive, brought up to date, and without what the rules of this machine take out.

    The rules may be newer than those of the other machine, or it may have had none. The copy is cleaned, and not what
    has come in: nothing of it is written here for even a moment.
    """
    copy = os.path.join(folder, "other.db")
    if not os.path.isfile(source):
        raise SessionlogError(f"{source} is no file")
    try:
        _copy(source, copy)
        with closing(sqlite3.connect(copy)) as connection:
            ours = connection.execute("PRAGMA application_id").fetchone()[0] == migrate.APPLICATION_ID
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            sound = connection.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok"
        if not ours:
            raise SessionlogError(f"{source} is another program's database, not an archive of sessionlog")
        if version > append.SCHEMA_VERSION:
            raise SessionlogError(f"{source} was written by a newer sessionlog; upgrade sessionlog to merge it")
        if not sound:
            raise SessionlogError(f"{source} is damaged; `sqlite3 FILE .recover` saves what can be read")
        append.open_for_writing(Place(folder, "", copy)).close()
        redact.clean_copy(Place(folder, "", copy), redact.GivenRules(home))
    except sqlite3.DatabaseError as error:
        hint = "; `sessionlog import` reads exports and transcripts" if source.endswith(".jsonl") else ""
        raise SessionlogError(f"{source} cannot be read: {error}{hint}") from error
    return copy


# A view in the place of a table could be endless.
_NO_TABLES = """
SELECT name FROM main.sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
EXCEPT
SELECT name FROM other.sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'
"""


def _refuse_other_tables(connection: sqlite3.Connection, source: str) -> None:
    names = [str(name) for (name,) in connection.execute(_NO_TABLES).fetchall()]
    if names:
        raise SessionlogError(f"{source} cannot be merged: it has no table {' and no table '.join(sorted(names))}")


def _steps(connection: sqlite3.Connection, sessions: list[str], summary: Summary) -> Iterator[None]:
    newest = connection.execute("SELECT ifnull(max(id), 0) FROM main.events").fetchone()[0]
    for session_id in sessions:
        known = connection.execute("SELECT 1 FROM main.sessions WHERE session_id = ?", (session_id,)).fetchone()
        summary["sessions"] += known is None
    for (event_id,) in connection.execute("SELECT id FROM other.events ORDER BY id").fetchall():
        summary["events"] += bulk.add(connection, _ADD_EVENT, {"id": event_id, "newest": newest})
        yield
    yield from _transcript_steps(connection, summary)
    for row in connection.execute(f"SELECT {store.ANSWER} FROM other.model_answers").fetchall():
        connection.execute(store.ADD_USAGE, row)
        yield
    connection.execute("INSERT OR IGNORE INTO main.subagent_facts SELECT * FROM other.subagent_facts")
    connection.execute(prune_memory.TAKE_OVER)
    for session_id in sessions:
        for statement in (_ADD_SESSION, _SETTLE_SESSION, _ADD_FACTS):
            connection.execute(statement, {"session_id": session_id})
        store.count_messages(connection, [session_id])
        yield


def _transcript_steps(connection: sqlite3.Connection, summary: Summary) -> Iterator[None]:
    identity = connection.execute("SELECT created_at || ' ' || project FROM other.archive").fetchone()[0]
    here: dict[int, int] = {}  # the id in the other archive -> the id in this one
    for transcript_id, file, generation in connection.execute(
        "SELECT id, file, generation FROM other.transcripts ORDER BY id"
    ).fetchall():
        # Another machine may have another file of that name, such as the history of prompts.
        for name, is_last in ((file, False), (f"{file} (merged from {identity})", True)):
            row = connection.execute(
                "SELECT id FROM main.transcripts WHERE file = ? AND generation = ?", (name, generation)
            ).fetchone()
            if row is None:
                here[transcript_id] = _add_transcript(connection, transcript_id, name)
                summary["transcripts"] += 1
                break
            if is_last or _is_same_file(connection, transcript_id, row[0]):
                here[transcript_id] = row[0]
                _continue_transcript(connection, transcript_id, row[0])
                break
        yield
    columns = ", ".join(transcript_lines.COLUMNS)
    for message_id, transcript_id in connection.execute(
        "SELECT id, transcript_id FROM other.transcript_parts ORDER BY id"
    ).fetchall():
        if transcript_id in here:
            done = connection.execute(
                f"INSERT OR IGNORE INTO main.transcript_parts (transcript_id, {columns}) "
                f"SELECT ?, {columns} FROM other.transcript_parts WHERE id = ?",
                (here[transcript_id], message_id),
            )
            summary["messages"] += done.rowcount
            yield


def _add_transcript(connection: sqlite3.Connection, transcript_id: int, name: str) -> int:
    columns = ", ".join(_TRANSCRIPT)
    done = connection.execute(
        f"INSERT INTO main.transcripts (file, generation, {columns}) "
        f"SELECT ?, generation, {columns} FROM other.transcripts WHERE id = ?",
        (name, transcript_id),
    )
    assert done.lastrowid is not None  # noqa: S101 (it was an INSERT)
    _copy_chunks(connection, transcript_id, done.lastrowid)
    return done.lastrowid


def _continue_transcript(connection: sqlite3.Connection, theirs: int, ours: int) -> None:
    """Take their version of a file if it goes on where ours ends."""
    if _length(connection, "other", theirs) > _length(connection, "main", ours):
        connection.execute("DELETE FROM main.transcript_chunks WHERE transcript_id = ?", (ours,))
        _copy_chunks(connection, theirs, ours)
        connection.execute(
            f"UPDATE main.transcripts SET ({', '.join(_TRANSCRIPT)}) = "
            f"(SELECT {', '.join(_TRANSCRIPT)} FROM other.transcripts WHERE id = ?) WHERE id = ?",
            (theirs, ours),
        )


def _copy_chunks(connection: sqlite3.Connection, theirs: int, ours: int) -> None:
    columns = "sequence, offset, length, hash, first_line, lines, replacements, entry_types, data"
    connection.execute(
        f"INSERT INTO main.transcript_chunks (transcript_id, {columns}) "
        f"SELECT ?, {columns} FROM other.transcript_chunks WHERE transcript_id = ?",
        (ours, theirs),
    )


def _is_same_file(connection: sqlite3.Connection, theirs: int, ours: int) -> bool:
    """Whether one begins with all of the other: the same file, archived at two times."""
    pairs = list(zip(_chunks(connection, "other", theirs), _chunks(connection, "main", ours), strict=False))
    for number, ((their_hash, their_length, their_data), (our_hash, our_length, our_data)) in enumerate(pairs):
        if their_hash == our_hash:
            continue
        if store.PRUNED in (their_data, our_data):  # nobody can tell what was there
            return False
        try:
            shorter, longer = sorted(map(_without_fingerprints, (their_data, our_data)), key=len)
        except chunks.Unreadable:
            return False
        if shorter == longer and their_length == our_length:  # with a secret, and hashes with the keys of two machines
            continue
        return number + 1 == len(pairs) and longer.startswith(shorter)
    return True


# In the markers of replaced secrets.
_FINGERPRINT = re.compile(rb"(\[redacted:[A-Za-z0-9-]+:)[0-9a-f]{10}\]")


def _without_fingerprints(packed: bytes) -> bytes:
    """The text of a chunk as it is on every machine."""
    return _FINGERPRINT.sub(rb"\1]", chunks.unpack(packed))


def _chunks(connection: sqlite3.Connection, schema: str, transcript_id: int) -> list[tuple[bytes, int, bytes]]:
    """The hashes, lengths and texts of what is archived of a file. Hashes with a key and without are made alike."""
    return connection.execute(
        f"SELECT keyed_hash(hash), length, data FROM {schema}.transcript_chunks WHERE transcript_id = ? "
        "ORDER BY sequence",
        (transcript_id,),
    ).fetchall()


def _length(connection: sqlite3.Connection, schema: str, transcript_id: int) -> int:
    """How many bytes of the file are archived; none of one that was pruned."""
    length: int = connection.execute(
        f"SELECT ifnull(sum(length), 0) FROM {schema}.transcript_chunks WHERE transcript_id = ?", (transcript_id,)
    ).fetchone()[0]
    return length
