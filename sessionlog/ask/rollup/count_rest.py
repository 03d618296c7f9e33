"""Counts archives for the first time in the background."""

from __future__ import annotations

import sqlite3
from contextlib import suppress

from sessionlog.archive import read
from sessionlog.archive.place import Place
from sessionlog.ask.rollup import open as rollup
from sessionlog.errors import SessionlogError
from sessionlog.system import children


def start(places: list[Place]) -> bool:
    """Have these archives counted, if nobody counts them already. False if no counts could be kept."""
    writable = [place for place in places if rollup.can_be_kept(place)]
    if waiting := [place.db for place in writable if not rollup.is_being_made(place)]:
        children.start_detached(__name__, waiting)
    return bool(writable)


def main() -> None:
    """Count one archive after the other; one that another process is counting is left to that."""
    children.lower_priority()
    for db in children.given_words():
        with suppress(OSError, sqlite3.Error, SessionlogError):  # the others can still be counted
            place = read.place_at(db)
            if not rollup.is_being_made(place):
                rollup.bring_up_to_date(place)
