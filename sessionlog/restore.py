"""Transcripts of a session, written back to where Claude Code looks for them."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from typing import NamedTuple

from sessionlog import transcript_files as files
from sessionlog import transcript_store as store
from sessionlog.errors import SessionlogError
from sessionlog.locks import open_private

PART = 1 << 20


class Restored(NamedTuple):
    """A file, and what became of it: restored, there already, in the way."""

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
    folder = os.path.abspath(to) if to else os.path.join(files.config_folder(), "projects")
    done = [
        _restore(connection, row, os.path.join(folder, *_safe_parts(row["name"])), dry_run)
        for row in _rows(connection, session_id)
    ]
    if not done:
        raise SessionlogError(
            f"no transcript of session {session_id} is archived; `sessionlog import` archives those that still exist"
        )
    return done


def _rows(connection: sqlite3.Connection, session_id: str) -> Iterator[dict[str, object]]:
    """The newest generation of each file, by where it belongs: it may have been archived from two places."""
    columns = ("id", "name", "replacements")
    cursor = connection.cursor()
    cursor.row_factory = None
    rows = cursor.execute(
        "SELECT id, name, replacements FROM transcripts WHERE session_id = ? "
        "AND EXISTS (SELECT 1 FROM transcript_chunks WHERE transcript_id = transcripts.id) "  # one without was pruned
        "ORDER BY name, last_import_at, generation",
        (session_id,),
    )
    yield from {row[1]: dict(zip(columns, row, strict=True)) for row in rows}.values()


def _restore(connection: sqlite3.Connection, row: dict[str, object], path: str, dry_run: bool) -> Restored:
    content = list(store.content(connection, int(str(row["id"]))))
    size, replacements = sum(map(len, content)), int(str(row["replacements"]))
    if os.path.lexists(path):
        state = "there already" if _is_same(path, content) else "in the way"
    elif dry_run:
        state = "to be restored"
    else:
        _write(path, content)
        state = "restored"
    return Restored(path, size, replacements, state)


def _write(path: str, content: list[bytes]) -> None:
    """Under another name first: a file that is half there must never look like a transcript."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    draft = f"{path}.{os.urandom(4).hex()}.restoring"
    try:
        with open(open_private(draft, os.O_EXCL), "wb") as file:
            file.writelines(content)
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, path)  # fails where another file has appeared meanwhile
    finally:
        if os.path.exists(draft):
            os.unlink(draft)


def _is_same(path: str, content: list[bytes]) -> bool:
    try:
        with open(path, "rb") as file:
            return all(file.read(len(piece)) == piece for piece in content) and not file.read(1)
    except OSError:
        return False


def _safe_parts(name: str) -> list[str]:
    """The parts of a path that stays below the folder, whatever the archive says."""
    parts = [part for part in name.split("/") if part not in ("", ".", "..")]
    if not parts or len(parts) != len(name.split("/")):
        raise SessionlogError(f"the archive names a file {name!r}, which is no path below a folder")
    return parts
