"""The doctor's look at who can read the archives."""

from __future__ import annotations

import os
import shlex
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress

from sessionlog.archive import files, read
from sessionlog.archive import place as projects
from sessionlog.install.doctor.result import Result, short

_MERGING = ".merging-"
_AT_WORK = 3600  # seconds that a merge may take without a change to its folder


def permissions() -> Iterator[Result]:
    """Whether the archives are for this user's eyes only, as they were made."""
    if not hasattr(os, "getuid"):
        yield Result("permissions", "note", "not checked on this system")
        return
    mine, foreign = _own_and_foreign()
    exposed = [path for path, mode in mine.items() if mode & 0o077]
    fixable = [path for path in exposed if _may_be_closed(path)]
    if fixable:
        text = f"others can read {_listed(fixable)}"
        yield Result("permissions", "problem", text, "Type: sessionlog doctor --fix")
    for path in exposed:
        if path not in fixable:
            advice = "Give the archive a folder of its own (SESSIONLOG_HOME), or close this one yourself."
            yield Result("permissions", "problem", f"others can look into {short(path)}", advice)
    if foreign:
        advice = "Make it yours again with `sudo chown`."
        yield Result("permissions", "problem", f"another user owns {_listed(foreign)}", advice)
    if not exposed and not foreign:
        yield Result("permissions", "ok", "the archives are for your eyes only")


def left_behind() -> Iterator[Result]:
    """Copies of archives that a killed merge left beside them: they hold all that was merged, cleaned or not."""
    folders = dict.fromkeys(os.path.dirname(place.db) for place in read.all_places())
    found = [f"{folder}/{name}" for folder in folders for name in sorted(_names(folder)) if name.startswith(_MERGING)]
    for path in found:
        with suppress(FileNotFoundError):
            running = time.time() - os.lstat(path).st_mtime < _AT_WORK
            does = "a merge has its copies in" if running else "a merge was killed and left"
            advice = f"If no `sessionlog merge` is running, delete the folder: rm -r {shlex.quote(path)}"
            yield Result("merge", "note" if running else "problem", f"{does} {short(path)}", advice)


def make_private() -> Iterator[Result]:
    """Take from others the permission to read what is ours."""
    mine, _ = _own_and_foreign() if hasattr(os, "getuid") else ({}, [])
    exposed = {path: mode for path, mode in mine.items() if mode & 0o077 and _may_be_closed(path)}
    try:
        for path, mode in exposed.items():
            os.chmod(path, mode & 0o700)
    except OSError as error:
        yield Result("permissions", "problem", f"{short(error.filename)} stays as it is: {error.strerror}")
        return
    if exposed:
        yield Result("fixed", "ok", f"only you can read {_listed(exposed)} now")


def _own_and_foreign() -> tuple[dict[str, int], list[str]]:
    """What sessionlog made: the paths that belong to this user, with their modes, and those that do not."""
    mine, foreign = {}, []
    for path in dict.fromkeys(_paths()):
        with suppress(FileNotFoundError):  # SQLite removes its own files
            status = os.lstat(path)
            if stat.S_ISLNK(status.st_mode):
                continue
            if status.st_uid == os.getuid():
                mine[path] = stat.S_IMODE(status.st_mode)
            else:
                foreign.append(path)
    return mine, foreign


def _paths() -> Iterator[str]:
    for folder in (projects.home_folder(), *projects.fallback_folders()):
        names = list(filter(files.is_ours, _names(folder)))
        if names:
            yield os.path.realpath(folder)
        yield from (f"{folder}/{name}" for name in names)
        for inner in files.FOLDERS:
            yield from (f"{folder}/{inner}/{name}" for name in _names(f"{folder}/{inner}"))
    for place in read.all_places():  # $SESSIONLOG_DB may name a file in any folder
        yield from files.of_archive(place.db)


def _names(folder: str) -> list[str]:
    return os.listdir(folder) if os.path.isdir(folder) else []


def _may_be_closed(path: str) -> bool:
    """A folder that holds other things too, such as /tmp or a home directory, is not ours to close."""
    return os.path.basename(path) in files.FOLDERS or all(map(files.is_ours, _names(path)))


def _listed(paths: Iterable[str]) -> str:
    first, *others = map(short, paths)
    return f"{first} and {len(others)} more" if others else first
