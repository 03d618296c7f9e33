"""The first count of a large archive takes a while: commands show how far it is, or answer without it and say so."""

from __future__ import annotations

import os
import sqlite3

from sessionlog.archive.place import Place
from sessionlog.ask.rollup import open as rollup
from sessionlog.cli import terminal
from sessionlog.cli.progress import Bar


def wait(place: Place, since: str = "", client: str | None = None) -> sqlite3.Connection:
    """The counts of an archive, with a progress bar if there is much to count."""
    bar = Bar("Counting", place)
    try:
        return rollup.connect(place, since, client, tell=bar.show)
    finally:
        bar.finish()


def at_once(place: Place, since: str = "", client: str | None = None) -> sqlite3.Connection:
    """The counts of an archive; rollup.StillCounting if there is much to count."""
    return rollup.connect(place, since, client, most=rollup.FEW)


class Impatient:
    """Gives the sessions alone where there is much to count, and has that counted in the background."""

    def __init__(self) -> None:
        self._later: list[Place] = []

    def connect(self, place: Place, since: str = "", client: str | None = None) -> sqlite3.Connection:
        """The counts of an archive, or its sessions alone: rollup.is_preview."""
        try:
            return at_once(place, since, client)
        except rollup.StillCounting:
            self._later.append(place)
            return rollup.preview(place, since)

    def count_the_rest(self) -> None:
        """Start to count what was not waited for, and say what is missing."""
        if not self._later:
            return
        goes_on = ""
        if not os.environ.get("SESSIONLOG_NO_FOLLOW"):
            from sessionlog.ask.rollup import count_rest

            count_rest.start([place.db for place in self._later])
            goes_on = ", which goes on in the background"
        terminal.say(f"Costs follow when all events are counted{goes_on}; add --wait to wait for them.", fg="yellow")
