"""Brings the files beside an archive up to date before anybody asks: the search index and the counts."""

from __future__ import annotations

from contextlib import closing

from sessionlog.archive import read
from sessionlog.archive.place import Place
from sessionlog.ask.rollup import open as rollup
from sessionlog.ask.search import index


def bring_up_to_date(place: Place) -> None:
    """The index in small transactions, each on its own: hooks and searches go on meanwhile."""
    with closing(read.connect(place)) as archive:
        index.catch_up(place, archive)
    rollup.connect(place).close()
