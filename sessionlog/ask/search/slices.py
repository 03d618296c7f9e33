"""Slices of an archive as the search index takes them in: rows read from the highest id down, made into entries."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import lru_cache
from typing import Any, NamedTuple

from sessionlog.ask.search import index
from sessionlog.ask.search.index import Row
from sessionlog.ask.search.query import FIELDS, segmented
from sessionlog.ask.search.waiting import Span
from sessionlog.transcripts.stored_lines import Lines

# A row of the index: its key, the id of the event or message, and its texts and tags as FTS5 gets them.
Entry = tuple[Any, ...]
Values = tuple[Any, ...]  # of a row of the archive
_Made = tuple[int, int, index.Document]  # the same before its texts are segmented

LENGTH = 4 << 20  # letters; a slice ends with the entry that goes beyond
SEGMENTED = 1 << 16  # letters at a time: enough that short texts cost little, and few enough for the processor's cache
KNOWN_SESSIONS = 200  # whose prompts and answers are kept in memory

# What documents are made of.
_EVENTS = ("id", "at", *index.OF_EVENTS)
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
            rows = self._rows(span, _EVENTS, index.EVENT_IS_KNOWN)
            entries, low = _entries(_documents(rows, lambda values: index.event_document(*values[2:])))
        else:
            rows = self._rows(span, _MESSAGES, index.MESSAGE_IS_KNOWN)
            entries, low = _entries(_documents(rows, self._document_of_message))
        # In the order of their keys: FTS5 writes out what it has gathered when a lesser one comes.
        return Slice(Span(span.table, span.low if low is None else low, span.high), sorted(entries))

    def _rows(self, span: Span, columns: tuple[str, ...], is_known: str) -> Iterator[Values]:
        """The rows that are found by nothing else, from the top: id, time and the other columns."""
        cursor = self._archive.cursor()
        cursor.row_factory = None  # the connection's own takes longer than the rest
        # Upwards first: a disk is read ahead in that direction only, and the rows are then in memory.
        cursor.execute(f"SELECT count(*) FROM {span.table} NOT INDEXED WHERE id BETWEEN ? AND ?", span[1:]).fetchone()
        query = f"SELECT {', '.join(columns)} FROM {span.table} AS part WHERE id BETWEEN ? AND ? AND NOT {is_known}"
        with closing(cursor.execute(f"{query} ORDER BY id DESC", span[1:])):
            yield from cursor

    def _document_of_message(self, values: Values) -> index.Document | None:
        row = dict(zip(_MESSAGES, values, strict=True))
        return None if self._known.has(row) else index.document_of_message(index.whole(row, self._lines))


class _Known:
    """What hooks said in the sessions whose messages are taken in: what both have is found once."""

    def __init__(self, archive: sqlite3.Connection) -> None:
        self.archive = archive
        self.words: dict[str, set[str]] = {}

    def has(self, row: Row) -> bool:
        """Whether an event, or for the history of prompts a message, says the same."""
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


def _documents(rows: Iterator[Values], make: Callable[[Values], index.Document | None]) -> Iterator[_Made]:
    for values in rows:
        document = make(values)
        if document and any(document.fields.values()):
            yield index.key(values[1], values[0]), values[0], document


def _entries(documents: Iterator[_Made]) -> tuple[list[Entry], int | None]:
    """The entries, no more than fit into memory many times over, and the id of the last one if that ends a slice."""
    entries: list[Entry] = []
    length = 0
    for made in _pieces(documents):
        texts = segmented([text for _, _, document in made for text in document.fields.values()])
        fields = zip(*[iter(texts)] * len(FIELDS), strict=True)
        for (key, row_id, document), own in zip(made, fields, strict=True):
            entries.append((key, row_id, *own, _text_of(document.tags)))
        length += sum(map(len, texts))
        if length > LENGTH:
            return entries, made[-1][1]
    return entries, None


@lru_cache(4096)  # a session has few different ones
def _text_of(tags: tuple[str, ...]) -> str:
    return "\n".join(("any", *tags))


def _pieces(documents: Iterator[_Made]) -> Iterator[list[_Made]]:
    piece: list[_Made] = []
    length = 0
    for made in documents:
        piece.append(made)
        length += sum(map(len, made[2].fields.values()))
        if length > SEGMENTED:
            yield piece
            piece, length = [], 0
    if piece:
        yield piece


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
