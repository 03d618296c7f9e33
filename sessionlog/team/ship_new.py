"""Ships what is new in one archive from the background, if its project is shipped."""

from __future__ import annotations

import platform

from sessionlog.archive.place import Place
from sessionlog.team import choices, connection, ship


def of(place: Place) -> None:
    """Raises SessionlogError when it cannot be done now: `sessionlog ship --status` shows how many events wait."""
    choice = choices.of(place)
    if choice is not None:
        with connection.connect(choice.service) as server:
            ship.ship(server, place, choice, platform.node())
