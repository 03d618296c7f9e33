"""The notes in the chain: what was changed or removed by right, when and by whom.

A row keeps its hash when `redact` or `prune` changes it. The note remembers the digest on which that hash stands, and
the one that the row has now. So the chain stays what it was, and a head that somebody has written down is still good.
"""

from __future__ import annotations

import getpass
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from sessionlog import archive
from sessionlog.lean import blake2b, utc_text

# The columns of a note that its hash covers, together with what it says of single events.
NOTE = ("id", "at", "command", "user", "events", "session_id", "removed", "chain", "unchained_until")

Change = tuple[int, "bytes | None", bytes]  # the event, the digest before and after

_DIGESTED = f"id, CAST(salt AS BLOB), {archive.as_digested('')}"


class Notebook:
    """What a command does to events, written down in the transaction that does it: call `write` before each commit."""

    def __init__(self, connection: sqlite3.Connection, command: str) -> None:
        self._connection = connection
        self._command = command
        self._changes: list[Change] = []
        self._removed: dict[str, dict[int, str | None]] = {}

    @contextmanager
    def change(self, event_id: int) -> Iterator[None]:
        """Around whatever changes one event."""
        before = self._digest(event_id)
        yield
        # With the old salt, whoever has the old digest could try out what was there.
        self._connection.execute("UPDATE events SET salt = ? WHERE id = ?", (archive.new_salt(), event_id))
        after = self._digest(event_id)
        if after is not None:
            self._changes.append((event_id, before, after))

    def seal(self, event_id: int) -> None:
        """Vouch for an event that is older than the chain, as it is now."""
        with self.change(event_id):
            pass

    def remove(self, session_id: str, event_id: int) -> None:
        """Remove the oldest event of a session."""
        for (link,) in self._connection.execute("SELECT hash FROM events WHERE id = ?", (event_id,)).fetchall():
            self._connection.execute("DELETE FROM events WHERE id = ?", (event_id,))
            self._removed.setdefault(session_id, {})[event_id] = link

    def write(self) -> None:
        """Leave a note of what was done since the last one."""
        if self._changes:
            _add_note(self._connection, self._command, len(self._changes), changes=self._changes)
        for session_id, links in self._removed.items():
            last = next((link for link in reversed(links.values()) if link), None)
            _add_note(self._connection, self._command, len(links), session_id, as_ranges(links), last)
        self._changes, self._removed = [], {}

    def _digest(self, event_id: int) -> bytes | None:
        """The digest of an event; None for one that has never had one: without a salt, it could be guessed from."""
        row = self._connection.execute(f"SELECT {_DIGESTED} FROM events WHERE id = ?", (event_id,)).fetchone()
        return archive.digest(row) if row and row[1] is not None else None


def begin(connection: sqlite3.Connection) -> None:
    """The note of the migration: from here on, events have hashes."""
    last, events = connection.execute("SELECT max(id), count(*) FROM events").fetchone()
    if events:
        _add_note(connection, "migration", events, unchained_until=last)


def rechain_notes(connection: sqlite3.Connection, first: int) -> None:
    """Chain the notes anew from this one on: `redact` has taken a secret out of it."""
    row = connection.execute("SELECT hash FROM chain_notes WHERE id < ? ORDER BY id DESC LIMIT 1", (first,)).fetchone()
    _chain_notes(connection, first, row[0] if row else None)


def note_link(chain: str | bytes | None, note: tuple[object, ...], changes: Iterable[Change]) -> str:
    """The hash of a note, its texts as the bytes that SQLite holds."""
    about_events = blake2b(digest_size=archive.HASH_SIZE)
    for change in changes:
        about_events.update(archive.digest(tuple(change)))
    return archive.link(chain, archive.digest((*note, about_events.digest())))


def is_link(column: str, value: str) -> bool:
    """Whether this is a hash or a salt of the chain, which holds no secret, whatever it looks like."""
    return column in ("hash", "salt", "chain", "last_note") and not value.strip("0123456789abcdef")


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
    """And back: the first and last of each range."""
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
    changes: Iterable[Change] = (),
) -> None:
    now = utc_text(time.time_ns() // 1_000_000)
    note = (now, command, _user(), events, session_id, removed, chain, unchained_until)
    done = connection.execute(
        f"INSERT INTO chain_notes ({', '.join(NOTE[1:])}, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, '')", note
    )
    note_id = done.lastrowid
    assert note_id is not None  # noqa: S101 (it was an INSERT)
    connection.executemany(
        "INSERT INTO chain_changes VALUES (?, ?, ?, ?)",
        # A row that changed twice in one transaction has changed once.
        [(note_id, *change) for change in _first_to_last(changes)],
    )
    # Not on the newest that is there: one that was taken away would not be missed.
    _chain_notes(connection, note_id, connection.execute("SELECT max(last_note) FROM archive").fetchone()[0])


def _chain_notes(connection: sqlite3.Connection, first: int, link: str | None) -> None:
    query = f"SELECT {', '.join(NOTE)} FROM chain_notes WHERE id >= ? ORDER BY id"
    for note in connection.execute(query, (first,)).fetchall():
        changes = connection.execute(
            "SELECT event_id, before, after FROM chain_changes WHERE note_id = ? ORDER BY event_id", (note[0],)
        )
        link = note_link(link, tuple(map(_stored, note)), changes)
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
