"""The search index of an archive: which words are in which event or message.

It is a file of its own beside the archive (see archive/sidecar.py).
"""

from __future__ import annotations

import os
import sqlite3
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any, NamedTuple

from sessionlog.agents.claude_code.tools import CALL_ENDS, CALL_START
from sessionlog.agents.claude_code.transcript_lines import EXCERPT
from sessionlog.archive import readonly, sidecar
from sessionlog.archive.place import Place
from sessionlog.ask.search.query import FIELDS, segment, tag
from sessionlog.times import moment
from sessionlog.transcripts.packed import load_orjson, parse
from sessionlog.transcripts.stored_lines import Lines

BATCH = 1000
BATCH_LENGTH = 4 << 20  # letters; a batch ends with the row that goes beyond
WORTH_A_POOL = 10_000  # rows; starting other processes takes longer than taking in fewer
ONE_MS = 1 << 20  # of a key: room for half a million things at once

Row = dict[str, Any]
Progress = Callable[[int, int], None]

_SCHEMA = f"""
CREATE TABLE progress (archive TEXT NOT NULL, event_id INTEGER NOT NULL, message_id INTEGER NOT NULL) STRICT;
-- The key grows with the time of its event: newest first is the order of the index, a time limit is a range of keys.
CREATE TABLE documents (key INTEGER PRIMARY KEY, event_id INTEGER, message_id INTEGER) STRICT;
CREATE VIRTUAL TABLE words USING fts5({", ".join(FIELDS)}, tags, content='', tokenize='unicode61 remove_diacritics 2');
"""

KIND = sidecar.Sidecar(".search", "WAL", {4: _SCHEMA}, "0, 0")

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
        newest = _newest(archive)  # what comes in meanwhile is for the next search: a busy archive has no end
        total = left = _waiting(index, newest)
        if total:
            load_orjson()
        if total and progress:
            progress(0, total)
        batches = _in_turn(archive, index) if total < WORTH_A_POOL else _with_workers(archive, index)
        with closing(batches):
            while left and next(batches):
                left = _waiting(index, newest)
                if progress:
                    progress(total - left, total)


@contextmanager
def brought_up_to_date(place: Place, archive: sqlite3.Connection, progress: Progress | None) -> Iterator[Place]:
    """The place of an index that knows all of the archive; on a disk that cannot be written, of a temporary copy."""
    try:
        catch_up(place, archive, progress)
    except (OSError, sqlite3.OperationalError):  # read-only or full
        import shutil
        from tempfile import TemporaryDirectory  # both take 5 ms, and nearly nobody needs them

        with TemporaryDirectory(prefix="sessionlog-search-") as folder:
            there = Place(place.home, place.project, os.path.join(folder, os.path.basename(place.db)))
            if not os.path.exists(f"{path_of(place)}-wal"):  # else the file alone may not be whole
                with suppress(OSError):
                    shutil.copyfile(path_of(place), path_of(there))
            catch_up(there, archive, progress)
            yield there
    else:
        yield place


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


def document_of_event(row: Row) -> Document | None:
    """What can be found of an event."""
    name, tool = row["event"], row["tool_name"]
    if name == "PermissionRequest":  # the call itself says the same
        return None
    answer = _json(row["tool_response"])
    inputs = _json(row["tool_input"])
    extra = None if tool else _json(row["extra"])  # beside a tool call it holds bookkeeping only
    if row["action"] == "write" and isinstance(answer, dict):
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
    tags = [tag("event", name), tag("role", role_of_event(name, tool)), tag("session", row["session_id"])]
    if tool:
        tags.append(tag("tool", tool))
    if row["action"]:
        tags.append(tag("action", row["action"]))
    if row["agent_id"]:
        tags.append(tag("agent", row["agent_id"]))
        tags.append(tag("agent", row["agent_type"] or ""))
    if row["outcome"] == "failed":
        tags.append("failed")
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
    tags = [tag("event", kind), tag("role", role_of_message(kind, row["role"])), tag("session", row["session_id"])]
    if row["tool_name"]:
        tags.append(tag("tool", row["tool_name"]))
    if row["action"]:
        tags.append(tag("action", row["action"]))
    if row["agent_id"]:
        tags.append(tag("agent", row["agent_id"]))
    if row["outcome"] == "failed":
        tags.append("failed")
    return Document(fields, tags)


def role_of_event(name: str, tool: str | None) -> str:
    """Who said or did it: user, assistant, tool or system."""
    roles = {"UserPromptSubmit": "user", "Stop": "assistant", "SubagentStop": "assistant"}
    return roles.get(name, "tool" if tool else "system")


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


class _Known:
    """What hooks said in the sessions whose messages are taken in: what both have is found once."""

    def __init__(self, archive: sqlite3.Connection) -> None:
        self.archive = archive
        self.words: dict[str, set[str]] = {}

    def has(self, row: Row) -> bool:
        """Whether an event, or for the history of prompts a message, says the same."""
        if row["known"]:
            return True
        if row["kind"] not in _SAID_TWICE or not row["text"]:
            return False
        session_id = row["session_id"]
        if session_id not in self.words:
            self.words[session_id] = {
                found["words"].strip()
                for found in self.archive.execute(_SAID_BY_HOOKS, {"session_id": session_id})
                if found["words"]
            }
        words = self.words[session_id]
        if row["kind"] == "history":
            query = "SELECT text FROM transcript_parts WHERE session_id = ? AND kind = 'prompt'"
            words = words | {part["text"] for part in self.archive.execute(query, (session_id,))}
        return row["text"].strip() in words


_SAID_TWICE = ("text", "prompt", "notification", "api_error", "history")
_SAID_BY_HOOKS = """
SELECT coalesce(prompt, last_assistant_message) AS words FROM events
WHERE session_id = :session_id AND +event IN ('UserPromptSubmit', 'Stop', 'SubagentStop', 'StopFailure')
"""


def _open(place: Place, archive: sqlite3.Connection) -> sqlite3.Connection:
    with KIND.lock(place):  # many searches may find that there is none
        return KIND.open(place, sidecar.identity(archive))


def _newest(archive: sqlite3.Connection) -> tuple[int, int]:
    """The newest event and the newest message."""
    row = archive.execute(
        "SELECT ifnull((SELECT max(id) FROM events), 0) AS event, "
        "ifnull((SELECT max(id) FROM transcript_parts), 0) AS message"
    ).fetchone()
    return row["event"], row["message"]


def _waiting(index: sqlite3.Connection, newest: tuple[int, int]) -> int:
    """About how many rows up to the newest are not in the index."""
    known = index.execute("SELECT event_id, message_id FROM progress").fetchone()
    return sum(max(0, there - here) for there, here in zip(newest, known, strict=True))


class _Batch(NamedTuple):
    """Rows of the archive that are not in the index yet."""

    start: tuple[int, int]  # the newest event and message before them
    end: tuple[int, int]
    events: list[Row]
    messages: list[Row]


class Entry(NamedTuple):
    """A row of the index: what it is of, and its texts and tags as FTS5 gets them."""

    key: int
    source: str
    row_id: int
    values: tuple[str, ...]


def _in_turn(archive: sqlite3.Connection, index: sqlite3.Connection) -> Generator[int, None, None]:
    """Take in batches one after the other; how many rows each has."""
    lines, known = Lines(archive), _Known(archive)
    while True:
        with _transaction(index):  # before we read: another search may be at it at the same time
            batch = _next_batch(archive, _progress(index), lines, known)
            _write(index, batch, entries(batch.events, batch.messages))
        yield len(batch.events) + len(batch.messages)


def _with_workers(archive: sqlite3.Connection, index: sqlite3.Connection) -> Generator[int, None, None]:
    """The same for many: other processes make entries of some rows while this one reads the next ones and writes."""
    from sessionlog.system import workers

    count = os.cpu_count() or 1
    lines, known = Lines(archive), _Known(archive)
    with workers.Pool(count, "sessionlog.ask.search.index_worker") as pool:
        waiting: deque[tuple[_Batch, Any]] = deque()
        while True:
            while len(waiting) <= count:
                start = waiting[-1][0].end if waiting else _progress(index)
                batch = _next_batch(archive, start, lines, known)
                waiting.append((batch, pool.submit((batch.events, batch.messages))))
            batch, future = waiting.popleft()
            made = future.result()
            with _transaction(index):
                if _progress(index) == batch.start:
                    _write(index, batch, made)
                else:  # another search was faster: go on where it is
                    waiting.clear()
            yield len(batch.events) + len(batch.messages)


@contextmanager
def _transaction(index: sqlite3.Connection) -> Iterator[None]:
    index.execute("BEGIN IMMEDIATE")
    try:
        yield
        index.execute("COMMIT")
    except BaseException:
        if index.in_transaction:
            index.execute("ROLLBACK")
        raise


def _progress(index: sqlite3.Connection) -> tuple[int, int]:
    event_id, message_id = index.execute("SELECT event_id, message_id FROM progress").fetchone()
    return event_id, message_id


def _next_batch(archive: sqlite3.Connection, start: tuple[int, int], lines: Lines, known: _Known) -> _Batch:
    events = first_rows(archive.execute(NEW_EVENTS, (start[0], BATCH)), LONG_IN_EVENTS)
    messages = first_rows(archive.execute(NEW_MESSAGES, (start[1], BATCH)), LONG_IN_MESSAGES)
    end = (events[-1]["id"] if events else start[0], messages[-1]["id"] if messages else start[1])
    unknown = [row for row in messages if not known.has(row)]
    return _Batch(start, end, [row for row in events if not row["known"]], [whole(row, lines) for row in unknown])


def entries(events: list[Row], messages: list[Row]) -> list[Entry]:
    """What the index takes in of these rows."""
    return sorted(
        (*_entries(events, document_of_event, "event_id"), *_entries(messages, document_of_message, "message_id"))
    )


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
NEW_EVENTS = f"""
SELECT *, (
    event = '{CALL_START}' AND EXISTS (
        SELECT 1 FROM events AS done
        WHERE done.tool_use_id = events.tool_use_id AND done.session_id = events.session_id
            AND done.event IN {CALL_ENDS}
    )
) AS known
FROM events WHERE id > ? ORDER BY id LIMIT ?
"""
NEW_MESSAGES = """
SELECT *, (
    (tool_use_id IS NOT NULL AND EXISTS (
        SELECT 1 FROM events WHERE events.tool_use_id = part.tool_use_id AND events.session_id = part.session_id
    )) OR (prompt_id IS NOT NULL AND EXISTS (
        SELECT 1 FROM events
        WHERE events.session_id = part.session_id AND +events.event = 'UserPromptSubmit'
            AND events.prompt_id = part.prompt_id
    ))
) AS known
FROM transcript_parts AS part WHERE id > ? ORDER BY id LIMIT ?
"""


def _entries(rows: list[Row], make: Callable[[Row], Document | None], source: str) -> Iterator[Entry]:
    for row in rows:
        document = make(row)
        if document and any(document.fields.values()):
            texts = [segment(document.fields[field]) for field in FIELDS]
            yield Entry(key(row["at"], row["id"]), source, row["id"], (*texts, "\n".join(("any", *document.tags))))


def _write(index: sqlite3.Connection, batch: _Batch, made: list[Entry]) -> None:
    insert = f"INSERT INTO words (rowid, {', '.join(FIELDS)}, tags) VALUES (?, ?, ?, ?, ?, ?, ?)"
    # In the order of their keys: FTS5 writes out what it has gathered when a lesser one comes.
    for wanted, source, row_id, values in made:
        key = wanted
        while not index.execute(
            f"INSERT OR IGNORE INTO documents (key, {source}) VALUES (?, ?)", (key, row_id)
        ).rowcount:
            key += 1
        index.execute(insert, (key, *values))
    index.execute("UPDATE progress SET event_id = ?, message_id = ?", batch.end)


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
    text = "\n".join([text for text in texts if text])
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
