"""Makes the rest of search indexes in the background."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress

from sessionlog.archive import read
from sessionlog.ask.search import build
from sessionlog.errors import SessionlogError
from sessionlog.system import children


def start(dbs: list[str]) -> None:
    """Start the process for these archives."""
    children.start_detached(__name__, dbs)


def main() -> None:
    """Index one archive after the other; what another process is at is left to that."""
    children.lower_priority()
    for db in children.given_words():
        with suppress(OSError, sqlite3.Error, SessionlogError):  # the others can still be indexed
            place = read.place_at(db)
            with closing(read.connect(place)) as archive:
                build.catch_up(place, archive, only_one=True)
