"""Notes in the hash chain: what commands of sessionlog changed or removed, when, and who ran them.

A row keeps its hash when `redact` or `prune` changes it. The note holds the digest that the hash was made from, and the
digest of the row as it is now. So the chain does not change, and heads that were stored elsewhere stay valid.
"""

from __future__ import annotations

import getpass
import marshal
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sessionlog.archive import append
from sessionlog.fastlib import blake2b, utc_text

# The columns of a note that its hash covers, together with the note's rows in chain_changes.
NOTE = ("id", "at", "command", "user", "events", "session_id", "removed", "chain", "unchained_until", "format_1_until")

Change = tuple[int, "bytes | None", bytes]  # the event, the digest before and after

# --- Format 1: before schema 5, hashes cover a fixed list of columns, NULL or not, as `marshal` writes them -----------

_COLUMNS_1 = (
    *("id", "salt", "session_id", "event", "at", "via", "prompt_id", "agent_id", "agent_type", "permission_mode"),
    *("cwd", "transcript_path", "tool_name", "tool_use_id", "prompt", "message", "error", "last_assistant_message"),
    *("duration_ms", "file_path", "old_string", "new_string", "content", "command", "description", "tool_input"),
    *("tool_response", "extra", "envelope"),
)
_POSITIONS_1 = tuple(append.DIGESTED.index(column) for column in _COLUMNS_1)


def _digest_1(values: Iterable[object]) -> bytes:
    return blake2b(marshal.dumps(tuple(values), 2), digest_size=append.HASH_SIZE).digest()  # type: ignore[arg-type]


class Formats:
    """Which rows of an archive have hashes of which format."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        row = connection.execute("SELECT min(id), max(format_1_until) FROM chain_notes WHERE format_1_until").fetchone()
        self._first_note, self._last_event = row[0] or 0, row[1] or 0

    def digest(self, row: Sequence[Any]) -> bytes:
        """The digest of an event, given its columns in the order of `append.DIGESTED`, texts as bytes."""
        if row[_ID] <= self._last_event:
            return _digest_1(row[position] for position in _POSITIONS_1)
        return append.digest(row)

    def note_link(self, chain: str | bytes | None, note: Sequence[Any], changes: Iterable[Change]) -> str:
        """The hash of a note, given its columns in the order of `NOTE`, texts as bytes."""
        about_events = blake2b(digest_size=append.HASH_SIZE)
        if note[0] < self._first_note:
            for change in changes:
                about_events.update(_digest_1(change))
            return append.link(chain, _digest_1((*note[:-1], about_events.digest())))
        for event_id, before, after in changes:
            about_events.update(_digest(event_id=event_id, before=before, after=after))
        fields = dict(zip(NOTE, note, strict=True))
        return append.link(chain, _digest(**fields, changes=about_events.digest()))


_ID = append.DIGESTED.index("id")


def _digest(**fields: Any) -> bytes:
    names = sorted(fields)
    return append.digest([fields[name] for name in names], [name.encode() for name in names])


# --- Notes ------------------------------------------------------------------------------------------------------------

_BYTES = ", ".join(
    column if column in ("id", "duration_ms") else f"CAST({column} AS BLOB)" for column in append.DIGESTED
)
_SALT = append.DIGESTED.index("salt")


class Notebook:
    """Collects what a command does to events; `write` adds it as notes. Call `write` before each commit."""

    def __init__(self, connection: sqlite3.Connection, command: str) -> None:
        self._connection = connection
        self._command = command
        self._formats = Formats(connection)
        self._changes: list[Change] = []
        self._removed: dict[str, dict[int, str | None]] = {}

    @contextmanager
    def change(self, event_id: int) -> Iterator[None]:
        """A context in which one event is changed."""
        before = self._digest(event_id)
        yield
        # A new salt: with the old one and the old digest, the removed text could be guessed by trying.
        self._connection.execute("UPDATE events SET salt = ? WHERE id = ?", (append.new_salt(), event_id))
        after = self._digest(event_id)
        if after is not None:
            self._changes.append((event_id, before, after))

    def seal(self, event_id: int) -> None:
        """Record the current state of an event that is older than the chain."""
        with self.change(event_id):
            pass

    def remove(self, session_id: str, event_id: int) -> None:
        """Remove the oldest event of a session."""
        for (link,) in self._connection.execute("SELECT hash FROM events WHERE id = ?", (event_id,)).fetchall():
            self._connection.execute("DELETE FROM events WHERE id = ?", (event_id,))
            self._removed.setdefault(session_id, {})[event_id] = link

    def write(self) -> None:
        """Add notes about what was done since the last call."""
        if self._changes:
            _add_note(self._connection, self._command, len(self._changes), changes=self._changes)
        for session_id, links in self._removed.items():
            last = next((link for link in reversed(links.values()) if link), None)
            _add_note(self._connection, self._command, len(links), session_id, as_ranges(links), last)
        self._changes, self._removed = [], {}

    def _digest(self, event_id: int) -> bytes | None:
        """The digest of an event; None for one without a salt, whose content could be guessed from a digest."""
        row = self._connection.execute(f"SELECT {_BYTES} FROM events WHERE id = ?", (event_id,)).fetchone()
        return self._formats.digest(row) if row and row[_SALT] is not None else None


def note_upgrade(connection: sqlite3.Connection, version: int) -> None:
    """Note which events of an archive with this schema version have no hash, or one of format 1."""
    last, events = connection.execute("SELECT max(id), count(*) FROM events").fetchone()
    if events and version < 3:
        _add_note(connection, "upgrade", events, unchained_until=last)
    elif events and version < 5:
        _add_note(connection, "upgrade", events, format_1_until=last)


def note(connection: sqlite3.Connection, command: str, events: int, **fields: Any) -> None:
    """Add a note about events that this archive never had: those that were not pulled."""
    _add_note(connection, command, events, **fields)


def rechain_notes(connection: sqlite3.Connection, first: int) -> None:
    """Compute the hashes of the notes again, from this one on: `redact` has removed a secret from it."""
    row = connection.execute("SELECT hash FROM chain_notes WHERE id < ? ORDER BY id DESC LIMIT 1", (first,)).fetchone()
    _chain_notes(connection, first, row[0] if row else None)


def is_link(column: str, value: str) -> bool:
    """Whether this is a hash or a salt of the chain. It is no secret, even if it looks like one."""
    return column in ("hash", "salt", "chain", "head_hash", "last_note") and not value.strip("0123456789abcdef")


def as_ranges(ids: Iterable[int]) -> str:
    """Ids in ascending order as 3-7,9."""
    ranges: list[list[int]] = []
    for number in ids:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def from_ranges(text: str) -> list[tuple[int, int]]:
    """The first and last id of each range in such a text."""
    pairs = (part.partition("-") for part in text.split(","))
    return [(int(first), int(last or first)) for first, _, last in pairs]


def _add_note(
    connection: sqlite3.Connection,
    command: str,
    events: int,
    session_id: str | None = None,
    removed: str | None = None,
    chain: str | None = None,
    unchained_until: int | None = None,
    format_1_until: int | None = None,
    changes: Iterable[Change] = (),
) -> None:
    now = utc_text(time.time_ns() // 1_000_000)
    note = (now, command, _user(), events, session_id, removed, chain, unchained_until, format_1_until)
    done = connection.execute(
        f"INSERT INTO chain_notes ({', '.join(NOTE[1:])}, hash) VALUES ({'?, ' * len(note)}'')", note
    )
    note_id = done.lastrowid
    assert note_id is not None  # noqa: S101 (it was an INSERT)
    connection.executemany(
        "INSERT INTO chain_changes VALUES (?, ?, ?, ?)",
        # Two changes of a row in one transaction become one.
        [(note_id, *change) for change in _first_to_last(changes)],
    )
    # From the hash in `archive`, not that of the newest note in the table: a removed note would go unnoticed.
    _chain_notes(connection, note_id, connection.execute("SELECT max(last_note) FROM archive").fetchone()[0])


def _chain_notes(connection: sqlite3.Connection, first: int, link: str | None) -> None:
    formats = Formats(connection)
    query = f"SELECT {', '.join(NOTE)} FROM chain_notes WHERE id >= ? ORDER BY id"
    for note in connection.execute(query, (first,)).fetchall():
        changes = connection.execute(
            "SELECT event_id, before, after FROM chain_changes WHERE note_id = ? ORDER BY event_id", (note[0],)
        )
        link = formats.note_link(link, tuple(map(_stored, note)), changes)
        connection.execute("UPDATE chain_notes SET hash = ? WHERE id = ?", (link, note[0]))
    connection.execute("UPDATE archive SET last_note = ?", (link,))


def _first_to_last(changes: Iterable[Change]) -> list[Change]:
    found: dict[int, Change] = {}
    for event_id, before, after in changes:
        found[event_id] = (event_id, found[event_id][1] if event_id in found else before, after)
    return list(found.values())


def _stored(value: object) -> object:
    return value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value


def _user() -> str:
    try:
        return getpass.getuser().encode("utf-8", "replace").decode()
    except (KeyError, OSError, ImportError):
        return "unknown"
