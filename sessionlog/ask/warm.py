"""Brings the files beside an archive up to date before anybody asks: the search index and the counts."""

from __future__ import annotations

from contextlib import closing

from sessionlog.archive import read
from sessionlog.archive.place import Place
from sessionlog.ask.rollup import open as rollup
from sessionlog.ask.search import build


def bring_up_to_date(place: Place) -> None:
    """The index in small transactions, each on its own: hooks and searches go on meanwhile."""
    with closing(read.connect(place)) as archive:
        build.catch_up(place, archive, only_one=True)
    rollup.connect(place).close()
