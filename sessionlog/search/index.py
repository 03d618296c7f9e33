"""The search index of an archive: which words are in which event or message.

It is a file of its own beside the archive (see derived.py).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from sessionlog import derived
from sessionlog.projects import Place
from sessionlog.search.words import segment, tag
from sessionlog.transcripts.entries import EXCERPT
from sessionlog.transcripts.lines import Lines
from sessionlog.when import moment

BATCH = 1000

Row = dict[str, Any]
Progress = Callable[[int, int], None]

# What can be asked for by itself, and weighs the more the further to the left.
FIELDS = ("said", "input", "path", "code", "output")

_SCHEMA = f"""
CREATE TABLE progress (archive TEXT NOT NULL, event_id INTEGER NOT NULL, message_id INTEGER NOT NULL) STRICT;
-- The key grows with the time of what it stands for: newest first is the order of the index, a time limit a range.
CREATE TABLE documents (key INTEGER PRIMARY KEY, event_id INTEGER, message_id INTEGER) STRICT;
CREATE VIRTUAL TABLE words USING fts5({", ".join(FIELDS)}, tags, content='', tokenize='unicode61 remove_diacritics 2');
"""

KIND = derived.Kind(".search", 1, "WAL", _SCHEMA, "0, 0")

# What a tool's answer repeats of its question, and what no person wrote or reads.
_NOT_INDEXED = {"originalFile", "oldString", "newString", "structuredPatch", "base64", "original_file", "updated_file"}
_NOT_INDEXED |= {"agent_transcript_path", "background_tasks", "effort", "session_crons", "tool_calls"}


class Document(NamedTuple):
    """What the index takes in of one event or message."""

    fields: dict[str, str]
    tags: list[str]


def path_of(place: Place) -> str:
    """Where the index of an archive is."""
    return KIND.path(place)


def catch_up(place: Place, archive: sqlite3.Connection, progress: Progress | None = None) -> None:
    """Take in what is new in the archive since the last time."""
    with closing(_open(place, archive)) as index:
        total = _waiting(archive, index)
        done = 0
        lines = Lines(archive)
        while total:
            count = _take_in_batch(archive, index, lines)
            if not count:
                break
            done += count
            if progress:
                progress(min(done, total), total)


def attach(place: Place, archive: sqlite3.Connection) -> None:
    """Make the index a part of a read-only connection, under the name `search`."""
    archive.execute("ATTACH ? AS search", (f"{Path(path_of(place)).absolute().as_uri()}?mode=ro",))


def document_of_event(row: Row) -> Document | None:
    """What can be found of an event."""
    name, tool = row["event"], row["tool_name"]
    if name == "PermissionRequest":  # the call itself says the same
        return None
    answer = _json(row["tool_response"])
    inputs = _json(row["tool_input"])
    extra = None if tool else _json(row["extra"])  # beside a tool call it holds bookkeeping only
    if tool == "Write" and isinstance(answer, dict):
        answer = {key: value for key, value in answer.items() if key != "content"}
    paths = [row["file_path"]]
    if isinstance(inputs, dict):
        paths += [inputs.pop(key, None) for key in ("notebook_path", "path")]
    fields = {
        "said": _joined(row["prompt"], row["last_assistant_message"], row["message"], *_strings(extra)),
        "input": _joined(row["command"], row["description"], *_strings(inputs)),
        "path": _joined(*paths),
        "code": _joined(row["old_string"], row["new_string"], row["content"]),
        "output": _joined(row["error"], *_strings(answer)),
    }
    role = {"UserPromptSubmit": "user", "Stop": "assistant", "SubagentStop": "assistant"}.get(
        name, "tool" if tool else "system"
    )
    tags = [tag("event", name), tag("role", role), tag("session", row["session_id"])]
    if tool:
        tags.append(tag("tool", tool))
    if row["agent_id"]:
        tags.append(tag("agent", row["agent_id"]))
        tags.append(tag("agent", row["agent_type"] or ""))
    if name in ("PostToolUseFailure", "StopFailure", "PermissionDenied"):
        tags.append("failed")
    return Document(fields, tags)


def document_of_message(row: Row) -> Document | None:
    """What can be found of a message."""
    text = row["text"] or ""
    kind = row["kind"]
    place = {"tool_use": "input", "tool_result": "output"}.get(kind, "said")
    fields = dict.fromkeys(FIELDS, "")
    fields[place] = text
    if row["thinking"]:
        fields["said"] = _joined(fields["said"], row["thinking"])
    tags = [tag("event", kind), tag("role", row["role"] or "system"), tag("session", row["session_id"])]
    if row["tool_name"]:
        tags.append(tag("tool", row["tool_name"]))
    if row["agent_id"]:
        tags.append(tag("agent", row["agent_id"]))
    if row["is_error"]:
        tags.append("failed")
    return Document(fields, tags)


def whole(row: Row, lines: Lines) -> Row:
    """A message with all of its text: of a tool's input and output, the table has only the beginning."""
    if row["kind"] in ("tool_use", "tool_result") and len(row["text"] or "") >= EXCERPT:
        block, _ = lines.block(row["id"])
        if block:
            return {**row, "text": _joined(*_strings(block.get("input") or block.get("content")))}
    return row


def _open(place: Place, archive: sqlite3.Connection) -> sqlite3.Connection:
    with KIND.lock(place):  # many searches may find that there is none
        return KIND.open(place, derived.identity(archive))


def _waiting(archive: sqlite3.Connection, index: sqlite3.Connection) -> int:
    """About how many rows are new."""
    event_id, message_id = index.execute("SELECT event_id, message_id FROM progress").fetchone()
    new = 0
    for table, known in (("events", event_id), ("messages", message_id)):
        newest: int = archive.execute(f"SELECT ifnull(max(id), 0) AS id FROM {table}").fetchone()["id"]
        new += max(0, newest - known)
    return new


def _take_in_batch(archive: sqlite3.Connection, index: sqlite3.Connection, lines: Lines) -> int:
    """One transaction: the rows and how far we are. Another search may be at it at the same time."""
    index.execute("BEGIN IMMEDIATE")
    try:
        event_id, message_id = index.execute("SELECT event_id, message_id FROM progress").fetchone()
        events = archive.execute(_NEW_EVENTS, (event_id, BATCH)).fetchall()
        messages = archive.execute(_NEW_MESSAGES, (message_id, BATCH)).fetchall()
        whole_messages = (row if row["known"] else whole(row, lines) for row in messages)
        _insert(index, _documents(events, document_of_event, "event_id"))
        _insert(index, _documents(whole_messages, document_of_message, "message_id"))
        event_id = events[-1]["id"] if events else event_id
        message_id = messages[-1]["id"] if messages else message_id
        index.execute("UPDATE progress SET event_id = ?, message_id = ?", (event_id, message_id))
        index.execute("COMMIT")
    except BaseException:
        if index.in_transaction:
            index.execute("ROLLBACK")
        raise
    return len(events) + len(messages)


# A call that has ended is found by its end. What hooks and transcript both know is found once, as the hook's event.
_NEW_EVENTS = """
SELECT *, (
    event = 'PreToolUse' AND EXISTS (
        SELECT 1 FROM events AS done
        WHERE done.tool_use_id = events.tool_use_id AND done.session_id = events.session_id
            AND done.event IN ('PostToolUse', 'PostToolUseFailure')
    )
) AS known
FROM events WHERE id > ? ORDER BY id LIMIT ?
"""
_NEW_MESSAGES = """
SELECT *, (
    (tool_use_id IS NOT NULL AND EXISTS (
        SELECT 1 FROM events WHERE events.tool_use_id = messages.tool_use_id AND events.session_id = messages.session_id
    )) OR (prompt_id IS NOT NULL AND EXISTS (
        SELECT 1 FROM events
        WHERE events.session_id = messages.session_id AND events.event = 'UserPromptSubmit'
            AND events.prompt_id = messages.prompt_id
    ))
) AS known
FROM messages WHERE id > ? ORDER BY id LIMIT ?
"""


def _documents(
    rows: Iterable[Row], make: Callable[[Row], Document | None], source: str
) -> Iterator[tuple[int, str, int, Document]]:
    for row in rows:
        document = None if row["known"] else make(row)
        if document and any(document.fields.values()):
            yield _key(row["at"], row["id"]), source, row["id"], document


def _insert(index: sqlite3.Connection, documents: Iterable[tuple[int, str, int, Document]]) -> None:
    columns = ", ".join(FIELDS)
    for wanted, source, row_id, document in documents:
        key = wanted
        while index.execute("SELECT 1 FROM documents WHERE key = ?", (key,)).fetchone():
            key += 1
        index.execute(f"INSERT INTO documents (key, {source}) VALUES (?, ?)", (key, row_id))
        values = [segment(document.fields[field]) for field in FIELDS]
        index.execute(
            f"INSERT INTO words (rowid, {columns}, tags) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (key, *values, "\n".join(("any", *document.tags))),
        )


def _key(at: str | None, row_id: int) -> int:
    return (key_of_time(at) if at else 0) + (row_id & 0x7FFFF)


def key_of_time(at: str) -> int:
    """The first key of a moment: milliseconds since 1970, with room for half a million things at once."""
    try:
        return int(moment(at).timestamp() * 1000) << 20
    except (ValueError, OverflowError):
        return 0


def _json(text: str | None) -> Any:
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None


def _strings(value: Any) -> Iterator[str]:
    """All texts inside a JSON value, in their order."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, list):
            stack += reversed(item)
        elif isinstance(item, dict):
            stack += [child for key, child in reversed(item.items()) if key not in _NOT_INDEXED]


def _joined(*texts: str | None) -> str:
    return "\n".join(text for text in texts if text).encode("utf-8", "replace").decode()
