"""A copy of an archive as it is at one moment, while hooks go on writing to it."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from sessionlog.errors import SessionlogError
from sessionlog.locks import open_private
from sessionlog.projects import Place


def backup(place: Place, target: str, force: bool = False) -> int:
    """Copy the archive to a file, check the copy, and only then give it its name; returns its size."""
    target = os.path.abspath(target)
    if os.path.exists(place.db) and os.path.exists(target) and os.path.samefile(place.db, target):
        raise SessionlogError(f"{target} is the archive itself")
    if os.path.lexists(target) and not force:
        raise SessionlogError(f"{target} is there already; --force replaces it")
    draft = f"{target}.{os.urandom(4).hex()}.part"
    try:
        os.close(open_private(draft, os.O_EXCL))
        copy(place.db, draft)
        _check(draft)
        size = os.stat(draft).st_size
        _give_name(draft, target, force)
    except (OSError, sqlite3.Error) as error:
        raise SessionlogError(f"{place.db} could not be copied to {target}: {error}") from error
    finally:
        for ending in ("", "-wal", "-shm", "-journal"):
            if os.path.exists(draft + ending):
                os.unlink(draft + ending)
    return size


def copy(db: str, target: str) -> None:
    """Copy a database, what is in its WAL included, into an empty file. In one go: writers are not kept waiting."""
    with closing(_open_unchanged(db)) as source, closing(sqlite3.connect(target)) as destination:
        source.backup(destination)


def _open_unchanged(db: str) -> sqlite3.Connection:
    """For reading; where the folder cannot be written, SQLite needs to be told that nobody else writes there either."""
    uri = Path(os.path.abspath(db)).as_uri()
    connection = sqlite3.connect(f"{uri}?mode=ro", uri=True, timeout=30)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        connection.close()
        if os.path.exists(f"{db}-wal"):
            raise
        return sqlite3.connect(f"{uri}?immutable=1", uri=True)
    except BaseException:
        connection.close()
        raise
    return connection


def _check(db: str) -> None:
    with closing(sqlite3.connect(db)) as connection:
        problems = [str(row[0]) for row in connection.execute("PRAGMA quick_check(3)")]
    if problems != ["ok"]:
        raise SessionlogError(
            f"the archive is damaged, and so would be its copy ({'; '.join(problems)}). Nothing was written; "
            "`sqlite3 ARCHIVE .recover | sqlite3 recovered.db` saves what can be read"
        )


def _give_name(draft: str, target: str, force: bool) -> None:
    with open(draft, "rb+") as file:
        os.fsync(file.fileno())
    if force:
        for ending in ("-wal", "-shm"):  # of what was there before: left behind, they would be played into the copy
            if os.path.exists(target + ending):
                os.unlink(target + ending)
        os.replace(draft, target)
        return
    try:
        os.link(draft, target)  # fails where another file has appeared meanwhile
    except FileExistsError:
        raise
    except OSError:  # a disk without links
        os.rename(draft, target)
