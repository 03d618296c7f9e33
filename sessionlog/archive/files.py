"""The one list of our files: those of an archive, and those that all archives of a home folder share.

The modules that an ordinary event imports spell some of these names themselves, because each import costs a hook time;
a test compares what they make with this list.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

# What SQLite keeps beside a database.
SQLITE_ENDINGS = ("-wal", "-shm", "-journal")
# Built from the archive (see sidecar). Not *.db, because they are no archives.
SIDECAR_ENDINGS = (".search", ".digest")
# Pins, tags and notes of people (see notes).
NOTES_ENDING = ".notes"
# A database that was set aside has a date behind this.
DAMAGED = ".damaged-"
# Beside archives of others: whose they are (see pulled).
PULLED = "pulled.json"

_LOCKS = (".lock", ".search.build.lock", *(f"{ending}.lock" for ending in (*SIDECAR_ENDINGS, NOTES_ENDING)))
_DATABASES = ("", *SIDECAR_ENDINGS)
_ENDINGS = (
    *_DATABASES,
    *(f"{name}{ending}" for name in _DATABASES for ending in SQLITE_ENDINGS),
    *_LOCKS,
    NOTES_ENDING,
    ".spool",
)

# In a home folder. These files hold nothing of any session; `following` has empty stamps, `redact` cleans `rejected`.
FOLDERS = ("rejected", "following")
_HOME = (
    "browse.token",
    "config.json",
    "config.json.sessionlog-backup",
    "prices.json",
    PULLED,
    "redact.key",
    "registered.json",
    "ship.json",
    "remembered.json",
    "unreported",
    *FOLDERS,
)

# Compiled where they are used: most commands import this module for its names only.
_DRAFT = r"(?s:(.*)\.[0-9a-f]{8}\.draft)"  # see system.atomic
_ARCHIVE = r"(?s:.+-([0-9a-f]{{6}}|[0-9a-f]{{16}})\.db({endings}|{damaged}.+))"


def is_ours(name: str) -> bool:
    """Whether sessionlog gives such a name to what it makes in a home folder."""
    pattern = _ARCHIVE.format(endings="|".join(map(re.escape, _ENDINGS)), damaged=re.escape(DAMAGED))
    return without_draft(name) in _HOME or re.fullmatch(pattern, without_draft(name)) is not None


def of_archive(db: str) -> list[str]:
    """The paths of all files that an archive may have, the archive first."""
    return [*(db + ending for ending in _ENDINGS), *_set_aside(db)]


def damaged(db: str) -> list[str]:
    """The damaged databases of this project that wait for a person."""
    return [path for path in _set_aside(db) if not path.endswith(SQLITE_ENDINGS)]


def not_redacted(folder: str, names: Iterable[str]) -> list[str]:
    """Which of these files may hold what `redact` took out of the archives in the folder: it does not reach them.

    It reaches the files of each archive that is there. Spools that wait have to be looked at besides.
    """
    beside = set(os.listdir(folder))
    reached = {f"{name}{ending}" for name in beside if name.endswith(".db") for ending in _ENDINGS}
    return [os.path.join(folder, name) for name in names if name not in reached and _may_hold(folder, name, beside)]


def without_draft(name: str) -> str:
    """The name that a draft was to get."""
    match = re.fullmatch(_DRAFT, name)
    return match[1] if match else name


def _may_hold(folder: str, name: str, beside: set[str]) -> bool:
    if without_draft(name) in _HOME or name.endswith(tuple(f".db{ending}" for ending in _LOCKS)):
        return False
    if any(name.endswith(ending) and name.removesuffix(ending) in beside for ending in SQLITE_ENDINGS):
        return False  # named with the database that it belongs to
    try:
        return os.lstat(os.path.join(folder, name)).st_size > 0
    except FileNotFoundError:  # removed a moment ago
        return False


def _set_aside(db: str) -> list[str]:
    folder, name = os.path.split(db)
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return sorted(os.path.join(folder, entry) for entry in names if entry.startswith(f"{name}{DAMAGED}"))
