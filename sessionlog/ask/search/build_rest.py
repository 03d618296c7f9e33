"""Makes the rest of search indexes in the background: a process that outlives the command that started it."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing

from sessionlog.archive import read
from sessionlog.ask.search import build
from sessionlog.system import children


def start(dbs: list[str]) -> None:
    """Start the process for these archives."""
    child = subprocess.Popen(  # noqa: S603 (a module of ours)
        children.command("sessionlog.ask.search.build_rest"),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=children.FOLDER,
        start_new_session=True,
    )
    with child.stdin as pipe:  # type: ignore[union-attr]
        pipe.write(b"\0".join(map(os.fsencode, dbs)))
    child.returncode = 0  # nobody waits for it


def main() -> None:
    """Index one archive after the other, at low priority; what another process is at is left to that."""
    if hasattr(os, "nice"):
        os.nice(10)
    for db in sys.stdin.buffer.read().split(b"\0"):
        place = read.place_at(os.fsdecode(db))
        with closing(read.connect(place)) as archive:
            build.catch_up(place, archive, only_one=True)
