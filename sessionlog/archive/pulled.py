"""Whose sessions a folder of pulled archives holds: `pulled.json`, which `sessionlog team pull` writes beside them."""

from __future__ import annotations

import os

from sessionlog.archive.files import PULLED
from sessionlog.archive.place import Place
from sessionlog.fastlib import parse_json
from sessionlog.system.files import read_regular

LONGEST = 1 << 20


def read_all(folder: str) -> dict[str, str]:
    """What is written there, by the names of the archives' files."""
    try:
        found = parse_json(read_regular(f"{folder}/{PULLED}", LONGEST).decode())
    except (OSError, ValueError):
        return {}
    return {str(name): str(text) for name, text in found.items()} if isinstance(found, dict) else {}


def owner(place: Place) -> str:
    """Whose sessions an archive holds, if it was pulled."""
    folder, name = os.path.split(place.db)
    return read_all(folder).get(name, "")
