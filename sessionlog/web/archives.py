"""Which of Datasette's databases are archives of ours."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from datasette.utils.asgi import NotFound

from sessionlog.archive import migrate, readonly
from sessionlog.archive import read as reading
from sessionlog.archive.place import Place
from sessionlog.ask.rollup import stats
from sessionlog.ask.rollup.sessions import Source
from sessionlog.web import counting

T = TypeVar("T")


class Archive(NamedTuple):
    """A project as the pages know it."""

    name: str  # of the database: what addresses hold
    label: str  # the folder's name; with the database's where two projects share it
    place: Place


_known: WeakKeyDictionary[Any, dict[str, Place | None]] = WeakKeyDictionary()
_finders: WeakKeyDictionary[Any, Callable[[], None]] = WeakKeyDictionary()


def found_by(datasette: Any, finder: Callable[[], None]) -> None:
    """Name what gives Datasette the archives that have come since it was started."""
    _finders[datasette] = finder


def look_again(datasette: Any) -> None:
    """Let archives that have come since be known."""
    if datasette in _finders:
        _finders[datasette]()


def is_served(datasette: Any) -> bool:
    """Whether this Datasette is about archives: it has some, or `sessionlog browse` waits for the first one."""
    return datasette in _finders or bool(find(datasette))


def find(datasette: Any) -> dict[str, Archive]:
    """All archives, by the name of their database."""
    known = _known.setdefault(datasette, {})
    for name, database in list(datasette.databases.items()):
        if name not in known:
            known[name] = reading.place_at(database.path) if database.path and is_archive(database.path) else None
    found = {name: place for name, place in known.items() if place and name in datasette.databases}
    labels = [os.path.basename(place.project) for place in found.values()]
    return {
        name: Archive(name, label if labels.count(label) == 1 else f"{label} ({name})", place)
        for (name, place), label in zip(found.items(), labels, strict=True)
    }


def named(datasette: Any, name: str) -> Archive:
    """The archive of this name, or a page that says there is none."""
    found = find(datasette).get(name)
    if found is None:
        raise NotFound(f"There is no archive called {name}.")
    return found


def chosen(datasette: Any, names: Iterable[str]) -> list[Archive]:
    """The archives of these names; all of them, if none is named."""
    wanted = [name for name in names if name]
    return [named(datasette, name) for name in wanted] if wanted else list(find(datasette).values())


def relative(archive: Archive, path: str) -> str:
    """A path as one names it within the project."""
    return path.removeprefix(f"{archive.place.project}/")


def connect(archive: Archive) -> sqlite3.Connection:
    """A read-only connection, for code that already runs in a thread."""
    return reading.connect(archive.place)


async def read(archive: Archive, question: Callable[[sqlite3.Connection], T]) -> T:
    """Ask an archive through a read-only connection of its own, in a thread: the server goes on meanwhile."""

    def ask() -> T:
        with closing(connect(archive)) as connection:
            return question(connection)

    return await asyncio.to_thread(ask)


async def count(found: Iterable[Archive], question: Callable[[stats.Counted, list[Source]], T], since: str = "") -> T:
    """Ask the digests of these archives, in a thread; `since` leaves out what happened before.

    One that is made for the first time has the sessions alone until then: rollup.is_preview.
    """

    def ask() -> T:
        asked = list(found)
        with stats.Counted((archive.place for archive in asked), since, connect=counting.connect) as counted:
            connections = (connection for _, connection in counted.connections)
            sources = [Source(archive.name, own) for archive, own in zip(asked, connections, strict=True)]
            return question(counted, sources)

    return await asyncio.to_thread(ask)


def is_archive(path: str) -> bool:
    try:
        with closing(sqlite3.connect(readonly.uri(path), uri=True)) as connection:
            return bool(connection.execute("PRAGMA application_id").fetchone()[0] == migrate.APPLICATION_ID)
    except sqlite3.Error:
        return False
