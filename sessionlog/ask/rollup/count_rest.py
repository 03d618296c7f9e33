"""Counts archives for the first time in the background."""

from __future__ import annotations

from sessionlog.archive import read
from sessionlog.ask.rollup import open as rollup
from sessionlog.system import children


def start(dbs: list[str]) -> None:
    """Start the process for these archives."""
    children.start_alone(__name__, dbs)


def main() -> None:
    """Count one archive after the other."""
    for db in children.given_words():
        rollup.connect(read.place_at(db)).close()
