"""The digest of an archive: what lists, charts and statistics count, counted once.

It is a file of its own beside the archive (see archive/sidecar.py), and counts what is new each time it is asked. It
only reads the archive: no hook ever waits for it.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

from sessionlog.archive import read, readonly, sidecar
from sessionlog.archive.place import Place
from sessionlog.archive.transaction import writing
from sessionlog.ask.rollup import build
from sessionlog.errors import ArchiveUnavailable, SessionlogError

KIND = sidecar.Sidecar(".digest", "DELETE", {6: build.SCHEMA}, "'', 0, 0, ''")

# Events that are counted while somebody waits: within a second.
FEW = 20_000
# Seconds that a reader waits for a transaction of another process.
SHORT_WAIT = 0.1
# Seconds that a process counts before others get their turn, and the pause in which they take it: longer than that
# between two looks at a lock.
TURN = 2.0
PAUSE = 0.05
# Seconds that a process waits for its turn: if it would rather see less than wait, and otherwise. One transaction of
# others may take long.
TURN_WAIT = 5.0
STALLED = 300.0
# How often (s) it looks meanwhile how far the others are.
LOOK = 0.5
# Sessions that have their first prompt before anything is counted, the newest ones and those of a list: as many as a
# page shows, and more.
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
        connection = _as_it_is(place, identity)
        so_far = None if connection else _so_far(place, archive, identity)
    if connection is None:
        if most is not None and (so_far is None or so_far[1] - so_far[0] > most):
            raise StillCounting(_BUSY.format(place.project))
        if so_far:
            tell(*so_far)
        connection = _brought_up_to_date(place, identity, STALLED if most is None else TURN_WAIT, tell)
    if since or client:
        build.narrow(connection, since, client)
    connection.row_factory, connection.text_factory = rows, text
    return connection


def preview(place: Place, since: str = "", client: str | None = None) -> sqlite3.Connection:
    """As `connect`, but at once: the sessions as the archive has them, and nothing else. Made in memory."""
    with closing(read.connect(place)) as archive:
        rows, text = archive.row_factory, archive.text_factory
    connection = sqlite3.connect("", isolation_level=None, uri=True)
    KIND.migrate(connection, "")
    _with_archive(connection, place)
    build.list_sessions(connection, PREVIEW_PROMPTS)
    if since or client:
        build.narrow(connection, since, client)
    connection.row_factory, connection.text_factory = rows, text
    return connection


def is_preview(connection: sqlite3.Connection) -> bool:
    """Whether most is not counted yet."""
    return bool(connection.execute("SELECT archive = '' AS is_preview FROM progress").fetchone()["is_preview"])


def can_be_kept(place: Place) -> bool:
    """Whether the digest can be written; a full disk is noticed only when it is."""
    path = KIND.path(place)
    return all(os.access(one, os.W_OK) for one in (os.path.dirname(path), path) if os.path.exists(one))


def is_being_made(place: Place) -> bool:
    """Whether a process is counting."""
    try:
        with KIND.lock(place, 0):
            return False
    except ArchiveUnavailable:
        return True


def bring_up_to_date(place: Place) -> None:
    """Count what is new for those who ask later. OSError or sqlite3.Error if that cannot be kept."""
    _counted_in_turns(place, _identity(place), STALLED, lambda done, total: None).close()


def _so_far(place: Place, archive: sqlite3.Connection, identity: str) -> tuple[int, int] | None:
    """How many events and messages are counted, of how many; None if the digest is being written."""
    total = archive.execute(_RECORDED.format(archive="main")).fetchone()["recorded"]
    done = 0
    if os.path.isfile(path := KIND.path(place)):
        try:
            with closing(sqlite3.connect(readonly.file_uri(path, "mode=rw"), uri=True, timeout=SHORT_WAIT)) as digest:
                if KIND.is_made_for(digest, identity):
                    (done,) = digest.execute(_COUNTED).fetchone()
        except sqlite3.DatabaseError as error:
            if "lock" in str(error):
                return None
    return (done if done <= total else 0), total  # more than there are: of an archive as it was once


_RECORDED = (
    "SELECT (SELECT ifnull(sum(events), 0) FROM {archive}.sessions) "
    "+ (SELECT ifnull(sum(messages), 0) FROM {archive}.session_facts) AS recorded"
)
_COUNTED = "SELECT ifnull(sum(events + messages), 0) FROM main.sessions"


def state(connection: sqlite3.Connection) -> tuple[Any, ...] | None:
    """What all counts depend on: as long as it stays the same, so do they. None if that is not known."""
    row = connection.execute("SELECT * FROM progress").fetchone()
    return tuple(row.values()) if row["stamp"] else None


_BUSY = "the events of {} are being counted for the first time; try again in a minute"


def _as_it_is(place: Place, identity: str) -> sqlite3.Connection | None:
    """The digest, if nobody has written to the archive since it was made."""
    path, stamp = KIND.path(place), _stamp(place)
    if not stamp or not os.path.isfile(path):
        return None
    uri = readonly.file_uri(path, "mode=rw")
    connection = sqlite3.connect(uri, uri=True, timeout=SHORT_WAIT, isolation_level=None)
    try:
        if (
            KIND.is_made_for(connection, identity)
            and connection.execute("SELECT stamp FROM progress").fetchone()[0] == stamp
        ):
            connection.execute(f"PRAGMA busy_timeout = {sidecar.LOCK_WAIT * 1000:.0f}")  # for what is then asked
            return _with_archive(connection, place)
    except sqlite3.DatabaseError:
        pass
    connection.close()
    return None


def _brought_up_to_date(place: Place, identity: str, patience: float, tell: build.Tell) -> sqlite3.Connection:
    try:
        return _counted_in_turns(place, identity, patience, tell)
    except ArchiveUnavailable as error:
        raise StillCounting(_BUSY.format(place.project)) from error
    except (OSError, sqlite3.OperationalError):  # a disk that is read-only or full: for this once, in memory
        connection = sqlite3.connect("", isolation_level=None, uri=True)
        KIND.migrate(connection, identity)
        _count(connection, place, tell)
        return connection


def _counted_in_turns(place: Place, identity: str, patience: float, tell: build.Tell) -> sqlite3.Connection:
    """The digest after all is counted.

    Processes that count the same archive take turns, and `sidecar.forget` gets its turn, too. That removes the file, so
    it is opened anew each time.
    """
    while True:
        with _turn(place, identity, patience, tell):
            connection = KIND.open(place, identity)
            is_all = _count(connection, place, tell, TURN)
        if is_all:
            return connection
        connection.close()
        time.sleep(PAUSE)
        identity = _identity(place)


@contextmanager
def _turn(place: Place, identity: str, patience: float, tell: build.Tell) -> Iterator[None]:
    """The lock of the digest. While others have it, `tell` hears how far they are."""
    deadline = time.monotonic() + patience
    with ExitStack() as held:
        while True:
            try:
                held.enter_context(KIND.lock(place, min(LOOK, patience)))
                break
            except ArchiveUnavailable:
                if time.monotonic() > deadline:
                    raise
            with closing(read.connect(place)) as archive:
                so_far = _so_far(place, archive, identity)
            if so_far:
                tell(*so_far)
        yield


def _count(connection: sqlite3.Connection, place: Place, tell: build.Tell, seconds: float = float("inf")) -> bool:
    """Count in transactions that each keep what they have counted. False if there is more than fits the time."""
    until = time.monotonic() + seconds
    try:
        _with_archive(connection, place)
        while True:
            stamp = _stamp(place)
            with writing(connection):
                is_all = build.catch_up(connection)
                if is_all:
                    connection.execute("UPDATE progress SET stamp = ?", (stamp,))
            (done,), (total,) = (
                connection.execute(query).fetchone() for query in (_COUNTED, _RECORDED.format(archive="archive"))
            )
            tell(total if is_all else done, total)
            if is_all or time.monotonic() > until:
                return is_all
    except BaseException:
        connection.close()
        raise


def _identity(place: Place) -> str:
    with closing(read.connect(place)) as archive:
        return sidecar.identity(archive)


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
