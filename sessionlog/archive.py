"""The database of one project: append an event to it, in one short transaction, or say why not."""

from sessionlog import event as events
from sessionlog.lean import connect, os, sqlite_error, utc_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3

    from sessionlog.errors import ArchiveUnavailable
    from sessionlog.event import Record
    from sessionlog.projects import Place

SCHEMA_VERSION = 2  # the number of files in migrations/

# How long a hook waits for another writer before it takes the spool: a session must not feel it.
LOCK_WAIT = 1.5

# A connection that is never closed lets the WAL grow without end; one that is always closed pays four fsyncs an event.
WAL_LIMIT = 1024 * 1024

# Two registrations (plugin and settings) deliver the same payload within moments of each other.
TWIN_WINDOW_MS = 10_000

_SAME_CONTENT = " AND ".join(f"{column} IS :{column}" for column in events.COLUMNS if column not in ("at", "via"))

# One statement is one transaction, and an INSERT holds the write lock from its start: no second copy slips in.
_APPEND = (
    f"INSERT INTO events ({', '.join(events.COLUMNS)}) SELECT :{', :'.join(events.COLUMNS)} "
    f"WHERE NOT EXISTS (SELECT 1 FROM events WHERE %s AND {_SAME_CONTENT})"
)
_SAME_CALL = "tool_use_id = :tool_use_id"
_SAME_MOMENT = "session_id = :session_id AND at BETWEEN :earliest AND :latest AND (:has_own_id OR via <> :via)"


def append(connection: "sqlite3.Connection", record: "Record", at_ms: int) -> None:
    """Write one event, unless it is the second copy of one that is there.

    A copy has the same content, and the same id of a tool call. Events without one are copies when they came at nearly
    the same time, and by another way, because one registration delivers each event once: two equal notifications are
    two events. A prompt's own id settles it for prompts.
    """
    if record["tool_use_id"]:
        connection.execute(_APPEND % _SAME_CALL, record)
        return
    moment = {
        "earliest": utc_text(at_ms - TWIN_WINDOW_MS),
        "latest": utc_text(at_ms + TWIN_WINDOW_MS),
        "has_own_id": record["event"] == "UserPromptSubmit" and record["prompt_id"] is not None,
    }
    connection.execute(_APPEND % _SAME_MOMENT, record | moment)


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
