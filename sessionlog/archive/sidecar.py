"""Sidecar files: built from an archive, safe to delete, rebuilt on demand. They are the search index and the rollup.

A hook never waits for them and pays nothing for them. Code that removes something from the archive deletes them.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from sessionlog.archive.files import SIDECAR_ENDINGS, SQLITE_ENDINGS
from sessionlog.archive.locks import Lock, open_private
from sessionlog.archive.place import Place
from sessionlog.errors import SessionlogError

if TYPE_CHECKING:
    from sqlite_utils import Database

LOCK_WAIT = 30  # seconds: another process may be making the file


class Sidecar(NamedTuple):
    """One sort of such files. Its table `progress` has one row, whose first column says of which archive it is made."""

    ending: str
    journal: str
    steps: dict[int, str]  # a script for each version of the schema that makes it from the one before
    progress: str  # the values of the other columns of `progress` in an empty file

    @property
    def version(self) -> int:
        """The version that is needed."""
        return max(self.steps)

    def path(self, place: Place) -> str:
        """Where the file of an archive is."""
        return place.db + self.ending

    def lock(self, place: Place, timeout: float = LOCK_WAIT) -> Lock:
        """Held while the file is made or removed."""
        return Lock(f"{self.path(place)}.lock", timeout)

    def open(self, place: Place, identity: str) -> sqlite3.Connection:
        """The file for writing, under its lock; one that is newer, broken or of another archive is built again."""
        for _ in range(2):
            os.close(open_private(self.path(place), 0))
            file = sqlite3.connect(self.path(place), timeout=LOCK_WAIT, isolation_level=None, uri=True)
            try:
                file.execute(f"PRAGMA journal_mode = {self.journal}")
                file.execute("PRAGMA synchronous = OFF")  # made from the archive, and made again if need be
                if file.execute("PRAGMA user_version").fetchone()[0] < self.version:
                    self.migrate(file, identity)
                if self.is_made_for(file, identity):
                    return file
            except sqlite3.OperationalError as error:
                if "lock" in str(error):  # others are at it: to remove it would take from them what they have made
                    file.close()
                    raise
            except sqlite3.DatabaseError:
                pass
            file.close()
            _remove(self.path(place))
        raise SessionlogError(f"{self.path(place)} cannot be made")

    def migrate(self, file: sqlite3.Connection, identity: str) -> None:
        """Make the tables in an empty file, or bring those of an older version up to date."""
        from sqlite_utils import Database, Migrations  # 60 ms, paid when a file is made

        migrations = Migrations(self.ending)
        for version, script in self.steps.items():

            @migrations(name=str(version))
            def step(db: Database, script: str = script) -> None:
                db.executescript(script)

        migrations.apply(Database(file, recursive_triggers=False, execute_plugins=False))
        if file.execute("SELECT count(*) FROM progress").fetchone()[0] == 0:
            file.execute(f"INSERT INTO progress VALUES (?, {self.progress})", (identity,))
        # Last, and not by sqlite_utils: a reader finds the version without importing that.
        file.execute(f"PRAGMA user_version = {self.version}")

    def is_made_for(self, file: sqlite3.Connection, identity: str) -> bool:
        """Whether the file is of this version, and made from this archive."""
        if file.execute("PRAGMA user_version").fetchone()[0] != self.version:
            return False
        return bool(file.execute("SELECT archive FROM progress").fetchone()[0] == identity)


def identity(archive: sqlite3.Connection) -> str:
    """What tells an archive from another one that has taken its place."""
    return str(next(iter(archive.execute("SELECT created_at || project AS identity FROM archive").fetchone().values())))


def forget(place: Place, endings: Iterable[str] = SIDECAR_ENDINGS) -> None:
    """Remove what was made from an archive: it is rebuilt on demand."""
    for ending in endings:
        path = place.db + ending
        if os.path.exists(path):
            with Lock(f"{path}.lock", LOCK_WAIT):  # a file that is being written must not be taken apart
                _remove(path)


def _remove(path: str) -> None:
    for part in ("", *SQLITE_ENDINGS):
        try:
            os.unlink(path + part)
        except FileNotFoundError:
            pass
