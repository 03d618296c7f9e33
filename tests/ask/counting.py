"""Counts an archive in a process of its own, for tests/ask/test_rollup.py: `counting ARCHIVE [STATEMENTS]`.

With a number, it kills itself before SQLite begins the statement after so many. An archive is counted in several
transactions, each in a turn of its own.
"""

from __future__ import annotations

import itertools
import os
import signal
import sqlite3
import sys
from typing import Any

from sessionlog.archive import read
from sessionlog.ask.rollup import build, stats
from sessionlog.ask.rollup import open as rollup


def main() -> None:
    path, *most = sys.argv[1:]
    build.AT_ONCE = 50  # instead of more than the archives of these tests have
    rollup.TURN = 0
    statements = itertools.count(1)
    connect = sqlite3.connect

    def begins(_: str) -> None:
        if next(statements) > int(most[0]):
            os.kill(os.getpid(), signal.SIGKILL)

    def counted(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(*arguments, **options)
        connection.set_trace_callback(begins)
        return connection

    if most:
        sqlite3.connect = counted
    with stats.Counted([read.place_at(path)]) as found:
        print(sum(row["tools"] for row in stats.activity(found).values()), next(statements) - 1)
