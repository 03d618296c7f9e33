"""Answers from a part of an archive, while the rest is not indexed yet. They always say so."""

from __future__ import annotations

import os
import time

from sessionlog.archive.place import Place
from sessionlog.ask.search.waiting import Coverage
from sessionlog.text import plain

PATIENCE = 2.0  # seconds that searches take for indexing


class Partial:
    """Lets searches answer after some seconds from what is indexed by then, and knows for which that was not all."""

    def __init__(self) -> None:
        self.until = time.monotonic() + PATIENCE
        self.coverage: dict[str, Coverage] = {}  # by the file of the archive
        self._places: list[Place] = []
        self._goes_on: list[str] = []

    def searched(self, place: Place, coverage: Coverage, goes_on: bool) -> None:
        """Remember an archive that was searched in part; its index goes on to be made if it can be written."""
        self._places.append(place)
        self.coverage[place.db] = coverage
        if goes_on:
            self._goes_on.append(place.db)

    def index_the_rest(self) -> None:
        """Index what is missing in the background, one archive after the other."""
        if self._goes_on and not os.environ.get("SESSIONLOG_NO_FOLLOW"):
            from sessionlog.ask.search import build_rest

            build_rest.start(self._goes_on)
        else:
            self._goes_on = []

    def sentences(self, advice: str) -> list[str]:
        """What to say of each archive that was searched in part, and how to search all of it."""
        found = []
        for place in self._places:
            share, back_to = self.coverage[place.db]
            name = (
                f"{plain.one_line(os.path.basename(place.project), 40)}: searched"
                if len(self._places) > 1
                else "Searched"
            )
            back = f" back to {plain.local_time(back_to)}" if share and back_to else ""
            rest = "is being indexed in the background" if place.db in self._goes_on else "is not indexed yet"
            found.append(f"{name}{back} ({int(share * 100)} % of the archive). The rest {rest}; {advice}.")
        return found
