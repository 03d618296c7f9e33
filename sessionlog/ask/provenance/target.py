"""Which file is meant: in which working copy or commit, under which names it was edited, and what is in it."""

from __future__ import annotations

import os
import sqlite3
from typing import NamedTuple

from sessionlog.archive import place as projects
from sessionlog.archive.place import Place
from sessionlog.ask.provenance import history
from sessionlog.ask.provenance.history import Commit, Version
from sessionlog.ask.provenance.recorded import Names
from sessionlog.errors import SessionlogError
from sessionlog.redact.rules import Rules
from sessionlog.system import files
from sessionlog.system.git import Repository

LONGEST_FILE = 16 << 20


class Target(NamedTuple):
    """A file of a project."""

    place: Place
    root: str  # of the working copy
    path: str  # below the root, with slashes
    repository: Repository | None
    commit: Commit | None  # None for the working copy as it is


def locate(place: Place, file: str, revision: str | None = None) -> Target:
    """The file at this path, as it is or as it was in a revision."""
    path = os.path.realpath(file)
    root = next((folder for folder in projects.ancestors(os.path.dirname(path)) if _has_git(folder)), None)
    repository = Repository(root) if root else None
    if root is None or repository is None or not repository.is_there():
        repository = None
        root = place.project if path.startswith(f"{place.project}/") else os.path.dirname(path)
    commit = None
    if revision:
        if repository is None:
            raise SessionlogError(f"{file} is in no git repository, so there is no revision {revision}.")
        commit = history.read_commit(repository, revision)
        if commit is None:
            raise SessionlogError(f"git knows no commit {revision}.")
    return Target(place, root, os.path.relpath(path, root).replace(os.sep, "/"), repository, commit)


def _has_git(folder: str) -> bool:
    return os.path.exists(os.path.join(folder, ".git"))


def text_of(target: Target) -> str:
    """What is in the file. Secrets are replaced as in the archive: else no line that has one would be recognised."""
    if target.commit and target.repository:
        content = target.repository.blob(target.commit.id, target.path)
        if content is None:
            raise SessionlogError(f"{target.path} is not in commit {target.commit.id[:10]}.")
    else:
        try:
            content = files.read_regular(os.path.join(target.root, target.path), LONGEST_FILE)
        except OSError as error:
            raise SessionlogError(f"{target.path} cannot be read: {error.strerror or error}") from error
    if len(content) > LONGEST_FILE:
        raise SessionlogError(f"{target.path} has more than {LONGEST_FILE >> 20} MB.")
    if b"\0" in content[:8000]:
        raise SessionlogError(f"{target.path} is not a text file.")
    return Cleaner(target.place.home)(content)


class Cleaner:
    """Turns the bytes of a file into text as the archive has it."""

    def __init__(self, home: str) -> None:
        self._rules = Rules(home)

    def __call__(self, content: bytes) -> str:
        """The text, with the line breaks of Unix, and without secrets."""
        text = content.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n")
        clean = self._rules.clean_text(text, self._rules.suspects(content))
        return clean if clean.count("\n") == text.count("\n") else _line_by_line(text, self._rules)


def _line_by_line(text: str, rules: Rules) -> str:
    """A secret of several lines becomes one marker; here, each line has to stay a line."""
    return "\n".join(rules.clean_text(line, rules.suspects(line.encode())) for line in text.split("\n"))


def names(connection: sqlite3.Connection, target: Target, path: str, versions: list[Version]) -> Names:
    """The absolute paths under which the file may have been edited; `path` is what the last commit calls it."""
    had = {target.path: "~", path: "~"}
    for version in versions:
        if version.old_path != version.path:
            had.setdefault(version.old_path, version.at)
    return Names(target.root, _roots(connection, target), had)


def _roots(connection: sqlite3.Connection, target: Target) -> dict[str, str]:
    """The working copies of the project: as they are written in the archive, and as they are on the disk."""
    found = {target.root: target.root, target.place.project: target.root}
    for folder in history.worktrees(target.repository) if target.repository else ():
        found[folder] = os.path.realpath(folder)
    real = set(found.values())
    for row in connection.execute("SELECT DISTINCT cwd FROM sessions WHERE cwd IS NOT NULL"):
        for folder in projects.ancestors(row["cwd"]):
            if folder not in found and os.path.realpath(folder) in real:  # another way to the same folder
                found[folder] = os.path.realpath(folder)
    return found
