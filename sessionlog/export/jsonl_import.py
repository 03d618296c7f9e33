"""Events that `sessionlog export` wrote as JSON lines, brought back: each to the archive of its project.

A line that the archive would write itself is there already, and is not even parsed. Of others, two processes or more
parse and clean some hundred at a time; this one writes them.
"""

from __future__ import annotations

import os
import re
import sqlite3
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple
from zlib import crc32

from sessionlog.archive import append, bulk, whose
from sessionlog.archive import place as projects
from sessionlog.archive.event import COLUMNS
from sessionlog.errors import SessionlogError
from sessionlog.export import jsonl
from sessionlog.export.jsonl_records import LONGEST_LINE, Events, events
from sessionlog.fastlib import parse_json
from sessionlog.redact.rules import Rules
from sessionlog.system.files import open_regular
from sessionlog.transcripts import pruned
from sessionlog.transcripts.chunks import Skip
from sessionlog.transcripts.importer import Summary

if TYPE_CHECKING:
    from concurrent.futures import Future

SKIPPED = 1 << 20  # bytes of a longer line that are passed over at once: much memory at once takes long to get

# Bytes of lines that a process parses at once.
BLOCK = 256 << 10

# Starting other processes takes longer than reading this much.
WORTH_A_POOL = 4 << 20

# Events of one transaction: hooks that write to the same archive wait no longer than this takes.
BATCH = 1000

_SESSION_ID, _AT, _RESPONSE = map(COLUMNS.index, ("session_id", "at", "tool_response"))


def is_export(path: str) -> bool:
    """Whether the file is one of ours."""
    try:
        with open(open_regular(path), "rb") as file:
            first = next((line for line in iter(lambda: file.readline(LONGEST_LINE), b"") if line.strip()), b"")
        value = parse_json(first.decode("utf-8", "replace")) if b'"sessionlog"' in first else None
    except (OSError, ValueError):
        return False
    about = value.get("sessionlog") if isinstance(value, dict) else None
    return isinstance(about, dict) and "version" in about


def run(path: str, summary: Summary, dry_run: bool = False) -> None:
    """Import an export: each event to the archive of its project, unless it is there already."""
    started = time.monotonic()
    targets: dict[str, _Target] = {}
    new = 0

    def target(project: str) -> _Target:
        if project not in targets:
            targets[project] = _Target(project, dry_run)
        return targets[project]

    def is_known(line: bytes) -> bool:
        about = _beginning(line)
        if about is None or not target(about.project).has(about, line):
            return False
        summary.sessions.add(about.session_id)
        summary.projects.add(about.project)
        return True

    try:
        with ExitStack() as stack:
            file = stack.enter_context(open(open_regular(path), "rb"))
            blocks = _blocks(file, is_known)
            submit, ahead = _readers(os.path.getsize(path), stack)
            for numbers, found in _in_order(blocks, submit, ahead):
                for number, event in zip(numbers, found, strict=True):
                    if isinstance(event, str):
                        summary.skips.append(Skip(path, number, f"no event of an export: {event}"))
                        continue
                    project, values, hashable = event
                    try:
                        new += target(project).add(values, hashable)
                    except _BAD_VALUE as error:
                        summary.skips.append(Skip(path, number, f"the archive does not take it: {error}"))
                        continue
                    summary.sessions.add(values[_SESSION_ID])
                    summary.projects.add(project)
        for one in targets.values():
            one.commit()
    finally:
        for one in targets.values():
            one.close()
    summary.files += bool(new)
    summary.unchanged += not new
    summary.bytes += os.path.getsize(path) if new else 0
    summary.events += new
    summary.seconds += time.monotonic() - started


# What SQLite and its module raise for a value of a wrong type, or one that is missing or too big.
_BAD_VALUE = (
    *(sqlite3.DataError, sqlite3.IntegrityError, sqlite3.InterfaceError, sqlite3.ProgrammingError),
    *(OverflowError, UnicodeError),
)


# --- Reading, in this process or in others ----------------------------------------------------------------------------

Numbered = tuple[list[int], list[bytes]]  # lines and their numbers


def _blocks(file: BinaryIO, is_known: Callable[[bytes], bool]) -> Iterator[Numbered]:
    """Lines that the archive may not have, some at a time. Of one that is too long, only the beginning."""
    numbers: list[int] = []
    lines: list[bytes] = []
    number = size = 0
    while line := file.readline(LONGEST_LINE):
        number += 1
        rest = line if len(line) == LONGEST_LINE else b""
        while rest and not rest.endswith(b"\n"):
            rest = file.readline(SKIPPED)
        if line.isspace() or is_known(line):
            continue
        numbers.append(number)
        lines.append(line)
        size += len(line)
        if size >= BLOCK:
            yield numbers, lines
            numbers, lines, size = [], [], 0
    if lines:
        yield numbers, lines


def _readers(size: int, stack: ExitStack) -> tuple[Callable[[list[bytes]], Callable[[], Events]], int]:
    """How lines become events, and how many blocks are worked on at once."""
    home = projects.home_folder()
    if size < WORTH_A_POOL:
        rules = Rules(home)
        return lambda lines: lambda: events(lines, rules), 1
    from sessionlog.system import workers

    count = os.cpu_count() or 1
    pool = stack.enter_context(workers.Pool(count, "sessionlog.export.jsonl_records", home))

    def submit(lines: list[bytes]) -> Callable[[], Events]:
        future: Future[Events] = pool.submit(lines)
        return future.result

    return submit, count + 2


def _in_order(
    blocks: Iterator[Numbered], submit: Callable[[list[bytes]], Callable[[], Events]], ahead: int
) -> Iterator[tuple[list[int], Events]]:
    """Keep a few blocks in work, and take them as they were given out."""
    waiting: deque[tuple[list[int], Callable[[], Events]]] = deque()
    for numbers, lines in blocks:
        waiting.append((numbers, submit(lines)))
        while len(waiting) >= ahead:
            numbers, result = waiting.popleft()  # noqa: PLW2901
            yield numbers, result()
    for numbers, result in waiting:
        yield numbers, result()


class _Beginning(NamedTuple):
    """What the beginning of a line says, if it is spelled as an export spells it."""

    project: str
    at: str
    session_id: str


_BEGINNING = re.compile(
    rb'\{"sessionlog":\{"version":%d,"project":"([^"\\]*)","at":"([^"]*)".*?\},"session_id":"([^"\\]+)"'
    % jsonl.VERSION,
    re.DOTALL,
)


def _beginning(line: bytes) -> _Beginning | None:
    found = _BEGINNING.match(line, 0, 5000)
    if found is None:
        return None
    try:
        return _Beginning(*[text.decode() for text in found.groups()])
    except UnicodeDecodeError:
        return None


# --- Writing ----------------------------------------------------------------------------------------------------------


class _Target:
    """One archive during an import: a transaction for every so many events."""

    # What is there already is not added again. Only rows from before the import count: two events that are the same in
    # every respect are two lines, and two events.
    _IS_THERE = (
        "EXISTS (SELECT 1 FROM events WHERE session_id = :session_id AND at = :at AND id <= :before AND "
        + " AND ".join(f"+{column} IS :{column}" for column in COLUMNS if column not in ("session_id", "at"))
        + ")"
    )
    _ADD = append.insertion(f"NOT {_IS_THERE}")

    def __init__(self, project: str, dry_run: bool) -> None:
        self._dry_run = dry_run
        self._pending = 0
        self._project = project
        self._lines: dict[str, frozenset[int] | None] = {}  # of a session: None if the archive did not have it
        self._appender: bulk.Appender | None = None
        place = whose.place(project)
        try:
            self._connection = bulk.connect(place) if not dry_run or os.path.exists(place.db) else None
            self._before = _newest(self._connection) if self._connection else 0
            self._limits: pruned.Limits = pruned.read(self._connection) if self._connection else {}
        except (sqlite3.Error, OSError) as error:
            raise SessionlogError(f"{place.db} cannot be written: {error}") from error

    def has(self, beginning: _Beginning, line: bytes) -> bool:
        """Whether the archive would write this line itself, for an event from before the import."""
        if beginning.session_id not in self._lines:
            self._lines[beginning.session_id] = self._lines_of(beginning)
        known = self._lines[beginning.session_id]
        return known is not None and _fingerprint(line.removesuffix(b"\n")) in known

    def _lines_of(self, beginning: _Beginning) -> frozenset[int] | None:
        """Those of a session. In a file they are in the order of time, so those before its first one do not matter."""
        if not self._has_session(beginning.session_id) or self._connection is None:
            return None
        blocks = jsonl.lines(self._connection, self._project, [beginning.session_id], beginning.at)
        return frozenset(_fingerprint(line) for block in blocks for line in block.splitlines())

    def _has_session(self, session_id: str) -> bool:
        """Whether the session had events before the import."""
        query = "SELECT 1 FROM events WHERE session_id = ? AND id <= ? LIMIT 1"
        return bool(self._connection and self._connection.execute(query, (session_id, self._before)).fetchone())

    def add(self, values: tuple[Any, ...], hashable: bulk.Hashable | None) -> bool:
        """Whether the event was new."""
        if self._connection is None:
            return True
        limit = self._limits.get(values[_SESSION_ID])
        if pruned.is_out(limit, values[_AT]):
            return False
        if values[_RESPONSE] and pruned.is_silenced(limit, values[_AT]):
            values = (*values[:_RESPONSE], pruned.MARKER_JSON, *values[_RESPONSE + 1 :])
            hashable = bulk.hashable(values)
        if not self._pending:
            self._connection.execute("BEGIN IMMEDIATE")
        self._pending += 1
        added = self._append(self._connection, values, hashable)
        if self._pending >= BATCH:
            self.commit()
        return added

    def _append(self, connection: sqlite3.Connection, values: tuple[Any, ...], hashable: bulk.Hashable | None) -> bool:
        session_id = values[_SESSION_ID]
        if session_id not in self._lines:
            self._lines[session_id] = frozenset() if self._has_session(session_id) else None
        if hashable is None or self._lines[session_id] is not None:
            named = {**dict(zip(COLUMNS, values, strict=True)), "before": self._before}
            if hashable is None:
                self._write()
                return append.add(connection, self._ADD, named)
            if connection.execute(f"SELECT {self._IS_THERE}", named).fetchone()[0]:
                return False
        if self._appender is None:
            self._appender = bulk.Appender(connection)
        self._appender.add(values, hashable)
        return True

    def _write(self) -> None:
        if self._appender is not None:
            self._appender.write()
            self._appender = None

    def commit(self) -> None:
        if self._connection is not None and self._connection.in_transaction:
            self._write()
            self._connection.execute("ROLLBACK" if self._dry_run else "COMMIT")
        self._pending = 0

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()


def _fingerprint(line: bytes) -> int:
    """Two hashes in one number, the first with a key of this process: no two lines have the same by chance."""
    return hash(line) << 32 | crc32(line)


def _newest(connection: sqlite3.Connection) -> int:
    newest: int = connection.execute("SELECT ifnull(max(id), 0) FROM events").fetchone()[0]
    return newest
