"""Slices of an archive as the search index takes them in: rows read from the highest id down, made into entries."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from typing import Any, NamedTuple

from sessionlog.ask.search import index
from sessionlog.ask.search.index import Row
from sessionlog.ask.search.query import FIELDS, segment
from sessionlog.ask.search.waiting import Span
from sessionlog.transcripts.stored_lines import Lines

# A row of the index: its key, the id of the event or message, and its texts and tags as FTS5 gets them.
Entry = tuple[Any, ...]

KNOWN_SESSIONS = 200  # whose prompts and answers are kept in memory

# What documents are made of. The long columns are the last ones.
_EVENTS = (
    *("id", "at", "session_id", "event", "tool_name", "action", "outcome", "file_path", "description"),
    *("agent_id", "agent_type", *index.LONG_IN_EVENTS),
)
_MESSAGES = (
    *("id", "at", "session_id", "kind", "role", "tool_name", "action", "outcome", "agent_id"),
    *index.LONG_IN_MESSAGES,
)


class Slice(NamedTuple):
    """The entries of a span. Long rows end it early: then it starts later than what was asked for."""

    span: Span
    entries: list[Entry]


class Reader:
    """Reads slices with a connection to the archive."""

    def __init__(self, archive: sqlite3.Connection) -> None:
        self._archive = archive
        self._lines = Lines(archive)
        self._known = _Known(archive)

    def read(self, span: Span) -> Slice:
        """The entries of a span, or of its upper part."""
        if span.table == "events":
            rows, low = self._rows(span, _EVENTS, index.EVENT_IS_KNOWN, len(index.LONG_IN_EVENTS))
            entries = _entries((row for row in rows if not row["known"]), index.document_of_event)
        else:
            rows, low = self._rows(span, _MESSAGES, index.MESSAGE_IS_KNOWN, len(index.LONG_IN_MESSAGES))
            unknown = (index.whole(row, self._lines) for row in rows if not self._known.has(row))
            entries = _entries(unknown, index.document_of_message)
        # In the order of their keys: FTS5 writes out what it has gathered when a lesser one comes.
        return Slice(Span(span.table, low, span.high), sorted(entries))

    def _rows(self, span: Span, columns: tuple[str, ...], is_known: str, long: int) -> tuple[list[Row], int]:
        """The rows from the top, no more than fit into memory many times over, and down to which id they are all."""
        names = ("known", *columns)
        cursor = self._archive.cursor()
        cursor.row_factory = None  # the connection's own takes longer than the rest
        query = f"SELECT {is_known}, {', '.join(columns)} FROM {span.table} AS part WHERE id BETWEEN ? AND ?"
        rows: list[Row] = []
        length = 0
        with closing(cursor.execute(f"{query} ORDER BY id DESC", span[1:])):
            for values in cursor:
                rows.append(dict(zip(names, values, strict=True)))
                length += sum(map(len, filter(None, values[-long:])))
                if length > index.BATCH_LENGTH:
                    return rows, rows[-1]["id"]
        return rows, span.low


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
            if len(self.words) >= KNOWN_SESSIONS:
                self.words.clear()
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


def _entries(rows: Iterable[Row], make: Callable[[Row], index.Document | None]) -> Iterator[Entry]:
    for row in rows:
        document = make(row)
        if document and any(document.fields.values()):
            texts = [segment(text) for text in map(document.fields.__getitem__, FIELDS)]
            yield (index.key(row["at"], row["id"]), row["id"], *texts, "\n".join(("any", *document.tags)))


def write(file: sqlite3.Connection, made: Slice) -> None:
    """Put the entries of a slice into the index."""
    source = "event_id" if made.span.table == "events" else "message_id"
    insert = f"INSERT OR IGNORE INTO documents (key, {source}) VALUES (?, ?)"
    entries = made.entries
    file.execute("SAVEPOINT at_once")
    if file.executemany(insert, [entry[:2] for entry in entries]).rowcount < len(entries):
        file.execute("ROLLBACK TO at_once")
        entries = [_with_a_key_of_its_own(file, insert, entry) for entry in entries]
    file.execute("RELEASE at_once")
    file.executemany(
        f"INSERT INTO words (rowid, {', '.join(FIELDS)}, tags) VALUES (?, ?, ?, ?, ?, ?, ?)",
        [(entry[0], *entry[2:]) for entry in entries],
    )


def _with_a_key_of_its_own(file: sqlite3.Connection, insert: str, entry: Entry) -> Entry:
    key = entry[0]
    while not file.execute(insert, (key, entry[1])).rowcount:
        key += 1
    return (key, *entry[1:])
