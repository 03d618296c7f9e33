"""A copy of an archive as it is at one moment, while hooks go on writing to it."""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import closing, suppress
from typing import NamedTuple

from sessionlog.archive import notes, readonly
from sessionlog.archive.files import NOTES_ENDING, SQLITE_ENDINGS
from sessionlog.archive.place import Place
from sessionlog.errors import SessionlogError
from sessionlog.system import atomic
from sessionlog.system.files import read_own


def backup(place: Place, target: str, force: bool = False) -> int:
    """Copy the archive to a file, check the copy, and only then give it its name; returns its size."""
    target = os.path.abspath(target)
    if os.path.exists(place.db) and os.path.exists(target) and os.path.samefile(place.db, target):
        raise SessionlogError(f"{target} is the archive itself")
    if os.path.lexists(target) and not force:
        raise SessionlogError(f"{target} is there already; --force replaces it")
    if os.path.lexists(target) and not stat.S_ISREG(os.lstat(target).st_mode):
        raise SessionlogError(f"{target} is a link, a folder or a device; only a file is replaced")
    try:
        with atomic.draft(target, overwrite=force) as draft:
            try:
                copy(place.db, draft.path)
                _check(draft.path)
            finally:
                _remove_beside(draft.path)
            draft.sync()
            size = os.stat(draft.path).st_size
            _copy_notes(place, target)
            if force:
                _remove_beside(target)  # left behind, a WAL of the old file would be played into the copy
    except (OSError, sqlite3.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise SessionlogError(f"{place.db} could not be copied to {target}: {reason}") from error
    return size


def _copy_notes(place: Place, target: str) -> None:
    """Pins, tags and notes stand beside the copy as beside the archive."""
    with suppress(FileNotFoundError):
        content = read_own(notes.path_of(place), notes.LONGEST_FILE)
        atomic.write(target + NOTES_ENDING, [content])


def copy(db: str, target: str) -> None:
    """Copy a database, what is in its WAL included, into an empty file. In one go: writers are not kept waiting.

    One that no process has open is read as a file that does not change: an ordinary reader would leave a WAL beside it,
    and could not read it at all in a folder that cannot be written.
    """
    before = _state(db)
    if before.at_rest:
        try:
            _copy(db, target, "immutable=1")
        except sqlite3.DatabaseError:
            if _state(db) == before:
                raise
    if not before.at_rest or _state(db) != before:  # a writer came meanwhile
        _copy(db, target, "mode=ro")


class _State(NamedTuple):
    size: int
    changed_ns: int
    at_rest: bool


def _state(db: str) -> _State:
    status = os.stat(db)
    return _State(status.st_size, status.st_mtime_ns, not os.path.exists(f"{db}-wal"))


def _copy(db: str, target: str, mode: str) -> None:
    uri = readonly.file_uri(db, mode)
    with closing(sqlite3.connect(uri, uri=True, timeout=30)) as source, closing(sqlite3.connect(target)) as destination:
        source.backup(destination)


def _check(db: str) -> None:
    with closing(sqlite3.connect(db)) as connection:
        problems = [str(row[0]) for row in connection.execute("PRAGMA quick_check(3)")]
    if problems != ["ok"]:
        raise SessionlogError(
            f"the archive is damaged, and so would be its copy ({'; '.join(problems)}). Nothing was written; "
            "`sqlite3 ARCHIVE .recover | sqlite3 recovered.db` saves what can be read"
        )


def _remove_beside(db: str) -> None:
    for ending in SQLITE_ENDINGS:
        if os.path.exists(db + ending):
            os.unlink(db + ending)
