"""Progress bars for what takes long only in a large archive."""

from __future__ import annotations

import os
from typing import Any

from sessionlog.archive.place import Place
from sessionlog.text import plain


class Bar:
    """A progress bar for work on an archive that takes long; short work shows nothing."""

    LONG = 5000  # events

    def __init__(self, work: str, place: Place) -> None:
        self.label = f"{work} {plain.one_line(os.path.basename(place.project), 24)}"
        self.before: int | None = None  # what was done before this command
        self.bar: Any = None

    def show(self, done: int, total: int) -> None:
        """So many of so many are done."""
        if self.before is None:
            self.before = done
        if total - self.before < self.LONG:
            return
        if self.bar is None:
            from sessionlog.cli.dialogue import progress_bar

            self.bar = progress_bar(self.label, total - self.before)
        self.bar.update(max(done - self.before, 0) - self.bar.pos)

    def finish(self) -> None:
        """Leave the line of the bar, also if not everything was done."""
        if self.bar is not None:
            self.bar.render_finish()
            self.bar = None
