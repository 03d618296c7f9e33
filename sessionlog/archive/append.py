"""The database of one project: append an event to it, in one short transaction, or say why not."""

import marshal

from sessionlog import event as events
from sessionlog import lean
from sessionlog.lean import blake2b, os, sqlite_error, utc_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from typing import Any

    from sessionlog.errors import ArchiveUnavailable
    from sessionlog.event import Record
    from sessionlog.projects import Place

SCHEMA_VERSION = 4  # the number of files in migrations/

# How long a hook waits for another writer before it takes the spool: a session must not feel it.
LOCK_WAIT = 1.5

# A connection that is never closed lets the WAL grow without end; one that is always closed pays four fsyncs an event.
WAL_LIMIT = 1024 * 1024

# Two registrations (plugin and settings) deliver the same payload within moments of each other.
TWIN_WINDOW_MS = 10_000

# --- The chain --------------------------------------------------------------------------------------------------------

HASH_SIZE = 20

# What a digest is made of: every column of the row but the hash itself.
DIGESTED = ("id", "salt", *events.COLUMNS)


def digest(row: "tuple[Any, ...]") -> bytes:
    """The digest of a row of `events`: its values in the order of DIGESTED, texts as the bytes that SQLite holds.

    marshal's format 2 puts its type and length before each value, and has been the same since Python 2.5: nothing else
    that every Python has is as fast. BLAKE2b is the fastest hash that is one, and the cheapest to import: 0.2 ms.
    """
    return blake2b(marshal.dumps(row, 2), digest_size=HASH_SIZE).digest()


def link(chain: "str | bytes | None", row_digest: bytes) -> str:
    """The hash of a row, given that of the one before it."""
    before = chain.encode() if isinstance(chain, str) else chain or b""
    return blake2b(before + row_digest, digest_size=HASH_SIZE).hexdigest()


def as_digested(prefix: str) -> str:
    """The values of a row, in SQL, as `digest` wants them."""
    return ", ".join(
        f"{prefix}{column}" if column == "duration_ms" else f"CAST({prefix}{column} AS BLOB)"
        for column in events.COLUMNS
    )


def insertion(condition: str, prefix: str = ":", source: str = "") -> str:
    """The statement that adds an event, and the only one that may: ids are never given twice, and each row is chained.

    One statement is one transaction, and an INSERT holds the write lock from its start: no second copy slips in, and of
    two hooks at once, one comes after the other in the chain.
    """
    values = ", ".join(f"{prefix}{column}" for column in events.COLUMNS)
    chain = f"(SELECT chain FROM main.sessions WHERE session_id = {prefix}session_id)"
    # Both, as neither may be wrong: an event that found its id taken would be lost.
    newest = "max(ifnull((SELECT last_event FROM main.archive), 0), ifnull((SELECT max(id) FROM main.events), 0))"
    return (
        f"INSERT INTO main.events (id, {', '.join(events.COLUMNS)}, salt, hash) "
        f"SELECT next.id, {values}, :salt, "
        f"sessionlog_link({chain}, next.id, CAST(:salt AS BLOB), {as_digested(prefix)}) "
        f"FROM (SELECT {newest} + 1 AS id) AS next{source} WHERE {condition}"
    )


def add(connection: "sqlite3.Connection", insertion: str, values: "dict[str, Any]") -> bool:
    """Carry out an insertion; whether there was something to add."""
    return connection.execute(insertion, {**values, "salt": new_salt()}).rowcount > 0


def new_salt() -> str:
    return os.urandom(16).hex()


def connect(path: str, timeout: float) -> "sqlite3.Connection":
    """A connection that can add events."""
    connection = lean.connect(path, timeout)
    connection.create_function("sessionlog_link", -1, lambda chain, *row: link(chain, digest(row)))
    return connection


# --- Events -----------------------------------------------------------------------------------------------------------

# With a plus, a column is compared and not looked up: SQLite might rather take the index of the kinds of events, and go
# through all of a kind.
_SAME_CONTENT = " AND ".join(f"+{column} IS :{column}" for column in events.COLUMNS if column not in ("at", "via"))
_APPEND = insertion(f"NOT EXISTS (SELECT 1 FROM events WHERE %s AND {_SAME_CONTENT})")
_SAME_CALL = "tool_use_id = :tool_use_id"
_SAME_MOMENT = "session_id = :session_id AND at BETWEEN :earliest AND :latest AND (:has_own_id OR via <> :via)"


def append(connection: "sqlite3.Connection", record: "Record", at_ms: int) -> None:
    """Write one event, unless it is the second copy of one that is there.

    A copy has the same content, and the same id of a tool call. Events without one are copies when they came at nearly
    the same time, and by another way, because one registration delivers each event once: two equal notifications are
    two events. A prompt's own id settles it for prompts.
    """
    if record["tool_use_id"]:
        add(connection, _APPEND % _SAME_CALL, record)
        return
    moment = {
        "earliest": utc_text(at_ms - TWIN_WINDOW_MS),
        "latest": utc_text(at_ms + TWIN_WINDOW_MS),
        "has_own_id": record["event"] == "UserPromptSubmit" and record["prompt_id"] is not None,
    }
    add(connection, _APPEND % _SAME_MOMENT, record | moment)


def open_for_writing(place: "Place", timeout: float = LOCK_WAIT) -> "sqlite3.Connection":
    """A connection to the project's database, made or brought up to date first if need be."""
    connection = None
    if is_safe_file(place.db):
        connection = connect(place.db, timeout)
        connection.execute("PRAGMA synchronous = NORMAL")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version == SCHEMA_VERSION:
            return connection
        connection.close()
    from sessionlog import migrate

    return migrate.open_new_or_outdated(place, timeout)


def is_safe_file(path: str) -> bool:
    """Whether the file is there and ours to write. A symlink, a folder or another user's file is refused outright."""
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return False
    if status.st_mode & 0o170000 != 0o100000:
        reason = "is a link or a folder, not a file"
    elif hasattr(os, "geteuid") and status.st_uid != os.geteuid():
        reason = "belongs to another user"
    else:
        return True
    from sessionlog.errors import ArchiveUnavailable

    raise ArchiveUnavailable(f"{path} {reason}; sessionlog does not write to it")


def let_go(connection: "sqlite3.Connection", place: "Place") -> None:
    """Close the connection if the WAL has grown long; closing the last one empties it."""
    try:
        if os.stat(f"{place.db}-wal").st_size > WAL_LIMIT:
            connection.close()
    except (OSError, sqlite_error):
        pass  # the event is committed; the next hook tries again


def unavailable(place: "Place", error: Exception) -> "ArchiveUnavailable":
    """What an error of SQLite or the file system means for the event at hand."""
    from sessionlog.errors import ArchiveDamaged, ArchiveUnavailable

    if isinstance(error, ArchiveUnavailable):
        return error
    message = str(error)
    if "file is not a database" in message or "malformed database schema" in message or "disk image" in message:
        return ArchiveDamaged(f"{place.db} is damaged ({message})")
    return ArchiveUnavailable(f"{place.db} cannot be written: {message}")
