"""The database of one project: append an event to it, in one short transaction, or say why not."""

from sessionlog import fastlib
from sessionlog.archive import event as events
from sessionlog.fastlib import blake2b, os, sqlite_error, utc_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable
    from typing import Any

    from sessionlog.archive.event import Record
    from sessionlog.archive.place import Place
    from sessionlog.errors import ArchiveUnavailable

SCHEMA_VERSION = 6  # the number of files in migrations/

# How long a hook waits for another writer before it takes the spool: a session must not feel it.
LOCK_WAIT = 1.5

# A connection that is never closed lets the WAL grow without end; one that is always closed pays four fsyncs an event.
WAL_LIMIT = 1024 * 1024

# Two registrations (plugin and settings) deliver the same payload within moments of each other.
TWIN_WINDOW_MS = 10_000

# --- The chain: docs/archive-format.md specifies it for other programs ------------------------------------------------

HASH_SIZE = 20
LONG = 1 << 15  # a value that is hashed by itself: a copy of it would cost more

# The columns that a digest covers: all but the hash itself, and those that SQLite computes.
DIGESTED = tuple(sorted(("id", "salt", *events.COLUMNS)))
_NAMES = tuple([name.encode() for name in DIGESTED])


def digest(values: "Iterable[Any]", names: "Iterable[bytes]" = _NAMES) -> bytes:
    """The digest of a row: the names and values of the columns that are not NULL, in the order of the names.

    A column that is added later is NULL in the rows before it, and leaves their digests as they are. BLAKE2b is the
    fastest hash that every Python has, and the cheapest to import: 0.2 ms.
    """
    state = blake2b(digest_size=HASH_SIZE)
    pieces: list[bytes] = []
    for name, value in zip(names, values):  # noqa: B905 (strict= costs, and all callers name both)
        if value is None:
            continue
        value = value if type(value) is bytes else b"%d" % value  # noqa: PLW2901
        pieces += (b"%s %d\n" % (name, len(value)), value, b"\n")
        if len(value) > LONG:
            state.update(b"".join(pieces[:-2]))
            state.update(value)
            del pieces[:-1]
    state.update(b"".join(pieces))
    return state.digest()


def link(chain: "str | bytes | None", row_digest: bytes) -> str:
    """The hash of a row, given that of the one before it."""
    before = chain.encode() if isinstance(chain, str) else chain or b""
    return blake2b(before + row_digest, digest_size=HASH_SIZE).hexdigest()


def new_salt() -> str:
    return os.urandom(16).hex()


# --- Events -----------------------------------------------------------------------------------------------------------

# All columns that are stored, and the only statement of a hook that adds an event. Not an INSERT with a SELECT: because
# of the trigger, SQLite would first write such a row to a temporary table.
ROW = ("id", *events.COLUMNS, "salt", "hash")
INSERT = f"INSERT INTO main.events ({', '.join(ROW)}) VALUES ({', '.join('?' * len(ROW))})"

# With a plus, a column is compared and not looked up: SQLite might rather take the index of the kinds of events, and go
# through all of a kind.
_SAME_KIND = "+event = :event"
_SAME_CONTENT = " AND ".join(f"+{column} IS :{column}" for column in events.COLUMNS if column not in ("at", "via"))
_SAME_CALL = "tool_use_id = :tool_use_id"
_SAME_MOMENT = "session_id = :session_id AND at BETWEEN :earliest AND :latest AND (:has_own_id OR via <> :via)"


def append(connection: "sqlite3.Connection", record: "Record", at_ms: int) -> None:
    """Write one event, unless it is the second copy of one that is there.

    A copy has the same content, and the same id of a tool call. Events without one are copies when they came at nearly
    the same time, and by another way, because one registration delivers each event once: two equal notifications are
    two events. A prompt's own id settles it for prompts.
    """
    in_transaction(connection, _add_unless_there, record, at_ms)


def in_transaction(connection: "sqlite3.Connection", work: "Callable[..., None]", *arguments: "Any") -> None:
    """Nobody else writes between what the work reads and what it writes. A transaction of the caller serves, too."""
    if connection.in_transaction:
        work(connection, *arguments)
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        work(connection, *arguments)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # a full disk has rolled back already
            connection.execute("ROLLBACK")
        raise


def _add_unless_there(connection: "sqlite3.Connection", record: "Record", at_ms: int) -> None:
    same, values = _SAME_CALL, record
    if not record["tool_use_id"]:
        same = _SAME_MOMENT
        values = record | {
            "earliest": utc_text(at_ms - TWIN_WINDOW_MS),
            "latest": utc_text(at_ms + TWIN_WINDOW_MS),
            "has_own_id": record["event"] == "UserPromptSubmit" and record["prompt_id"] is not None,
        }
    # As a rule there is no event of the kind that could be the first copy. To ask for that alone takes half as long.
    before = connection.execute(f"{_BEFORE}, {_is_there(f'{same} AND {_SAME_KIND}')}", values).fetchone()
    last_removed_id, last_id, chain, may_be_there = before
    if may_be_there and connection.execute(f"SELECT {_is_there(f'{same} AND {_SAME_CONTENT}')}", values).fetchone()[0]:
        return
    # The greater of the two: either may be too small, and an id that is taken would lose the event.
    row = record | {"id": max(last_removed_id or 0, last_id or 0) + 1, "salt": new_salt()}
    digested = [row[name] for name in DIGESTED]
    row["hash"] = link(chain, digest([value.encode() if type(value) is str else value for value in digested]))
    connection.execute(INSERT, [row[name] for name in ROW])


# What an event needs to know of those before it: for its id, for its hash, and whether it is there already.
_BEFORE = (
    "SELECT (SELECT last_removed_id FROM main.archive), (SELECT max(id) FROM main.events), "
    "(SELECT head_hash FROM main.sessions WHERE session_id = :session_id)"
)


def _is_there(condition: str) -> str:
    return f"EXISTS (SELECT 1 FROM events WHERE {condition})"


def open_for_writing(place: "Place", timeout: float = LOCK_WAIT, in_hook: bool = False) -> "sqlite3.Connection":
    """A connection to the project's database, made or upgraded first if need be.

    A hook does not upgrade a large archive, because a session waits for it: the importer that runs in the background or
    the next command does.
    """
    connection = None
    if is_safe_file(place.db):
        connection = fastlib.connect(place.db, timeout)
        connection.execute("PRAGMA synchronous = NORMAL")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version == SCHEMA_VERSION and (not place.other_db or is_of_project(connection, place)):
            return connection
        connection.close()
    from sessionlog.archive import migrate

    return migrate.open_new_or_outdated(place, timeout, in_hook)


def is_of_project(connection: "sqlite3.Connection", place: "Place") -> bool:
    """Whether the archive says that it belongs to this project."""
    row = connection.execute("SELECT project FROM archive").fetchone()
    return bool(row) and row[0] == place.project.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


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
    """What an error of SQLite or the file system means for the event."""
    from sessionlog.errors import ArchiveDamaged, ArchiveUnavailable

    if isinstance(error, ArchiveUnavailable):
        return error
    message = str(error)
    if "file is not a database" in message or "malformed database schema" in message or "disk image" in message:
        return ArchiveDamaged(f"{place.db} is damaged ({message})")
    return ArchiveUnavailable(f"{place.db} cannot be written: {message}")
