"""The versions of a file in the archive, read at several times or places, or merged: which one is the fullest?"""

from __future__ import annotations

import re
import sqlite3
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from sessionlog.agents.claude_code import transcript_files
from sessionlog.transcripts import chunks, store

_UUID = re.compile(rb'"uuid"\s*:\s*"([^"]{1,100})"')


class Version(NamedTuple):
    """One version of a file, as the archive has it."""

    id: int
    name: str
    kind: str
    replacements: int
    file_mtime_ns: int
    last_import_at: str
    generation: int


class File(NamedTuple):
    """A file of a session: its versions, the fullest first, and how many lines of the others the first one lacks."""

    name: str
    versions: list[Version]
    lacks: int


_OF_SESSION = f"""
SELECT {", ".join(Version._fields)} FROM transcripts
WHERE session_id = ? AND EXISTS (
    SELECT 1 FROM transcript_chunks WHERE transcript_id = transcripts.id AND length(data) > {len(store.PRUNED)}
)
ORDER BY name, id
"""
# A file that was renamed holds lines of another session than its name says.
_WITH_LINES_OF = _OF_SESSION.replace(
    "session_id = ?", "id IN (SELECT transcript_id FROM transcript_parts WHERE session_id = ? AND type <> 'history')"
)


def of_session(connection: sqlite3.Connection, session_id: str) -> list[File]:
    """The files of a session; if it has none, those that hold lines of it."""
    cursor = connection.cursor()
    cursor.row_factory = None
    rows: list[Version] = []
    for query in (_OF_SESSION, _WITH_LINES_OF):
        rows = rows or [Version(*row) for row in cursor.execute(query, (session_id,))]
    by_name: dict[str, list[Version]] = {}
    for version in rows:
        by_name.setdefault(version.name, []).append(version)
    return [_ranked(connection, name, versions) for name, versions in by_name.items()]


def _ranked(connection: sqlite3.Connection, name: str, versions: list[Version]) -> File:
    if len(versions) == 1:
        return File(name, versions, 0)
    if versions[0].kind not in transcript_files.LINE_KINDS:
        return File(name, sorted(versions, key=lambda version: _age(connection, version), reverse=True), 0)
    lines = {version.id: _lines(connection, version.id) for version in versions}

    def fullness(version: Version) -> tuple[int, int, str, int]:
        found = lines[version.id]
        return len(found), sum(found.values()), version.last_import_at, version.generation

    versions = sorted(versions, key=fullness, reverse=True)
    everywhere = set().union(*lines.values())
    return File(name, versions, len(everywhere - lines[versions[0].id].keys()))


def _age(connection: sqlite3.Connection, version: Version) -> tuple[int, int, str]:
    """A small file is rewritten as a whole, so its newest version counts; a tool's output is written once."""
    is_output = version.kind == transcript_files.TOOL_RESULT
    size = sum(_lines(connection, version.id).values()) if is_output else 0
    return size, version.file_mtime_ns, version.last_import_at


def _lines(connection: sqlite3.Connection, transcript_id: int) -> dict[bytes, int]:
    """The lines of a version with their lengths, each known by its uuid, as secrets may be replaced in one of two."""
    found: dict[bytes, int] = {}
    for line in _all_lines(connection, transcript_id):
        if line and not line.isspace():
            uuid = _UUID.search(line)
            found[uuid[1] if uuid else chunks.hash_of(line)] = len(line)
    return found


def _all_lines(connection: sqlite3.Connection, transcript_id: int) -> Iterator[bytes]:
    try:
        for piece in store.content(connection, transcript_id):
            yield from piece.split(b"\n")
    except (chunks.Unreadable, zlib.error):
        pass  # what can be read counts
