"""Whose archive a file is, where its name does not tell.

Older archives are named after six hex digits of their project's path, which two projects can share.
"""

import os

from sessionlog import fastlib
from sessionlog.archive import append
from sessionlog.archive import place as projects
from sessionlog.errors import ArchiveUnavailable
from sessionlog.fastlib import sqlite_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sessionlog.archive.place import Place

# An archive that is locked for longer counts as one that cannot be read now.
LOCK_WAIT = 0.2


def is_of_another_system(path: str) -> bool:
    """Whether this is the path of a folder on Windows, and we are elsewhere: nothing here has such a path."""
    is_windows = path.startswith("\\\\") or (path[1:2] == ":" and path[2:3] in ("\\", "/") and path[0].isalpha())
    return is_windows and os.name != "nt"


def canonical(path: str) -> str:
    """The path by which a project is known. A folder that is not here may be on another machine, or gone."""
    return path.rstrip("\\/") if is_of_another_system(path) else os.path.realpath(path)


def place(project: str) -> "Place":
    """The archive of a project, given as a canonical path. Opens the file if need be, unlike `archive.place.place`."""
    found = projects.place(project)
    settle(found)
    return found


def settle(place: "Place") -> None:
    """Let the place mean its other file if the one at its short name says that it is another project's.

    One that cannot be read now counts as this project's: two archives for one project would be worse.
    """
    if place.other_db and _is_of_another(place):
        place.db = place.other_db
    place.other_db = ""


def _is_of_another(place: "Place") -> bool:
    try:
        if not append.is_safe_file(place.db):
            return False
        connection = fastlib.connect(place.db, LOCK_WAIT)
        try:
            return not append.is_of_project(connection, place)
        finally:
            connection.close()
    except (sqlite_error, ArchiveUnavailable, OSError):
        return False
