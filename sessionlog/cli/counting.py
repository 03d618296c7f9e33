"""The first count of a large archive takes a while: commands show how far it is, or answer without it and say so."""

from __future__ import annotations

import os
import sqlite3

from sessionlog.archive.place import Place
from sessionlog.ask.rollup import open as rollup
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


class WithoutWaiting:
    """Gives the sessions alone where there is much to count, and has that counted in the background."""

    def __init__(self) -> None:
        self._uncounted: list[Place] = []
        self._goes_on = False

    def connect(self, place: Place, since: str = "", client: str | None = None) -> sqlite3.Connection:
        """The counts of an archive, or its sessions alone: rollup.is_preview."""
        try:
            return at_once(place, since, client)
        except rollup.StillCounting:
            self._uncounted.append(place)
            return rollup.preview(place, since, client)

    def count_the_rest(self) -> bool:
        """Have what was not waited for counted, where that can be kept. Whether there is any."""
        if self._uncounted and not os.environ.get("SESSIONLOG_NO_FOLLOW"):
            from sessionlog.ask.rollup import count_rest

            self._goes_on = count_rest.start(self._uncounted)
        return bool(self._uncounted)

    def sentence(self, missing: str) -> str:
        """Why something is missing in a list of sessions, after `count_the_rest`."""
        if self._goes_on:
            return f"{missing}: events are still being counted in the background. Add --wait to wait for that."
        return f"{missing}: not all events are counted yet. Add --wait to count them now."
