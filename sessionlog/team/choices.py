"""Which archives are shipped, where to, and how much of them: `ship.json` in the archive folder.

Nothing leaves the machine unless its project is named here. `sessionlog ship --enable` writes the file.
"""

from __future__ import annotations

import json
import os
from typing import Any, NamedTuple

from sessionlog import config
from sessionlog.archive.place import Place
from sessionlog.errors import SessionlogError
from sessionlog.system import atomic
from sessionlog.team.levels import LEVELS

FILE = "ship.json"


class Choice(NamedTuple):
    """What the user chose for one archive."""

    service: str
    content: str = "all"
    # Not empty for a copy that is shipped as an archive of its own.
    copy: str = ""


def read(home: str) -> dict[str, Choice]:
    """The archives that are shipped, by the names of their files."""
    data, problem = config.read(home, FILE)
    if problem:
        raise SessionlogError(f"{home}/{FILE}: {problem}")
    try:
        found = json.loads(data or "{}")
        choices = {str(name): Choice(**choice) for name, choice in found.items()}
        if any(choice.content not in LEVELS for choice in choices.values()):
            raise ValueError("an unknown level")
    except (ValueError, TypeError, AttributeError) as error:
        raise SessionlogError(f"{home}/{FILE} cannot be used ({error}); `sessionlog ship --enable` writes it") from None
    return choices


def choose(place: Place, choice: Choice | None) -> None:
    """Ship this archive from now on, or no longer."""
    choices: dict[str, Any] = {name: found._asdict() for name, found in read(place.home).items()}
    choices.pop(os.path.basename(place.db), None)
    if choice:
        choices[os.path.basename(place.db)] = choice._asdict()
    os.makedirs(place.home, 0o700, exist_ok=True)
    atomic.write(f"{place.home}/{FILE}", [json.dumps(choices, indent=2).encode() + b"\n"])


def of(place: Place) -> Choice | None:
    """What was chosen for an archive."""
    return read(place.home).get(os.path.basename(place.db))
