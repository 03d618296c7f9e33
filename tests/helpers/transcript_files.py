"""Transcripts for tests: the recorded ones where Claude Code would keep them, and made-up lines."""

from __future__ import annotations

import itertools
import json
import shutil
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path
from typing import Any

from sessionlog.archive import place as projects
from tests.conftest import FIXTURES, rows

RECORDED = FIXTURES / "transcripts"
SESSION = "f0b8f9eb-e977-492a-9bcd-0e80389a7950"
COMPACTED = "c684744e-a70b-43ba-acd5-b60890faff61"
CLEARED = "248e5360-7118-408d-a715-7ff81a24821d"

_numbers = itertools.count()


def recorded(home: Path) -> Path:
    """The recorded transcripts as ~/.claude has them; returns the folder of their project."""
    config = home / ".claude"
    shutil.copytree(RECORDED / "-home-dev-shop", config / "projects" / "-home-dev-shop")
    shutil.copy(RECORDED / "history.jsonl", config / "history.jsonl")
    return config / "projects" / "-home-dev-shop"


def shop() -> projects.Place:
    """The archive that the recorded transcripts belong to."""
    return projects.place("/home/dev/shop")


def line(text: str = "hello", session_id: str = "s", type_: str = "user", **more: Any) -> bytes:
    """One entry of a transcript."""
    entry = {
        "type": type_,
        "uuid": f"uuid-{next(_numbers)}",
        "sessionId": session_id,
        "cwd": "/home/dev/shop",
        "timestamp": "2026-11-16T01:41:14.736Z",
        "message": {"role": type_, "content": text},
        **more,
    }
    return json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def answer(message_id: str, tokens: int, session_id: str = "s", **more: Any) -> bytes:
    """An answer of the API that has cost so many output tokens."""
    usage = {"input_tokens": 10, "output_tokens": tokens}
    block = [{"type": "text", "text": "Done."}]
    message = {"id": message_id, "role": "assistant", "model": "claude-opus-5-5", "content": block, "usage": usage}
    return line(session_id=session_id, type_="assistant", message=message, **more)


def transcript(home: Path, *lines: bytes, session_id: str = "s", folder: str = "-home-dev-shop") -> Path:
    """A transcript of these lines where Claude Code would keep it."""
    path = home / ".claude" / "projects" / folder / f"{session_id}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(lines))
    return path


def archived(place: projects.Place, path: Path, generation: int | None = None) -> bytes:
    """The bytes that the archive has of a file."""
    wanted = "AND generation = ?" if generation else "ORDER BY generation DESC LIMIT 1"
    parameters = (str(path), generation) if generation else (str(path),)
    (found,) = rows(place, f"SELECT id FROM transcripts WHERE file = ? {wanted}", *parameters)
    chunks = rows(place, "SELECT data FROM transcript_chunks WHERE transcript_id = ? ORDER BY sequence", found["id"])
    return b"".join(zlib.decompress(chunk["data"]) for chunk in chunks)


def everything(place: projects.Place) -> bytes:
    """All that the archive holds, decompressed: where a secret could hide."""
    with closing(sqlite3.connect(place.db)) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        values = [value for table in tables for row in connection.execute(f"SELECT * FROM {table}") for value in row]
        values += [zlib.decompress(data) for (data,) in connection.execute("SELECT data FROM transcript_chunks")]
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    texts = [value if isinstance(value, bytes) else str(value).encode() for value in values]
    return b"\0".join([*texts, Path(place.db).read_bytes()])
