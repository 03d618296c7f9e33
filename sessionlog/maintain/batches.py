"""Long work on an archive that hooks write to at the same time: in short transactions, with pauses between them."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Iterator

from sessionlog.archive import sidecar
from sessionlog.archive.chain import Notebook
from sessionlog.archive.place import Place
from sessionlog.archive.transaction import writing
from sessionlog.errors import SessionlogError
from sessionlog.transcripts import store as transcript_store

# A waiting hook asks for the lock every 100 ms at the least, and gives up after 1.5 s: it meets a pause long before.
HOLD = 0.05
PAUSE = 0.05

# A reader that is in the midst of a query keeps the WAL from being emptied; queries are short.
ATTEMPTS = 20


def open_archive(place: Place) -> sqlite3.Connection:
    """A patient connection for work that may take long."""
    return transcript_store.open_archive(place)


def in_turns(connection: sqlite3.Connection, steps: Iterable[object], notebook: Notebook | None = None) -> None:
    """Take the steps, each of them a small write, as many in one transaction as keep no hook waiting.

    What they write into the notebook is committed together with what they did.
    A step must read with `fetchall`: a query left open over a COMMIT would see no later change, and could write none.
    """
    remaining = iter(steps)
    try:
        while _take_turn(connection, remaining, notebook):
            time.sleep(PAUSE)
    except sqlite3.OperationalError as error:
        raise SessionlogError(
            f"the archive cannot be written ({error}). What was done so far is done; run the same command again later."
        ) from error


def _take_turn(connection: sqlite3.Connection, remaining: Iterator[object], notebook: Notebook | None) -> bool:
    """One transaction; whether there may be more to do."""
    with writing(connection):
        deadline = time.monotonic() + HOLD
        unfinished = any(time.monotonic() > deadline for _ in remaining)
        if notebook:
            notebook.write()
    return unfinished


def give_back(place: Place, connection: sqlite3.Connection) -> None:
    """Give the space of what was removed back to the disk, and its bytes with it: free pages, WAL, index, digest.

    VACUUM locks the database for as long as it takes; events that come meanwhile wait in the spool.
    """
    sidecar.forget(place)
    try:
        connection.execute("VACUUM")
        for _ in range(ATTEMPTS):
            busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            if not busy:
                return
            time.sleep(PAUSE)
    except sqlite3.OperationalError as error:
        raise SessionlogError(
            f"what was to go is gone from {place.db}, but its space could not be given back ({error}). "
            "Run the same command again later: it takes up here."
        ) from error
    raise SessionlogError(
        f"what was to go is gone from {place.db}, but another program is reading it, and its bytes may still be in "
        f"{place.db}-wal. Close that program and run the same command again."
    )
