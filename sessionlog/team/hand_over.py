"""Writes a colleague's session to where `claude --resume` finds it, with the paths of their project as mine."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from sessionlog.agents.claude_code import transcript_files
from sessionlog.archive import read
from sessionlog.archive.place import Place
from sessionlog.errors import SessionlogError
from sessionlog.fastlib import encode_json
from sessionlog.system import atomic
from sessionlog.system.files import read_regular
from sessionlog.transcripts import chunks, restore

# A model signs its thoughts: changed ones are refused by the API.
SIGNED = ("thinking", "redacted_thinking")


def hand_over(place: Place, session_id: str, theirs: str, mine: str, dry_run: bool = False) -> list[restore.Restored]:
    """Write the transcripts of a pulled session below my project's folder; a file that is there and differs stays."""
    folder = os.path.join(transcript_files.config_folder(), "projects", transcript_files.folder_name(mine))
    done = []
    with tempfile.TemporaryDirectory(prefix="sessionlog-") as draft, closing(read.connect(place)) as connection:
        try:
            files = restore.restore(connection, session_id, draft)
        except SessionlogError:
            raise SessionlogError(
                f"session {session_id} was shipped without its transcript (`ship --content all` sends it): "
                "it can be read, but not resumed"
            ) from None
        for file in files:
            _, *parts = os.path.relpath(file.path, draft).split(os.sep)
            if file.state == "restored" and parts:  # the history of prompts belongs to no project
                path = os.path.join(folder, *parts)
                content = b"".join(mapped(Path(file.path).read_bytes(), theirs, mine))
                done.append(file._replace(path=path, bytes=len(content), state=_write(path, content, dry_run)))
    return done


def _write(path: str, content: bytes, dry_run: bool) -> str:
    if os.path.lexists(path):
        try:
            return "there already" if read_regular(path, len(content) + 1) == content else "differs"
        except OSError:
            return "differs"
    if dry_run:
        return "to be restored"
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    atomic.write(path, [content], overwrite=False)
    return "restored"


def mapped(content: bytes, theirs: str, mine: str) -> Iterator[bytes]:
    path = re.compile(rf"(?<![\w./\\-]){re.escape(theirs.rstrip('/'))}(?=$|[^\w.-])")
    for line in content.splitlines(keepends=True):
        yield _line(line, path, mine)


def _line(line: bytes, path: re.Pattern[str], mine: str) -> bytes:
    try:
        entry = chunks.parse(line)
    except ValueError:
        return line
    changed = _replaced(entry, path, mine.rstrip("/"))
    return str(encode_json(changed)).encode("utf-8", "replace") + b"\n" if changed != entry else line


def _replaced(value: Any, path: re.Pattern[str], mine: str) -> Any:
    if isinstance(value, str):
        return path.sub(lambda _: mine, value)
    if isinstance(value, list):
        return [_replaced(item, path, mine) for item in value]
    if isinstance(value, dict):
        if value.get("type") in SIGNED:
            return value
        return {key: _replaced(item, path, mine) for key, item in value.items()}
    return value
