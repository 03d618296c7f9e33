"""Makes a database, or brings one up to date; sets a damaged one aside. Rare, so never imported by an ordinary hook."""

import os
import time

from sessionlog import archive
from sessionlog.errors import ArchiveDamaged, ArchiveUnavailable
from sessionlog.lean import sqlite_error, utc_text
from sessionlog.locks import Lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

    from sessionlog.projects import Place

APPLICATION_ID = 0x534C4F47  # "SLOG": tells our file from any other SQLite database

MIGRATIONS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "migrations")


def open_new_or_outdated(place: "Place", timeout: float) -> "sqlite3.Connection":
    """Open the database for writing after making or migrating it; many processes may arrive here at once."""
    make_private_folder(os.path.dirname(place.db))
    with Lock(f"{place.db}.lock", timeout):
        if not archive.is_safe_file(place.db):
            os.close(os.open(place.db, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        connection = archive.connect(place.db, timeout)
        try:
            connection.execute("PRAGMA synchronous = NORMAL")
            _bring_up_to_date(connection, place)
        except BaseException:
            connection.close()
            raise
        return connection


def _bring_up_to_date(connection: "sqlite3.Connection", place: "Place") -> None:
    version = _pragma(connection, "user_version")
    if version > archive.SCHEMA_VERSION:
        raise ArchiveUnavailable(
            f"{place.db} was written by a newer sessionlog (schema {version}, this one knows "
            f"{archive.SCHEMA_VERSION}); events wait in the spool until sessionlog is upgraded"
        )
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if tables and _pragma(connection, "application_id") != APPLICATION_ID:
        raise ArchiveUnavailable(f"{place.db} is another program's database; sessionlog does not write to it")
    if version == 0:
        connection.execute("PRAGMA journal_mode = WAL")
    for number, script in migrations():
        if number > version:
            _apply(connection, place, number, script)


def _apply(connection: "sqlite3.Connection", place: "Place", number: int, script: str) -> None:
    """One step and its record in one transaction: a killed migration leaves the version before it."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        for statement in statements(script):
            connection.execute(statement)
        if number == 1:
            now = utc_text(time.time_ns() // 1_000_000)
            connection.execute("INSERT INTO archive VALUES (1, ?, ?)", (_storable(place.project), now))
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        if number == 3:
            from sessionlog import chain

            chain.begin(connection)
        connection.execute(f"PRAGMA user_version = {number}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # a full disk has rolled back already
            connection.execute("ROLLBACK")
        raise


def migrations() -> "list[tuple[int, str]]":
    """The numbered scripts, in order."""
    names = sorted(name for name in os.listdir(MIGRATIONS) if name.endswith(".sql"))
    scripts = []
    for name in names:
        with open(os.path.join(MIGRATIONS, name), encoding="utf-8") as file:
            scripts.append((int(name.split("_")[0]), file.read()))
    return scripts


def statements(script: str) -> "list[str]":
    """The statements of a script one by one: executescript() would commit the transaction that they run in."""
    from sqlite3 import complete_statement

    found, pending = [], ""
    for line in script.splitlines(keepends=True):
        pending += line
        if complete_statement(pending):
            found.append(pending.strip())
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
        stamp = utc_text(time.time_ns() // 1_000_000).replace(":", "-")
        aside = f"{place.db}.damaged-{stamp}"
        # The WAL goes first: left behind, it would be played into the next database of that name.
        for ending in ("-shm", "-wal", ""):
            if os.path.lexists(place.db + ending):
                os.rename(place.db + ending, aside + ending)
        return aside


def set_aside_files(place: "Place") -> "list[str]":
    """The damaged databases of this project that wait for a person."""
    folder, name = os.path.split(place.db)
    return sorted(
        os.path.join(folder, entry)
        for entry in (os.listdir(folder) if os.path.isdir(folder) else [])
        if entry.startswith(f"{name}.damaged-") and not entry.endswith(("-wal", "-shm"))
    )


def _is_sound(place: "Place", probe: "Callable[[sqlite3.Connection], None]") -> bool:
    if not archive.is_safe_file(place.db):
        return True
    connection = None
    try:
        connection = archive.connect(place.db, 0)
        connection.execute("BEGIN IMMEDIATE")
        probe(connection)
        connection.execute("ROLLBACK")
    except sqlite_error as error:
        return not isinstance(archive.unavailable(place, error), ArchiveDamaged)
    finally:
        if connection:
            connection.close()
    return True


def make_private_folder(folder: str) -> None:
    """Make the folder for this user's eyes only; one that exists is left as it is (`doctor` looks at it)."""
    os.makedirs(folder, mode=0o700, exist_ok=True)


def _pragma(connection: "sqlite3.Connection", name: str) -> int:
    value: int = connection.execute(f"PRAGMA {name}").fetchone()[0]
    return value


def _storable(path: str) -> str:
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
