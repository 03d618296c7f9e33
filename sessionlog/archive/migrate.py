"""Makes a database, or brings one up to date; sets a damaged one aside. Rare, so never imported by an ordinary hook."""

import os
import time

from sessionlog import fastlib
from sessionlog.archive import append, whose
from sessionlog.archive.locks import Lock
from sessionlog.errors import ArchiveDamaged, ArchiveUnavailable
from sessionlog.fastlib import sqlite_error, utc_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

    from sessionlog.archive.place import Place

APPLICATION_ID = 0x534C4F47  # "SLOG": tells our file from any other SQLite database

FOLDER = os.path.dirname(os.path.abspath(__file__))
MIGRATIONS = os.path.join(FOLDER, "migrations")

# A hook upgrades an archive of up to this size: new indexes over a larger one would keep the session waiting.
LARGEST_IN_HOOK = 32 * 1024 * 1024


def open_new_or_outdated(place: "Place", timeout: float, in_hook: bool = False) -> "sqlite3.Connection":
    """Open the database for writing after making or upgrading it; many processes may arrive here at once."""
    whose.settle(place)
    make_private_folder(os.path.dirname(place.db))
    with Lock(f"{place.db}.lock", timeout):
        if not append.is_safe_file(place.db):
            os.close(os.open(place.db, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        connection = fastlib.connect(place.db, timeout)
        try:
            connection.execute("PRAGMA synchronous = NORMAL")
            _bring_up_to_date(connection, place, in_hook)
        except BaseException:
            connection.close()
            raise
        return connection


def _bring_up_to_date(connection: "sqlite3.Connection", place: "Place", in_hook: bool) -> None:
    version = _pragma(connection, "user_version")
    if version == append.SCHEMA_VERSION:
        return
    if version > append.SCHEMA_VERSION:
        raise ArchiveUnavailable(
            f"{place.db} was written by a newer sessionlog (schema {version}, this one knows "
            f"{append.SCHEMA_VERSION}); events wait in the spool until sessionlog is upgraded"
        )
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if tables and _pragma(connection, "application_id") != APPLICATION_ID:
        raise ArchiveUnavailable(f"{place.db} is another program's database; sessionlog does not write to it")
    if in_hook and os.stat(place.db).st_size > LARGEST_IN_HOOK:
        raise ArchiveUnavailable(f"{place.db} is to be upgraded, which takes a while: any sessionlog command does it")
    if version == 0:
        connection.execute("PRAGMA journal_mode = WAL")
    append.in_transaction(connection, _upgrade, version, place)


def _upgrade(connection: "sqlite3.Connection", version: int, place: "Place") -> None:
    """Bring tables of an older version up to date, then create what is missing. In one transaction: all or nothing."""
    if version > 0:
        for number, script in migrations():
            for statement in statements(script) if number > version else ():
                connection.execute(statement)
    create_missing(connection)
    if version > 0:
        from sessionlog.archive import chain

        chain.note_upgrade(connection, version)
    else:
        now = utc_text(time.time_ns() // 1_000_000)
        connection.execute(
            "INSERT INTO archive (only_row, project, created_at) VALUES (1, ?, ?)", (_storable(place.project), now)
        )
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {append.SCHEMA_VERSION}")


def create_missing(connection: "sqlite3.Connection") -> None:
    """Create what schema.sql has and the database lacks."""
    create_objects(connection)
    for statement in statements(read_script("statistics.sql")):
        connection.execute(statement)


def create_objects(
    connection: "sqlite3.Connection", kinds: "tuple[str, ...]" = ("table", "index", "view", "trigger")
) -> None:
    """Create the objects of these kinds that schema.sql has and the database has not."""
    present = set(connection.execute("SELECT type, name FROM sqlite_master").fetchall())
    for statement in statements(read_script("schema.sql")):
        kind, name = statement.removeprefix("CREATE ").removeprefix("UNIQUE ").split()[:2]
        if kind.lower() in kinds and (kind.lower(), name) not in present:
            connection.execute(statement)


def read_script(name: str) -> str:
    """A file of this folder."""
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return file.read()


def migrations() -> "list[tuple[int, str]]":
    """The numbered scripts, in order."""
    names = sorted(name for name in os.listdir(MIGRATIONS) if name.endswith(".sql"))
    scripts = []
    for name in names:
        scripts.append((int(name.split("_")[0]), read_script(f"migrations/{name}")))
    return scripts


def statements(script: str) -> "list[str]":
    """The statements of a script one by one: executescript() would commit the transaction that they run in.

    Without comments and line breaks: SQLite keeps the text of the schema, and reads it each time a hook opens the file.
    """
    from sqlite3 import complete_statement

    found, pending = [], ""
    for line in script.splitlines():
        words = line.partition("--")[0].split()
        pending = " ".join([pending, *words]).strip()
        if pending and complete_statement(pending):
            found.append(pending.removesuffix(";"))
            pending = ""
    return found


def set_aside(place: "Place", timeout: float, probe: "Callable[[sqlite3.Connection], None]") -> str | None:
    """Move a damaged database out of the way under a name with its date; None if the probe finds it sound.

    The probe does again what failed: another hook may have been here first, or the trouble was a passing one. A check
    of the whole file would keep the session waiting.
    """
    with Lock(f"{place.db}.lock", timeout):
        if _is_sound(place, probe):
            return None
        if not _may_be_set_aside(place):
            raise ArchiveUnavailable("it is no archive of sessionlog, so it is left as it is; $SESSIONLOG_DB names it")
        from sessionlog.archive.files import DAMAGED

        stamp = utc_text(time.time_ns() // 1_000_000).replace(":", "-")
        aside = f"{place.db}{DAMAGED}{stamp}"
        # The WAL goes first: left behind, it would be played into the next database of that name.
        for ending in ("-shm", "-wal", ""):
            if os.path.lexists(place.db + ending):
                os.rename(place.db + ending, aside + ending)
        return aside


def _is_sound(place: "Place", probe: "Callable[[sqlite3.Connection], None]") -> bool:
    if not append.is_safe_file(place.db):
        return True
    connection = None
    try:
        connection = fastlib.connect(place.db, 0)
        connection.execute("BEGIN IMMEDIATE")
        probe(connection)
        connection.execute("ROLLBACK")
    except sqlite_error as error:
        return not isinstance(append.unavailable(place, error), ArchiveDamaged)
    finally:
        if connection:
            connection.close()
    return True


def _may_be_set_aside(place: "Place") -> bool:
    """Whether the file was made by us. $SESSIONLOG_DB may name any file, such as ~/.bashrc by mistake."""
    if os.path.realpath(os.path.dirname(place.db)) == os.path.realpath(place.home):
        return True
    with open(place.db, "rb") as file:
        header = file.read(100)
    # The application id is at offset 68, see https://sqlite.org/fileformat.html
    return header.startswith(b"SQLite format 3\0") and header[68:72] == APPLICATION_ID.to_bytes(4, "big")


def make_private_folder(folder: str) -> None:
    """Make the folder for this user's eyes only; one that exists is left as it is (`doctor` looks at it)."""
    os.makedirs(folder, mode=0o700, exist_ok=True)


def _pragma(connection: "sqlite3.Connection", name: str) -> int:
    value: int = connection.execute(f"PRAGMA {name}").fetchone()[0]
    return value


def _storable(path: str) -> str:
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
