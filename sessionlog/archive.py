"""The database of one project: append an event to it, in one short transaction, or say why not."""

from sessionlog import event as events
from sessionlog.errors import ArchiveDamaged, ArchiveUnavailable
from sessionlog.lean import connect, os, sqlite_error, utc_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3

    from sessionlog.event import Record
    from sessionlog.projects import Place

SCHEMA_VERSION = 1  # the number of files in migrations/

# How long a hook waits for another writer before it takes the spool: a session must not feel it.
LOCK_WAIT = 1.5

# A connection that is never closed lets the WAL grow without end; one that is always closed pays four fsyncs an event.
WAL_LIMIT = 512 * 1024

# Two registrations (plugin and settings) deliver the same payload within moments of each other.
TWIN_WINDOW_MS = 10_000

_CONTENT = [column for column in events.COLUMNS if column not in ("session_id", "event", "at", "via")]


def _append_sql() -> str:
    place = {column: f"?{number}" for number, column in enumerate(events.COLUMNS, 1)}
    total = len(events.COLUMNS)
    same_content = " AND ".join(f"{column} IS {place[column]}" for column in _CONTENT)
    # One statement is one transaction, and an INSERT holds the write lock from its start: no second copy slips in.
    return (
        f"INSERT INTO events ({', '.join(events.COLUMNS)}) SELECT {', '.join(place.values())} WHERE NOT EXISTS ("
        f"SELECT 1 FROM events WHERE session_id = {place['session_id']} AND at BETWEEN ?{total + 1} AND ?{total + 2} "
        f"AND event = {place['event']} AND (?{total + 3} OR via <> {place['via']}) AND {same_content})"
    )


_APPEND = _append_sql()


def append(connection: "sqlite3.Connection", record: "Record", at_ms: int) -> None:
    """Write one event, unless it is the second copy of one that is there.

    A copy has the same content at nearly the same time. If it carries an id of its own (a tool call's, a prompt's), that
    settles it; otherwise it must have come another way, because one registration delivers each event once: two equal
    prompts are two events.
    """
    has_own_id = bool(record["tool_use_id"] or (record["event"] == "UserPromptSubmit" and record["prompt_id"]))
    window = (utc_text(at_ms - TWIN_WINDOW_MS), utc_text(at_ms + TWIN_WINDOW_MS))
    connection.execute(_APPEND, (*record.values(), *window, has_own_id))


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
        raise ArchiveUnavailable(f"{path} is a link or a folder, not a file; sessionlog does not write to it")
    if hasattr(os, "geteuid") and status.st_uid != os.geteuid():
        raise ArchiveUnavailable(f"{path} belongs to another user; sessionlog does not write to it")
    return True


def let_go(connection: "sqlite3.Connection", place: "Place") -> None:
    """Close the connection if the WAL has grown long; closing the last one empties it."""
    try:
        if os.stat(f"{place.db}-wal").st_size > WAL_LIMIT:
            connection.close()
    except (OSError, sqlite_error):
        pass  # the event is committed; the next hook tries again


def unavailable(place: "Place", error: BaseException) -> ArchiveUnavailable:
    """What an error of SQLite or the file system means for the event at hand."""
    if isinstance(error, ArchiveUnavailable):
        return error
    message = str(error)
    if "file is not a database" in message or "malformed database schema" in message or "disk image" in message:
        return ArchiveDamaged(f"{place.db} is damaged ({message})")
    return ArchiveUnavailable(f"{place.db} cannot be written: {message}")
