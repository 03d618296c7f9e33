"""Transcripts of a session, written back to where Claude Code looks for them."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable
from typing import NamedTuple

from sessionlog.agents.claude_code import transcript_files
from sessionlog.errors import SessionlogError
from sessionlog.system import atomic
from sessionlog.system.files import open_regular
from sessionlog.transcripts import chunks, store


class Restored(NamedTuple):
    """A file, and what became of it: restored, there already, in the way, unreadable."""

    path: str
    bytes: int
    replacements: int
    state: str


def restore(
    connection: sqlite3.Connection, session_id: str, to: str | None = None, dry_run: bool = False
) -> list[Restored]:
    """Write back the newest version of every file of a session; one that is there and different is never touched.

    The files get the time of now: with the one they had, Claude Code would delete them again at its next start.
    """
    folder = os.path.abspath(to) if to else os.path.join(transcript_files.config_folder(), "projects")
    done = [
        _restore(connection, transcript_id, replacements, os.path.join(folder, *_safe_parts(name)), dry_run)
        for transcript_id, name, replacements in store.of_session(connection, session_id)
    ]
    if not done:
        raise SessionlogError(
            f"no transcript of session {session_id} is archived; `sessionlog import` archives those that still exist"
        )
    return done


def _restore(
    connection: sqlite3.Connection, transcript_id: int, replacements: int, path: str, dry_run: bool
) -> Restored:
    try:
        size = sum(map(len, store.content(connection, transcript_id)))
    except chunks.Unreadable:
        return Restored(path, 0, replacements, "unreadable")
    if os.path.lexists(path):
        state = "there already" if _is_same(path, store.content(connection, transcript_id)) else "in the way"
    elif dry_run:
        state = "to be restored"
    else:
        _write(path, store.content(connection, transcript_id))
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
