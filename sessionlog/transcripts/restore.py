"""Transcripts of a session, written back to where its agent looks for them."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

from sessionlog.agents import transcripts
from sessionlog.agents.registry import CLAUDE_CODE
from sessionlog.archive import place as projects
from sessionlog.errors import SessionlogError
from sessionlog.redact.rules import Rules
from sessionlog.system import atomic
from sessionlog.system.files import open_regular
from sessionlog.transcripts import chunks, store, versions


class Restored(NamedTuple):
    """A file, and what became of it: restored, there already, differs, unreadable."""

    path: str
    bytes: int
    replacements: int
    state: str
    lacks: int = 0  # lines that other archived versions of the file have and this one has not


def restore(
    connection: sqlite3.Connection,
    session_id: str,
    to: str | None = None,
    dry_run: bool = False,
    every_version: bool = False,
) -> list[Restored]:
    """Write back the fullest version of every file of a session; one that is there and different is never touched.

    The files get the time of now: with the one they had, Claude Code would delete them again at its next start.
    """
    folder = os.path.abspath(to) if to else transcripts.base(_client(connection, session_id))
    rules = chunks.rules_for(projects.home_folder(), raw=True)  # what a person took out by name stays out
    done = []
    for file in versions.of_session(connection, session_id):
        path = os.path.join(folder, *_safe_parts(file.name))
        for number, version in enumerate(file.versions if every_version else file.versions[:1], 1):
            content = partial(_content, connection, version, rules)
            done.append(_restore(content, version.replacements, path if number == 1 else f"{path}.{number}", dry_run))
        if not every_version:
            done[-1] = done[-1]._replace(lacks=file.lacks)
    if not done:
        raise SessionlogError(
            f"no transcript of session {session_id} is archived; `sessionlog import` archives those that still exist"
        )
    return done


def _client(connection: sqlite3.Connection, session_id: str) -> str:
    """The agent whose session it is."""
    cursor = connection.cursor()
    cursor.row_factory = None
    row = cursor.execute("SELECT client FROM sessions WHERE session_id = ?", (session_id,)).fetchone()
    return str(row[0]) if row else CLAUDE_CODE


def _content(connection: sqlite3.Connection, version: versions.Version, rules: Rules | None) -> Iterator[bytes]:
    for piece in store.content(connection, version.id):
        yield chunks.cleaned(piece, version.kind, rules)


def _restore(content: Callable[[], Iterator[bytes]], replacements: int, path: str, dry_run: bool) -> Restored:
    try:
        size = sum(map(len, content()))
    except chunks.Unreadable:
        return Restored(path, 0, replacements, "unreadable")
    if os.path.lexists(path):
        state = "there already" if _is_same(path, content()) else "differs"
    elif dry_run:
        state = "to be restored"
    else:
        _write(path, content())
        state = "restored"
    return Restored(path, size, replacements, state)


def _write(path: str, content: Iterable[bytes]) -> None:
    """Under another name first: a file that is half there must never look like a transcript."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    atomic.write(path, content, overwrite=False)


def _is_same(path: str, content: Iterable[bytes]) -> bool:
    try:
        with open(open_regular(path), "rb") as file:
            return all(file.read(len(piece)) == piece for piece in content) and not file.read(1)
    except OSError:
        return False


def _safe_parts(name: str) -> list[str]:
    """The parts of a path that stays below the folder, whatever the archive says."""
    parts = [part for part in name.split("/") if part not in ("", ".", "..")]
    if not parts or len(parts) != len(name.split("/")):
        raise SessionlogError(f"the archive names a file {name!r}, which is no path below a folder")
    return parts
