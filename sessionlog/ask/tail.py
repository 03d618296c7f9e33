"""The newest events of archives, and those that come while one looks."""

from __future__ import annotations

import heapq
import itertools
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from sessionlog.archive import one_client, read
from sessionlog.archive.place import Place
from sessionlog.errors import SessionlogError

Row = dict[str, Any]

# How often to look for new events (s), and, as it costs more, for events in the spool and archives that are new.
POLL, LOOK_AROUND = 0.3, 2.0


class Seen(NamedTuple):
    """An event, and the project that it belongs to."""

    project: str
    row: Row


class Tail:
    """Open archives, each with the last event that was returned."""

    def __init__(self, find_places: Callable[[], list[Place]], client: str | None = None) -> None:
        self._find_places = find_places
        self._client = client
        self._watched: dict[str, _Watched] = {}

    def __enter__(self) -> Tail:
        return self

    def __exit__(self, *_: object) -> None:
        for watched in self._watched.values():
            watched.connection.close()

    def last(self, count: int) -> list[Seen]:
        """The last events of all archives together, oldest first."""
        self._look_around()
        newest = [watched.last(count) for watched in self._watched.values()]
        merged = heapq.merge(*newest, key=lambda seen: str(seen.row["at"]), reverse=True)
        return list(itertools.islice(merged, count))[::-1]

    def follow(self) -> Iterator[Seen]:
        """The events that come from now on, for as long as one asks."""
        looked = time.monotonic()
        while True:
            for watched in self._watched.values():
                yield from watched.new()
            time.sleep(POLL)
            if time.monotonic() - looked > LOOK_AROUND:
                self._look_around(from_start=True)
                looked = time.monotonic()

    def _look_around(self, from_start: bool = False) -> None:
        """Let the spool come home, and take in archives that are new or were replaced."""
        for place in self._find_places():
            read.bring_up_to_date(place)
            watched = self._watched.get(place.db)
            if watched and watched.file != _identity(place.db):
                watched.connection.close()
                del self._watched[place.db]
            if place.db not in self._watched and os.path.exists(place.db):
                try:
                    self._watched[place.db] = _Watched(place, from_start, self._client)
                except SessionlogError:  # it is just being made
                    if not from_start:
                        raise


class _Watched:
    def __init__(self, place: Place, from_start: bool, client: str | None) -> None:
        self.project = place.project
        self.file = _identity(place.db)
        self.connection = one_client.connect(place, client)
        self._version = -1
        newest = self.connection.execute("SELECT max(id) AS id FROM events").fetchone()["id"]
        self._last_id = 0 if from_start else newest or 0

    def last(self, count: int) -> list[Seen]:
        rows = self.connection.execute(
            "SELECT * FROM events WHERE id <= ? ORDER BY id DESC LIMIT ?", (self._last_id, count)
        )
        return [Seen(self.project, row) for row in rows]

    def new(self) -> Iterator[Seen]:
        try:
            # Changes whenever anybody else has committed; asking costs next to nothing.
            version = self.connection.execute("PRAGMA data_version").fetchone()["data_version"]
            if version == self._version:
                return
            self._version = version
            rows = self.connection.execute("SELECT * FROM events WHERE id > ? ORDER BY id", (self._last_id,)).fetchall()
        except sqlite3.OperationalError:
            return  # locked for a moment: the next look sees it
        for row in rows:
            self._last_id = row["id"]
            yield Seen(self.project, row)


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino
