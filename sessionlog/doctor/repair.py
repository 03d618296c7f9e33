"""What the doctor may mend without asking: it makes files private and brings events home, and deletes nothing."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

from sessionlog import archive, projects, reading, spool
from sessionlog.doctor.privacy import make_private
from sessionlog.doctor.result import Result, short
from sessionlog.errors import SessionlogError
from sessionlog.terminal import counted


def repair() -> Iterator[Result]:
    """Mend what can be mended safely, and say what was done."""
    done = [*make_private(), *_bring_home()]
    yield from done or [Result("fixed", "ok", "there was nothing to fix")]


def _bring_home() -> Iterator[Result]:
    # The archive of the project that we are in may not exist yet. Of any other one, the name of the spool does not
    # tell the project: its events come home with its next one.
    places = {place.db: place for place in (reading.place_of(), *reading.all_places())}
    for place in places.values():
        if not projects.waiting_spools(place):
            continue
        try:
            with closing(archive.open_for_writing(place)) as connection:
                events = spool.bring_home(place, connection)
            yield Result("fixed", "ok", f"{counted(events, 'event')} came home into {short(place.db)}")
        except (sqlite3.Error, OSError, SessionlogError) as error:
            yield Result("spool", "problem", f"events still wait: {archive.unavailable(place, error)}")
