"""Files beside an archive that are made from it, and made again when in doubt: the search index, the digest.

So a hook never waits for them, pays nothing for them, and whoever takes something out of the archive has only to
delete them.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable
from typing import NamedTuple

from sessionlog.errors import SessionlogError
from sessionlog.locks import Lock, open_private
from sessionlog.projects import Place

ENDINGS = (".search", ".digest")  # not *.db, because they are no archives
LOCK_WAIT = 30  # seconds: another process may be making the file


class Kind(NamedTuple):
    """One sort of such files. Its first table is `progress`, whose first column says of which archive it is made."""

    ending: str
    version: int  # another version is made anew
    journal: str
    schema: str
    progress: str  # the values of the other columns of `progress` in an empty file

    def path(self, place: Place) -> str:
        """Where the file of an archive is."""
        return place.db + self.ending

    def lock(self, place: Place) -> Lock:
        """Held while the file is made or removed."""
        return Lock(f"{self.path(place)}.lock", LOCK_WAIT)

    def open(self, place: Place, identity: str) -> sqlite3.Connection:
        """The file for writing, under its lock; one of another version or archive, or a broken one, is made anew."""
        for _ in range(2):
            os.close(open_private(self.path(place), 0))
            file = sqlite3.connect(self.path(place), timeout=LOCK_WAIT, isolation_level=None, uri=True)
            try:
                file.execute(f"PRAGMA journal_mode = {self.journal}")
                file.execute("PRAGMA synchronous = OFF")  # made from the archive, and made again if need be
                if file.execute("PRAGMA user_version").fetchone()[0] == 0:
                    self.fill(file, identity)
                if self.is_made_for(file, identity):
                    return file
            except sqlite3.DatabaseError:
                pass
            file.close()
            _remove(self.path(place))
        raise SessionlogError(f"{self.path(place)} cannot be made")

    def fill(self, file: sqlite3.Connection, identity: str) -> None:
        """Make the tables in an empty file."""
        file.execute("BEGIN IMMEDIATE")
        for statement in self.schema.split(";\n")[:-1]:
            file.execute(statement)
        file.execute(f"INSERT INTO progress VALUES (?, {self.progress})", (identity,))
        file.execute(f"PRAGMA user_version = {self.version}")
        file.execute("COMMIT")

    def is_made_for(self, file: sqlite3.Connection, identity: str) -> bool:
        """Whether the file is of this version, and made from this archive."""
        if file.execute("PRAGMA user_version").fetchone()[0] != self.version:
            return False
        return bool(file.execute("SELECT archive FROM progress").fetchone()[0] == identity)


def identity(archive: sqlite3.Connection) -> str:
    """What tells an archive from another one that has taken its place."""
    return str(next(iter(archive.execute("SELECT created_at || project AS identity FROM archive").fetchone().values())))


def forget(place: Place, endings: Iterable[str] = ENDINGS) -> None:
    """Remove what was made from an archive: it is made anew from what the archive holds then."""
    for ending in endings:
        path = place.db + ending
        if os.path.exists(path):
            with Lock(f"{path}.lock", LOCK_WAIT):  # a file that is being written must not be taken apart
                _remove(path)


def _remove(path: str) -> None:
    for part in ("", "-wal", "-shm", "-journal"):
        try:
            os.unlink(path + part)
        except FileNotFoundError:
            pass
