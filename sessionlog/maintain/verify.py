"""Finds what was changed, removed or inserted in an archive by anything other than sessionlog."""

from __future__ import annotations

import os
import sqlite3
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from sessionlog.archive import append, chain, counters, read, schema_check
from sessionlog.archive.place import Place
from sessionlog.errors import SessionlogError
from sessionlog.fastlib import parse_json

Ranges = list[tuple[int, int]]
Last = tuple[int, tuple[bytes, ...]]  # an event, and the hashes that the next one may continue from, its own first
Progress = Callable[[int, int], None]

EVERY = 2000  # events between two reports of progress

# How many hashes of rows that fit nowhere are remembered. An event that continues from one of them, in another session,
# is not reported a second time.
STRAYS = 16

_EVENTS = f"SELECT {', '.join(append.DIGESTED)}, hash FROM events"
_ID_AT = append.DIGESTED.index("id")
_SESSION_AT = append.DIGESTED.index("session_id")


class Finding(NamedTuple):
    """A change that no command of sessionlog has made."""

    kind: str  # changed, removed or inserted
    what: str  # event 12, note 3, session, trigger x
    session_id: str | None
    text: str


class Note(NamedTuple):
    """What a command recorded about a change that it made."""

    id: int
    at: str
    command: str
    user: str
    events: int
    session_id: str | None
    removed: str | None


class Head(NamedTuple):
    """The newest event of a session, to be stored elsewhere and compared later."""

    archive: str
    session: str
    event: int
    hash: str


class Check:
    """One check of an archive. Run `findings` to its end; then the attributes hold what was counted."""

    def __init__(self, place: Place, session_ids: Iterable[str] = (), heads: Iterable[Head] = ()) -> None:
        self.place = place
        self.events = 0
        self.sessions: set[bytes] = set()
        self.found = 0
        self.unsealed = 0  # events that are older than the chain
        self.notes: list[Note] = []
        self.additions: list[str] = []  # views, indexes and tables of the user's own: no finding
        self._wanted = [session_id.encode() for session_id in session_ids]
        self.heads = [head for head in heads if head.archive == place.name]
        self._unchained_until = 0
        self._removed: list[tuple[int, int, int]] = []  # by sessionlog: first, last, note
        self._starts: dict[bytes, list[bytes]] = {}  # hashes from which the rest of a session may continue
        self._missing: Ranges = []
        self._claimed: set[int] = set()  # those of them that belong to a session that is there
        self._reported: set[str | None] = set()  # the sessions that have a finding
        self._last: dict[bytes, Last] = {}
        self._strays: deque[bytes] = deque(maxlen=STRAYS)

    def findings(self, progress: Progress = lambda done, total: None) -> Iterator[Finding]:
        """Everything that is wrong at this moment; hooks may write meanwhile."""
        try:
            with closing(_open(self.place)) as connection:
                for finding in self._all(connection, progress):
                    self.found += 1
                    self._reported.add(finding.session_id)
                    yield finding
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # a damaged message of SQLite's own
            raise SessionlogError(
                f"{self.place.db} cannot be read completely ({error}): the file is damaged. "
                f"`sqlite3 {self.place.db} .recover | sqlite3 recovered.db` saves what can be read"
            ) from error

    def _all(self, connection: sqlite3.Connection, progress: Progress) -> Iterator[Finding]:
        connection.execute("BEGIN")  # all queries see the same state of the archive
        yield from self._check_schema(connection)
        yield from self._check_notes(connection)
        last_event = _one(
            connection,
            "SELECT ifnull(max(id), 0) "
            "FROM (SELECT last_removed_id AS id FROM archive UNION ALL SELECT last_event_id FROM sessions)",
        )
        yield from self._check_ids(connection, last_event)
        yield from self._check_events(connection, lambda done: progress(done, last_event))
        yield from self._check_sessions(connection)
        if not self._wanted:
            yield from self._unclaimed()
        yield from self._check_counters(connection)
        yield from self._check_heads(connection)

    def _check_schema(self, connection: sqlite3.Connection) -> Iterator[Finding]:
        for how, thing, text, _, is_harmless in schema_check.differences(connection):
            if is_harmless:
                self.additions.append(str(thing))
            else:
                yield Finding(how, str(thing), None, text)

    def _check_notes(self, connection: sqlite3.Connection) -> Iterator[Finding]:
        self._formats = chain.Formats(connection)
        link: bytes | None = None
        for row in connection.execute(f"SELECT {', '.join(chain.NOTE)}, hash FROM chain_notes ORDER BY id").fetchall():
            note, stored = row[:-1], row[-1]
            changes = connection.execute(
                "SELECT event_id, before, after FROM chain_changes WHERE note_id = ? ORDER BY event_id", (note[0],)
            )
            right = self._formats.note_link(link, note, changes).encode()
            if right != stored:
                yield Finding(
                    "changed", f"note {note[0]}", None, "does not match its hash, or the note before it is missing"
                )
            link = stored
            texts: list[Any] = [_text(value) if isinstance(value, bytes) else value for value in note]
            self.notes.append(Note(*texts[: len(Note._fields)]))
            yield from self._read_note(note)
        if link != _one(connection, "SELECT max(last_note) FROM archive"):
            yield Finding("removed", "note", None, "the newest note is missing, or its hash was changed")
        for (note_id,) in connection.execute(
            "SELECT DISTINCT note_id FROM chain_changes WHERE note_id NOT IN (SELECT id FROM chain_notes)"
        ).fetchall():
            yield Finding("removed", f"note {note_id}", None, "missing, but its rows in chain_changes are there")
        self._removed.sort()

    def _read_note(self, note: tuple[Any, ...]) -> Iterator[Finding]:
        note_id, _, _, _, _, session_id, removed, link, unchained_until, _ = note
        try:
            self._unchained_until = max(self._unchained_until, unchained_until or 0)
            self._removed += [(*ends, note_id) for ends in chain.from_ranges(removed.decode())] if removed else []
            if link:
                self._starts.setdefault(session_id, []).append(_bytes(link))
        except (ValueError, TypeError, AttributeError):
            yield Finding("changed", f"note {note_id}", None, "does not say in a readable form what was removed")

    def _check_ids(self, connection: sqlite3.Connection, last_event: int) -> Iterator[Finding]:
        """Each id up to the last one has its event, or a note that says that it was removed."""
        self._missing = list(_less(_gaps(connection, last_event), self._removed))
        if self._wanted:
            return
        for event_id, session_id in connection.execute(
            "SELECT id, session_id FROM events "
            "WHERE id < 1 OR (id > ? AND session_id IN (SELECT session_id FROM sessions))",
            (last_event,),
        ).fetchall():
            yield Finding("inserted", f"event {event_id}", _text(session_id), "has an id that was never assigned")
        for first, last, note_id in self._removed:
            for event_id, session_id in connection.execute(
                "SELECT id, session_id FROM events WHERE id BETWEEN ? AND ?", (first, last)
            ).fetchall():
                text = f"is there, but note {note_id} says that it was removed"
                yield Finding("inserted", f"event {event_id}", _text(session_id), text)

    def _check_events(self, connection: sqlite3.Connection, progress: Callable[[int], None]) -> Iterator[Finding]:
        condition = f" WHERE session_id IN ({', '.join('?' * len(self._wanted))})" if self._wanted else ""
        rows = connection.execute(f"{_EVENTS}{condition} ORDER BY id", [_text(wanted) for wanted in self._wanted])
        changes = _changes(connection)
        changed, entries = next(changes)
        for row in rows:
            event_id, session_id, stored = row[_ID_AT], row[_SESSION_AT], row[-1]
            digest = self._formats.digest(row)
            self.events += 1
            if not self.events % EVERY:
                progress(event_id)
            while changed < event_id:
                changed, entries = next(changes)
            if changed == event_id:
                if entries[-1][1] != digest or any(a[1] != b[0] for a, b in pairwise(entries)):
                    yield self._changed(row, "does not match the last note about it")
                digest = entries[0][0] or digest
            last = self._last.get(session_id)
            if stored is None:
                self.sessions.add(session_id)
                if event_id <= self._unchained_until:
                    self.unsealed += changed != event_id
                else:
                    yield Finding("inserted", f"event {event_id}", _text(session_id), "has no hash, or lost it")
                    before = self._before(session_id)
                    self._last[session_id] = (event_id, (*before, append.link(before[0], digest).encode()))
            elif last and append.link(last[1][0], digest).encode() == stored:
                self._last[session_id] = (event_id, (stored,))
            else:
                yield from self._follow(row, digest, last)

    def _follow(self, row: tuple[Any, ...], digest: bytes, last: Last | None) -> Iterator[Finding]:
        """An event that does not continue from the hash before it, or is the first of its session."""
        event_id, session_id, stored = row[_ID_AT], row[_SESSION_AT], _bytes(row[-1])
        self.sessions.add(session_id)
        before = self._before(session_id)
        if stored in (append.link(link, digest).encode() for link in (*before, *self._strays)):
            self._last[session_id] = (event_id, (stored,))
            return
        missing = self._claim(last[0] if last else 0, event_id)
        for ids in missing:
            after = f"does not follow event {last[0]}" if last else "is not the first"
            yield Finding("removed", _events(ids), _text(session_id), f"missing: event {event_id} {after}")
        if not missing:
            yield self._changed(row, "does not match its hash")
        # The hash may be wrong, or the rest of the row, or all of it. The next event may continue from any of these.
        self._last[session_id] = (event_id, (stored, append.link(before[0], digest).encode(), *before)[:4])
        self._strays.append(stored)

    def _check_sessions(self, connection: sqlite3.Connection) -> Iterator[Finding]:
        """Each session ends with the event that its row names."""
        heads = dict(connection.execute("SELECT session_id, head_hash FROM sessions").fetchall())
        for session_id in self._wanted or sorted(heads.keys() | self.sessions, key=str):
            last, head = self._last.get(session_id), heads.get(session_id) or b""
            if session_id not in heads:
                yield Finding("removed", "session", _text(session_id), "has events, but no row in `sessions`")
            elif head not in self._before(session_id) and head not in self._strays:
                missing = self._claim(last[0] if last else 0, 1 << 63)
                for ids in missing:
                    yield Finding("removed", _events(ids), _text(session_id), "missing at the end of the session")
                if not missing:
                    text = f"is not the hash of its last event, {last[0]}" if last else "is the hash of no event"
                    yield Finding("changed", "session", _text(session_id), f"`sessions.head_hash` {text}")

    def _check_counters(self, connection: sqlite3.Connection) -> Iterator[Finding]:
        """The counters of each session match its events. A session with a finding is left out: they follow from it."""
        reported = frozenset(self._reported)
        for wrong in counters.wrong(connection, [_text(wanted) for wanted in self._wanted]):
            if _text(wrong.session_id) not in reported:
                yield Finding("changed", "session", _text(wrong.session_id), str(wrong))

    def _unclaimed(self) -> Iterator[Finding]:
        for first, last in self._missing:
            if first not in self._claimed:
                yield Finding(
                    "removed", _events((first, last)), None, "missing; it belongs to no session that is there"
                )

    def _check_heads(self, connection: sqlite3.Connection) -> Iterator[Finding]:
        """The heads that were stored elsewhere are still in the archive."""
        wanted = {_text(session_id) for session_id in self._wanted}
        for head in self.heads:
            if wanted and head.session not in wanted:
                continue
            row = connection.execute("SELECT session_id, hash FROM events WHERE id = ?", (head.event,)).fetchone()
            if row is None and any(first <= head.event <= last for first, last, _ in self._removed):
                continue
            if row is None or (_text(row[0]), row[1]) != (head.session, head.hash.encode()):
                kind, text = ("removed", "is missing") if row is None else ("changed", "has another hash now")
                yield Finding(kind, f"event {head.event}", head.session, f"the stored head: the event {text}")

    def _before(self, session_id: bytes) -> tuple[bytes, ...]:
        """The hashes from which the next event of a session may continue; none after a prune of the whole session."""
        return self._last[session_id][1] if session_id in self._last else (b"", *self._starts.get(session_id, ()))

    def _changed(self, row: tuple[Any, ...], text: str) -> Finding:
        return Finding("changed", f"event {row[_ID_AT]}", _text(row[_SESSION_AT]), text)

    def _claim(self, after: int, before: int) -> Ranges:
        """The missing events between two events of a session: they may belong to it."""
        start = bisect_right(self._missing, (after, after))
        found = []
        for first, last in self._missing[start:]:
            if first >= before:
                break
            found.append((first, last))
        self._claimed.update(first for first, _ in found)
        return found


def heads(place: Place) -> list[Head]:
    """The newest event of each session."""
    with closing(_open(place)) as connection:
        rows = connection.execute(
            "SELECT session_id, max(id), hash FROM events WHERE hash IS NOT NULL GROUP BY session_id ORDER BY max(id)"
        ).fetchall()
    return [Head(place.name, _text(session_id), event_id, _text(link)) for session_id, event_id, link in rows]


def read_heads(path: str) -> list[Head]:
    """The heads in a file, as `verify --heads` prints them."""
    found = []
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            try:
                if line.strip():
                    head = Head(**parse_json(line.decode()))
                    found.append(Head(str(head.archive), str(head.session), int(head.event), str(head.hash)))
            except (ValueError, TypeError):
                raise SessionlogError(f"{path}, line {number}: not what `sessionlog verify --heads` prints") from None
    return found


def _open(place: Place) -> sqlite3.Connection:
    connection = read.connect(place)
    connection.row_factory = None
    connection.text_factory = bytes
    if _one(connection, "PRAGMA user_version") < append.SCHEMA_VERSION:
        connection.close()
        raise SessionlogError(f"{os.path.basename(place.db)} has an older schema and is busy; try again in a moment")
    return connection


def _changes(connection: sqlite3.Connection) -> Iterator[tuple[float, list[tuple[bytes, bytes]]]]:
    """The events that notes are about, each with its digests before and after; then an end mark above any id."""
    rows = connection.execute("SELECT event_id, before, after FROM chain_changes ORDER BY event_id, note_id")
    for event_id, entries in groupby(rows, key=lambda row: row[0]):
        yield event_id, [(_bytes(before), _bytes(after)) for _, before, after in entries]
    yield float("inf"), []


def _gaps(connection: sqlite3.Connection, last_event: int) -> Iterator[tuple[int, int]]:
    ends = connection.execute("SELECT (SELECT min(id) FROM events), (SELECT max(id) FROM events)").fetchone()
    if ends == (1, last_event) and _one(connection, "SELECT count(*) FROM events") == last_event:
        return  # no gap: true for most archives, and many times faster to find out
    expected = 1
    for (event_id,) in connection.execute("SELECT id FROM events WHERE id > 0 ORDER BY id"):
        if event_id != expected:
            yield expected, event_id - 1
        expected = event_id + 1
    if expected <= last_event:
        yield expected, last_event


def _less(gaps: Iterable[tuple[int, int]], removed: list[tuple[int, int, int]]) -> Iterator[tuple[int, int]]:
    """The gaps without the ids that sessionlog removed; both are sorted."""
    position = 0
    for first, last in gaps:
        while position < len(removed) and removed[position][1] < first:
            position += 1
        start = first
        for begin, end, _ in removed[position:]:
            if begin > last:
                break
            if begin > start:
                yield start, begin - 1
            start = max(start, end + 1)
        if start <= last:
            yield start, last


def _events(ids: tuple[int, int]) -> str:
    return f"event {ids[0]}" if ids[0] == ids[1] else f"events {ids[0]}-{ids[1]}"


def _text(value: Any) -> str:
    """A text of the archive; in a damaged file its bytes may be no UTF-8."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else b""


def _one(connection: sqlite3.Connection, query: str) -> Any:
    return connection.execute(query).fetchone()[0]
