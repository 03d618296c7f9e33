"""A file and its archive, opened to ask where its lines come from."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

from sessionlog.archive import read
from sessionlog.archive.place import Place
from sessionlog.ask.search import build, index


@contextmanager
def archive(place: Place) -> Iterator[tuple[sqlite3.Connection, bool]]:
    """A connection, and whether the search index is attached to it: it knows the edits that only transcripts have."""
    with closing(read.connect(place)) as connection:
        try:
            build.catch_up(place, connection)
            index.attach(place, connection)
            indexed = True
        except (sqlite3.Error, OSError):  # a disk that cannot be written; what the hooks recorded needs no index
            indexed = False
        yield connection, indexed
