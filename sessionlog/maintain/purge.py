"""Removing everything that sessionlog keeps on this machine: what `uninstall --purge` does."""

from __future__ import annotations

import os
import shutil
from typing import NamedTuple

from sessionlog.archive import files
from sessionlog.archive import place as projects


class Purge(NamedTuple):
    """What there is to remove: paths of ours in our folders, and how large they are."""

    paths: list[str]
    archives: int
    size: int


def plan() -> Purge:
    """Everything of ours in the archive folder and in the folder for events that waited; nothing else in them."""
    paths: list[str] = []
    for folder in _folders():
        if projects.is_own_folder(folder):
            paths += [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if files.is_ours(name)]
    archives = sum(path.endswith(".db") for path in paths)
    return Purge(paths, archives, sum(map(_size, paths)))


def run(purge: Purge) -> None:
    """Remove these; folders only if nothing else is left in them."""
    for path in purge.paths:
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)
    for folder in _folders():
        try:
            os.rmdir(folder)
        except OSError:  # it is not there, or holds what is not ours
            pass


def _folders() -> list[str]:
    return [projects.home_folder(), *projects.fallback_folders()]


def _size(path: str) -> int:
    if os.path.isdir(path) and not os.path.islink(path):
        return sum(_size(os.path.join(path, name)) for name in os.listdir(path))
    return os.lstat(path).st_size
