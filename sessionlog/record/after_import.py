"""What the background importer becomes when it is done: `python -I after_import.py HOME DB`.

It ships what is new, if the project is shipped, and brings the search index and the counts up to date, so that the next
search or page has nothing to wait for. It is a script of its own because the importer runs without installed packages.
Errors are not reported: the next command meets them again.
"""

import os
import sqlite3
import sys
from contextlib import suppress


def main(home: str, db: str) -> None:
    """Do for one archive what nobody should have to wait for."""
    from sessionlog.archive import read
    from sessionlog.ask import warm
    from sessionlog.errors import SessionlogError

    os.environ["SESSIONLOG_HOME"] = home
    place = read.place_at(db)
    if os.path.exists(f"{home}/ship.json"):  # some project is shipped: perhaps this one
        from sessionlog.team import ship_new

        with suppress(SessionlogError):
            ship_new.of(place)
    with suppress(SessionlogError, OSError, sqlite3.Error):
        warm.bring_up_to_date(place)


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    main(*sys.argv[1:])
