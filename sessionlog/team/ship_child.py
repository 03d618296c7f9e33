"""What the background importer becomes when it is done, if the project is shipped: `python -I ship_child.py HOME DB`.

A script of its own, because the importer runs without installed packages. What goes wrong is told to nobody: the next
run meets it again, and `sessionlog ship --status` tells how many events wait.
"""

import os
import sys


def main(home: str, db: str) -> None:
    """Ship what is new in one archive, if that was chosen."""
    import platform

    from sessionlog.archive import read
    from sessionlog.errors import SessionlogError
    from sessionlog.team import choices, connection, ship

    os.environ["SESSIONLOG_HOME"] = home
    place = read.place_at(db)
    choice = choices.of(place)
    if choice is None:
        return
    try:
        with connection.connect(choice.service) as server:
            ship.ship(server, place, choice, platform.node())
    except SessionlogError:
        sys.exit(1)


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    main(*sys.argv[1:])
