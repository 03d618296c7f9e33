"""A unified diff as HTML."""

from __future__ import annotations

from typing import NamedTuple

from markupsafe import Markup

from sessionlog import calls, terminal
from sessionlog.timeline import Call

# Lines that are shown of a diff, and characters of a line.
LINES, WIDTH = 400, 2_000


class Diff(NamedTuple):
    """A diff as HTML, and what it comes to."""

    html: Markup
    added: int
    removed: int
    left_out: int


def of(call: Call) -> Diff | None:
    """What the call changed; None if it changed nothing."""
    found = calls.changes(call)
    if not found:
        return None
    names = {"+": "add", "-": "del", "@": "hunk"}
    html = Markup("").join(
        Markup('<div class="l {}">{}</div>').format(names.get(line[:1], "ctx"), terminal.safe(line[:WIDTH]))
        for line in found[:LINES]
    )
    added = sum(line.startswith("+") for line in found)
    removed = sum(line.startswith("-") for line in found)
    return Diff(Markup('<div class="diff code">{}</div>').format(html), added, removed, max(0, len(found) - LINES))
