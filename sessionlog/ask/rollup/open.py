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

# Events that are counted while somebody waits: within a second.
FEW = 20_000
# Seconds that a reader waits who would rather see less than wait.
SHORT_WAIT = 0.1
# Sessions that have their first prompt in a preview: as many as a page lists, and more.
PREVIEW_PROMPTS = 60

# Resolution of file times (ns): a file changed more recently may change again and keep its time.
UNSURE = 100_000_000


class StillCounting(SessionlogError):
    """Counting would take longer than the caller wants to wait."""


def connect(
    place: Place,
    since: str = "",
    client: str | None = None,
    *,
    most: int | None = None,
    tell: build.Tell = lambda done, total: None,
) -> sqlite3.Connection:
    """The digest, up to date, with the archive itself under the name `archive`; rows are dicts as those of `read`.

    With a moment as the archive writes it, the tables of counts hold only what happened from then on; with a client,
    only that agent's sessions. StillCounting if more than `most` events and messages are to be counted, or
    somebody else is at it.
    """
    with closing(read.connect(place)) as archive:
        identity = sidecar.identity(archive)
        rows, text = archive.row_factory, archive.text_factory
    stamp = _stamp(place)
    connection = _as_it_is(place, identity, stamp, sidecar.LOCK_WAIT if most is None else SHORT_WAIT)
    if connection is None:
        if most is not None and _behind(place, identity) > most:
            raise StillCounting(f"the events of {place.project} are being counted for the first time")
        connection = _brought_up_to_date(place, identity, stamp, tell)
    if since or client:
        build.narrow(connection, since, client)
    connection.row_factory, connection.text_factory = rows, text
    return connection


def preview(place: Place, since: str = "") -> sqlite3.Connection:
    """As `connect`, but at once: the sessions as the archive has them, and nothing else. Made in memory."""
    with closing(read.connect(place)) as archive:
        rows, text = archive.row_factory, archive.text_factory
    connection = sqlite3.connect("", isolation_level=None, uri=True)
    KIND.migrate(connection, "")
    _with_archive(connection, place)
    build.list_sessions(connection, PREVIEW_PROMPTS)
    if since:
        build.narrow(connection, since)
    connection.row_factory, connection.text_factory = rows, text
    return connection


def is_preview(connection: sqlite3.Connection) -> bool:
    """Whether most is not counted yet."""
    return bool(connection.execute("SELECT archive = '' AS is_preview FROM progress").fetchone()["is_preview"])


def _behind(place: Place, identity: str) -> int:
    """How many events and messages are not counted yet; all, if the digest is being written."""
    with closing(read.connect(place)) as archive:
        recorded = archive.execute(_RECORDED.format(archive="main")).fetchone()["recorded"]
    counted = 0
    if os.path.isfile(path := KIND.path(place)):
        try:
            with closing(sqlite3.connect(readonly.file_uri(path, "mode=rw"), uri=True, timeout=SHORT_WAIT)) as digest:
                if KIND.is_made_for(digest, identity):
                    (counted,) = digest.execute(_COUNTED).fetchone()
        except sqlite3.DatabaseError:
            pass
    return int(recorded - counted if counted <= recorded else recorded)  # else of an archive as it was once


_RECORDED = (
    "SELECT (SELECT ifnull(sum(events), 0) FROM {archive}.sessions) "
    "+ (SELECT ifnull(sum(messages), 0) FROM {archive}.session_facts) AS recorded"
)
_COUNTED = "SELECT ifnull(sum(events + messages), 0) FROM main.sessions"


def state(connection: sqlite3.Connection) -> tuple[Any, ...] | None:
    """What all counts depend on: as long as it stays the same, so do they. None if that is not known."""
    row = connection.execute("SELECT * FROM progress").fetchone()
    return tuple(row.values()) if row["stamp"] else None


def _as_it_is(place: Place, identity: str, stamp: str, patience: float) -> sqlite3.Connection | None:
    """The digest, if nobody has written to the archive since it was made."""
    path = KIND.path(place)
    if not stamp or not os.path.isfile(path):
        return None
    uri = readonly.file_uri(path, "mode=rw")
    connection = sqlite3.connect(uri, uri=True, timeout=patience, isolation_level=None)
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


def _brought_up_to_date(place: Place, identity: str, stamp: str, tell: build.Tell) -> sqlite3.Connection:
    try:
        with KIND.lock(place):
            return _caught_up(KIND.open(place, identity), place, stamp, tell)
    except ArchiveUnavailable as error:
        raise SessionlogError(
            f"the events of {place.project} are being counted for the first time; try again in a minute"
        ) from error
    except (OSError, sqlite3.OperationalError):  # a disk that is read-only or full: for this once, in memory
        connection = sqlite3.connect("", isolation_level=None, uri=True)
        KIND.migrate(connection, identity)
        return _caught_up(connection, place, stamp, tell)


def _caught_up(connection: sqlite3.Connection, place: Place, stamp: str, tell: build.Tell) -> sqlite3.Connection:
    """Count in transactions that each keep what they have counted: an interrupted first count goes on from there."""
    try:
        _with_archive(connection, place)
        is_all = False
        while not is_all:
            (done,), (total,) = (
                connection.execute(query).fetchone() for query in (_COUNTED, _RECORDED.format(archive="archive"))
            )
            tell(done, total)
            connection.execute("BEGIN IMMEDIATE")
            is_all = build.catch_up(connection)
            if is_all:
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
