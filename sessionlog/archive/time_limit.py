"""Time limits for queries."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager

from sessionlog.errors import SessionlogError

# How often a running query is asked whether it takes too long, in instructions of SQLite's virtual machine.
STEPS = 20_000


class TookTooLong(SessionlogError):
    """The answer did not come in time."""


@contextmanager
def limited(connection: sqlite3.Connection, seconds: float | None) -> Iterator[None]:
    """Whatever the connection is asked within ends after so many seconds, with TookTooLong; None waits forever."""
    if seconds is None:
        yield
        return
    deadline = time.monotonic() + seconds
    connection.set_progress_handler(lambda: time.monotonic() > deadline, STEPS)
    try:
        yield
    except sqlite3.OperationalError as error:
        if str(error) != "interrupted":
            raise
        raise TookTooLong(f"this takes longer than {seconds:g} s") from None
    finally:
        connection.set_progress_handler(None, 0)
