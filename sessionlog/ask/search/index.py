"""The search index of an archive: which words are in which event or message.

It is a file of its own beside the archive (see archive/sidecar.py).
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import lru_cache
from typing import Any, NamedTuple

from sessionlog.agents.claude_code.tools import CALL_ENDS, CALL_START
from sessionlog.agents.claude_code.transcript_lines import EXCERPT
from sessionlog.archive import readonly, sidecar
from sessionlog.archive.place import Place
from sessionlog.ask.search.query import FIELDS, tag
from sessionlog.times import moment
from sessionlog.transcripts.packed import parse
from sessionlog.transcripts.stored_lines import Lines

BATCH_LENGTH = 8 << 20  # letters; a batch ends with the row that goes beyond
ONE_MS = 1 << 20  # of a key: room for half a million things at once

Row = dict[str, Any]

_SCHEMA = f"""
CREATE TABLE progress (archive TEXT NOT NULL, event_id INTEGER NOT NULL, message_id INTEGER NOT NULL) STRICT;
-- The key grows with the time of its event: newest first is the order of the index, a time limit is a range of keys.
CREATE TABLE documents (key INTEGER PRIMARY KEY, event_id INTEGER, message_id INTEGER) STRICT;
CREATE VIRTUAL TABLE words USING fts5({", ".join(FIELDS)}, tags, content='', tokenize='unicode61 remove_diacritics 2');
"""

# What of the archive is not in the index yet (see waiting.py). FTS5 gathers 16 MB before it writes instead of 1 MB, and
# merges eight pieces at a time instead of four: a third less work for the first index, and a smaller file.
_WAITING = """
CREATE TABLE waiting (source TEXT NOT NULL, low INTEGER NOT NULL, high INTEGER NOT NULL) STRICT;
INSERT INTO words (words, rank) VALUES ('hashsize', 16777216);
INSERT INTO words (words, rank) VALUES ('automerge', 8);
"""

KIND = sidecar.Sidecar(".search", "WAL", {4: _SCHEMA, 5: _WAITING}, "0, 0")

# What a tool's answer repeats of its question, and what no person wrote or reads.
_NOT_INDEXED = {"originalFile", "oldString", "newString", "structuredPatch", "base64", "original_file", "updated_file"}
_NOT_INDEXED |= {"agent_transcript_path", "background_tasks", "effort", "session_crons", "tool_calls"}


class Document(NamedTuple):
    """What the index takes in of one event or message."""

    fields: dict[str, str]
    tags: tuple[str, ...]


def path_of(place: Place) -> str:
    """Where the index of an archive is."""
    return KIND.path(place)


def open_for_writing(place: Place, archive: sqlite3.Connection) -> sqlite3.Connection:
    """The index of an archive, made if there is none."""
    with KIND.lock(place):  # many searches may find that there is none
        return KIND.open(place, sidecar.identity(archive))


def can_be_asked(place: Place, archive: sqlite3.Connection) -> bool:
    """Whether there is an index of this archive, even if new events are missing in it."""
    try:
        attach(place, archive)
    except sqlite3.Error:
        return False
    try:
        version = archive.execute("PRAGMA search.user_version").fetchone()["user_version"]
        known = archive.execute("SELECT archive FROM search.progress").fetchone()["archive"]
        return bool(version == KIND.version and known == sidecar.identity(archive))
    except (sqlite3.Error, TypeError):
        return False
    finally:
        archive.execute("DETACH search")


def attach(place: Place, archive: sqlite3.Connection) -> None:
    """Make the index a part of a read-only connection, under the name `search`."""
    archive.execute("ATTACH ? AS search", (readonly.uri(path_of(place)),))


# What the document of an event is made of, in the order of the parameters of `event_document`.
OF_EVENTS = (
    *("event", "tool_name", "session_id", "agent_id", "agent_type", "action", "outcome"),
    *("prompt", "last_assistant_message", "message", "extra", "command", "description", "tool_input", "file_path"),
    *("old_string", "new_string", "content", "error", "tool_response"),
)


def document_of_event(row: Row) -> Document | None:
    """What can be found of an event."""
    return event_document(*[row[name] for name in OF_EVENTS])


def event_document(
    name: str,
    tool: str | None,
    session_id: str,
    agent_id: str | None,
    agent_type: str | None,
    action: str | None,
    outcome: str | None,
    prompt: str | None,
    last_assistant_message: str | None,
    message: str | None,
    extra: str | None,
    command: str | None,
    description: str | None,
    tool_input: str | None,
    file_path: str | None,
    old_string: str | None,
    new_string: str | None,
    content: str | None,
    error: str | None,
    tool_response: str | None,
) -> Document | None:
    """As `document_of_event`, from values instead of a dict, which is faster."""
    if name == "PermissionRequest":  # the call itself says the same
        return None
    answer = _json(tool_response)
    if action == "write" and isinstance(answer, dict):
        answer = {key: value for key, value in answer.items() if key != "content"}
    inputs = _json(tool_input)
    paths = [file_path]
    if isinstance(inputs, dict):
        paths += [inputs.pop(key, None) for key in ("notebook_path", "path")]
    more = () if tool else _strings(_json(extra))  # beside a tool call it holds bookkeeping only
    fields = {
        "said": _joined(prompt, last_assistant_message, message, *more),
        "input": _joined(command, description, *_strings(inputs)),
        "path": _joined(*paths),
        "code": _joined(old_string, new_string, content),
        "output": _joined(error, *_strings(answer)),
    }
    agent = (agent_id, agent_type or "") if agent_id else ()
    tags = _tags(name, role_of_event(name, tool), session_id, tool, action, agent, outcome == "failed")
    return Document(fields, tags)


def document_of_message(row: Row) -> Document | None:
    """What can be found of a message."""
    kind = row["kind"]
    if kind in _NOT_SHOWN:
        return None
    fields = dict.fromkeys(FIELDS, "")
    if kind == "tool_use":
        fields |= _input_fields(_json(row["text"]) if "inputs" not in row else row["inputs"], row["text"])
    else:
        fields["output" if kind == "tool_result" else "said"] = row["text"] or ""
    if row["thinking"]:
        fields["said"] = _joined(fields["said"], row["thinking"])
    agent = (row["agent_id"],) if row["agent_id"] else ()
    role, failed = role_of_message(kind, row["role"]), row["outcome"] == "failed"
    return Document(fields, _tags(kind, role, row["session_id"], row["tool_name"], row["action"], agent, failed))


@lru_cache(4096)  # a session has few different ones
def _tags(
    name: str, role: str, session_id: str, tool: str | None, action: str | None, agent: tuple[str, ...], failed: bool
) -> tuple[str, ...]:
    tags = [tag("event", name), tag("role", role), tag("session", session_id)]
    if tool:
        tags.append(tag("tool", tool))
    if action:
        tags.append(tag("action", action))
    tags += [tag("agent", one) for one in agent]
    return (*tags, "failed") if failed else tuple(tags)


_ROLES = {"UserPromptSubmit": "user", "Stop": "assistant", "SubagentStop": "assistant"}


def role_of_event(name: str, tool: str | None) -> str:
    """Who said or did it: user, assistant, tool or system."""
    return _ROLES.get(name, "tool" if tool else "system")


def role_of_message(kind: str, role: str | None) -> str:
    """The same for a message; to the API, what a tool gives back comes from the user."""
    return "tool" if kind in ("tool_use", "tool_result") else role or "system"


def _input_fields(inputs: Any, text: str | None) -> dict[str, str]:
    """The fields of a tool's input, as those of an event: texts without keys; the raw text if it is not JSON."""
    if not isinstance(inputs, dict):
        return {"input": text or ""}
    rest = dict(inputs)
    found = {name: [rest.pop(key, None) for key in keys] for name, keys in _INPUTS.items()}
    fields = {name: _joined(*(value for value in values if isinstance(value, str))) for name, values in found.items()}
    fields["input"] = _joined(fields["input"], *_strings(rest))
    return fields


_INPUTS = {
    "input": ("command", "description"),
    "path": ("file_path", "notebook_path", "path"),
    "code": ("old_string", "new_string", "content", "new_source"),
}
# The queue of prompts: each appears again as a prompt when it is sent.
_NOT_SHOWN = ("queued", "queued_other", "dequeued", "unqueued")


def whole(row: Row, lines: Lines) -> Row:
    """A message with all of its text: of a tool's input and output, the table has only the beginning."""
    if row["kind"] in ("tool_use", "tool_result") and len(row["text"] or "") >= EXCERPT:
        block, _ = lines.block(row["id"])
        if block and row["kind"] == "tool_use":
            return {**row, "inputs": block.get("input")}
        if block:
            return {**row, "text": _joined(*_strings(block.get("content")))}
    return row


LONG_IN_EVENTS = (
    *("prompt", "last_assistant_message", "message", "command", "old_string", "new_string", "content", "error"),
    *("tool_input", "tool_response", "extra"),
)
LONG_IN_MESSAGES = ("text", "thinking")


def first_rows(cursor: sqlite3.Cursor, long: tuple[str, ...]) -> list[Row]:
    """The first rows: no more than fit into memory many times over."""
    rows: list[Row] = []
    length = 0
    with closing(cursor):
        for row in cursor:
            rows.append(row)
            length += sum(len(row[name]) for name in long if row[name])
            if length > BATCH_LENGTH:
                break
    return rows


# A call that has ended is found by its end. What hooks and transcript both know is found once, as the hook's event.
# The unary plus keeps SQLite on the index of the session: all prompts of the archive are many more.
EVENT_IS_KNOWN = f"""(
    event = '{CALL_START}' AND EXISTS (
        SELECT 1 FROM events AS done
        WHERE done.tool_use_id = part.tool_use_id AND done.session_id = part.session_id
            AND done.event IN {CALL_ENDS}
    )
)"""
MESSAGE_IS_KNOWN = """(
    (tool_use_id IS NOT NULL AND EXISTS (
        SELECT 1 FROM events WHERE events.tool_use_id = part.tool_use_id AND events.session_id = part.session_id
    )) OR (prompt_id IS NOT NULL AND EXISTS (
        SELECT 1 FROM events
        WHERE events.session_id = part.session_id AND +events.event = 'UserPromptSubmit'
            AND events.prompt_id = part.prompt_id
    ))
)"""
NEW_EVENTS = f"SELECT *, {EVENT_IS_KNOWN} AS known FROM events AS part WHERE id > ? ORDER BY id LIMIT ?"
NEW_MESSAGES = f"SELECT *, {MESSAGE_IS_KNOWN} AS known FROM transcript_parts AS part WHERE id > ? ORDER BY id LIMIT ?"


def key(at: str | None, row_id: int) -> int:
    """Where in the order of time an event or message stands."""
    return (key_of_time(at) if at else 0) + (row_id & 0x7FFFF)


def key_of_time(at: str) -> int:
    """The first key of a moment: milliseconds since 1970, and room behind them."""
    try:
        milliseconds = round(moment(at).timestamp() * 1000)
        return max(-(2**42), min(milliseconds, 2**42)) * ONE_MS  # a clock may be wrong by more than SQLite can count
    except (ValueError, OverflowError):
        return 0


def _json(text: str | None) -> Any:
    try:
        return parse(text.encode()) if text else None
    except (ValueError, RecursionError):
        return None


def _strings(value: Any) -> list[str]:
    """All texts inside a JSON value, in their order."""
    found: list[str] = []
    if not value:
        return found
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            found.append(item)
        elif isinstance(item, list):
            stack += reversed(item)
        elif isinstance(item, dict):
            stack += [child for key, child in reversed(item.items()) if child and key not in _NOT_INDEXED]
    return found


def _joined(*texts: str | None) -> str:
    return "\n".join(filter(None, texts))
