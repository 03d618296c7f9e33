"""`sessionlog ship` that kills itself, for tests/team/test_ship.py: earlier at first, later with each try.

A process of its own, without threads: it forks two shippers for each try, which all have the same imports.
"""

from __future__ import annotations

import itertools
import os
import signal
import traceback
from typing import Any, NoReturn

import psycopg

from sessionlog.archive import read
from sessionlog.team import choices, connection, ship

BATCH = 30


def shipper(exchanges: int) -> NoReturn:
    """Ship until so many exchanges with the server are over, and be killed at the beginning of the next."""
    left, wait = exchanges, psycopg.Connection.wait

    def counted(self: psycopg.Connection, *arguments: Any, **options: Any) -> Any:
        nonlocal left
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        return wait(self, *arguments, **options)

    code = 1
    try:
        psycopg.Connection.wait = counted  # type: ignore[method-assign]
        for place in read.all_places():
            choice = choices.of(place)
            assert choice
            with connection.connect(choice.service) as server:
                ship.ship(server, place, choice, os.uname().nodename, batch=BATCH)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def main() -> None:
    """Two shippers at a time, until one of them comes to its end; prints how they ended, a line for each try."""
    for exchanges in itertools.count():
        both = [os.fork() or shipper(exchanges) for _ in range(2)]
        ended = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in both]
        print(*ended)
        if ended != [-signal.SIGKILL] * 2:
            return
