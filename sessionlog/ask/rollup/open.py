"""The digest of an archive: what lists, charts and statistics count, counted once.

It is a file of its own beside the archive (see archive/sidecar.py), and counts what is new each time it is asked. It
only reads the archive: no hook ever waits for it.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from typing import Any

from sessionlog.archive import read, readonly, sidecar
from sessionlog.archive.place import Place
from sessionlog.ask.rollup import build
from sessionlog.errors import ArchiveUnavailable, SessionlogError

KIND = sidecar.Sidecar(".digest", "DELETE", {6: build.SCHEMA}, "'', 0, 0, ''")

# Resolution of file times (ns): a file changed more recently may change again and keep its time.
UNSURE = 100_000_000


def connect(place: Place, since: str = "", client: str | None = None) -> sqlite3.Connection:
    """The digest, up to date, with the archive itself under the name `archive`; rows are dicts as those of `read`.

    With a moment as the archive writes it, the tables of counts hold only what happened from then on; with a client,
    only that agent's sessions.
    """
    with closing(read.connect(place)) as archive:
        identity = sidecar.identity(archive)
        rows, text = archive.row_factory, archive.text_factory
    stamp = _stamp(place)
    connection = _as_it_is(place, identity, stamp) or _brought_up_to_date(place, identity, stamp)
    if since or client:
        build.narrow(connection, since, client)
    connection.row_factory, connection.text_factory = rows, text
    return connection


def state(connection: sqlite3.Connection) -> tuple[Any, ...] | None:
    """What all counts depend on: as long as it stays the same, so do they. None if that is not known."""
    row = connection.execute("SELECT * FROM progress").fetchone()
    return tuple(row.values()) if row["stamp"] else None


def _as_it_is(place: Place, identity: str, stamp: str) -> sqlite3.Connection | None:
    """The digest, if nobody has written to the archive since it was made."""
    path = KIND.path(place)
    if not stamp or not os.path.exists(path):
        return None
    uri = readonly.file_uri(path, "mode=rw")
    connection = sqlite3.connect(uri, uri=True, timeout=sidecar.LOCK_WAIT, isolation_level=None)
    try:
        if (
            KIND.is_made_for(connection, identity)
            and connection.execute("SELECT stamp FROM progress").fetchone()[0] == stamp
        ):
            return _with_archive(connection, place)
    except sqlite3.DatabaseError:
        pass
    connection.close()
    return None


def _brought_up_to_date(place: Place, identity: str, stamp: str) -> sqlite3.Connection:
    try:
        with KIND.lock(place):
            return _caught_up(KIND.open(place, identity), place, stamp)
    except ArchiveUnavailable as error:
        raise SessionlogError(
            f"the events of {place.project} are being counted for the first time; try again in a minute"
        ) from error
    except (OSError, sqlite3.OperationalError):  # a disk that is read-only or full: for this once, in memory
        connection = sqlite3.connect("", isolation_level=None, uri=True)
        KIND.migrate(connection, identity)
        return _caught_up(connection, place, stamp)


def _caught_up(connection: sqlite3.Connection, place: Place, stamp: str) -> sqlite3.Connection:
    try:
        _with_archive(connection, place)
        connection.execute("BEGIN IMMEDIATE")
        build.catch_up(connection)
        connection.execute("UPDATE progress SET stamp = ?", (stamp,))
        connection.execute("COMMIT")
    except BaseException:
        connection.close()  # which takes back what was not committed
        raise
    return connection


def _with_archive(connection: sqlite3.Connection, place: Place) -> sqlite3.Connection:
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("PRAGMA cache_size = -64000")
    connection.execute("ATTACH ? AS archive", (readonly.uri(place.db),))
    return connection


def _stamp(place: Place) -> str:
    """Changes whenever the archive does; empty if it has changed just now."""
    newest, parts = 0, []
    for path in (place.db, f"{place.db}-wal"):
        status: Any = os.stat(path) if os.path.exists(path) else None
        if status is not None and status.st_size:
            newest = max(newest, status.st_mtime_ns)
            parts.append(f"{status.st_mtime_ns}:{status.st_size}")
    return " ".join(parts) if abs(time.time_ns() - newest) > UNSURE else ""
