"""What `doctor --fix` repairs: permissions, waiting events, missing views, indexes and triggers. Deletes no data."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

from sessionlog.archive import append, read, readonly, schema_check, spool
from sessionlog.archive import place as projects
from sessionlog.archive.place import Place
from sessionlog.errors import SessionlogError
from sessionlog.install.doctor.privacy import make_private
from sessionlog.install.doctor.result import Result, short
from sessionlog.text.plain import counted


def repair() -> Iterator[Result]:
    """Repair what can be repaired safely, and say what was done."""
    done = [*make_private(), *_restore_schema(), *_bring_home()]
    yield from done or [Result("fixed", "ok", "there was nothing to fix")]


def _restore_schema() -> Iterator[Result]:
    """Before waiting events are stored: the triggers count them."""
    for place in filter(_lacks_something, read.all_places()):
        try:
            with closing(append.open_for_writing(place)) as connection:
                things = schema_check.restore(connection)
        except (sqlite3.Error, OSError, SessionlogError) as error:
            yield Result("schema", "problem", f"not repaired: {append.unavailable(place, error)}")
        else:
            yield Result("fixed", "ok", f"created again in {short(place.db)}: {', '.join(map(str, things))}")


def _lacks_something(place: Place) -> bool:
    try:
        with closing(sqlite3.connect(readonly.uri(place.db), uri=True)) as connection:
            is_current = connection.execute("PRAGMA user_version").fetchone()[0] == append.SCHEMA_VERSION
            return is_current and any(map(schema_check.is_restorable, schema_check.differences(connection)))
    except sqlite3.Error:
        return False  # the examination that follows says why it cannot be read


def _bring_home() -> Iterator[Result]:
    # The archive of the project that we are in may not exist yet. Of any other one, the name of the spool does not
    # tell the project: its events are stored with its next one.
    places = {place.db: place for place in (read.place_of(), *read.all_places())}
    for place in places.values():
        if not projects.waiting_spools(place):
            continue
        try:
            with closing(append.open_for_writing(place)) as connection:
                events = spool.bring_home(place, connection)
            yield Result("fixed", "ok", f"{counted(events, 'event')} stored in {short(place.db)}")
        except (sqlite3.Error, OSError, SessionlogError) as error:
            yield Result("spool", "problem", f"events still wait: {append.unavailable(place, error)}")
