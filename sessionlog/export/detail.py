"""How much of a session Markdown and HTML tell: everything, what one reads, or the course of it."""

from __future__ import annotations

from typing import NamedTuple

from sessionlog.session.load import Entry

BRIEF_KINDS = ("prompt", "answer", "tool", "permission", "review", "sub-agent", "failure", "compaction")

# What stays of one result at the detail `normal`; a single line may be megabytes.
LINES, CHARACTERS = 80, 12_000


class Excerpt(NamedTuple):
    """The beginning of a text, and what was left out, in words."""

    text: str
    left_out: str


def is_shown(entry: Entry, detail: str) -> bool:
    """Whether the entry is shown at this detail."""
    if detail == "full":
        return True
    return not entry.minor and (detail == "normal" or entry.kind in BRIEF_KINDS)


def excerpt(text: str, detail: str) -> Excerpt:
    """As much of a result as is shown at this detail."""
    if detail == "full" or (len(text) <= CHARACTERS and text.count("\n") <= LINES):
        return Excerpt(text, "")
    some = "\n".join(text[:CHARACTERS].split("\n")[:LINES])
    lines = text.count("\n", len(some))
    left_out = f"{lines:,} more lines" if lines else f"{len(text) - len(some):,} more characters"
    return Excerpt(some, left_out)
