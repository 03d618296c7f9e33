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
    is_late = False

    def check() -> bool:
        nonlocal is_late
        is_late = time.monotonic() > deadline
        return is_late

    connection.set_progress_handler(check, STEPS)
    try:
        yield
    except sqlite3.OperationalError as error:
        if str(error) != "interrupted":
            raise
        if not is_late:  # Ctrl+C: SQLite stops, but does not pass the exception on
            raise KeyboardInterrupt from None
        raise TookTooLong(f"this takes longer than {seconds:g} s") from None
    finally:
        connection.set_progress_handler(None, 0)
