"""Events that `sessionlog export` wrote as JSON lines, brought back: each to the archive of its project.

Two processes or more read some hundred lines at a time: they leave out those that the archive has, parse and clean the
others, and prepare their hashes. This process only writes.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, BinaryIO

from sessionlog.archive import bulk, whose
from sessionlog.archive import place as projects
from sessionlog.archive.event import COLUMNS
from sessionlog.archive.transaction import writing
from sessionlog.errors import SessionlogError
from sessionlog.export.jsonl_known import Archive, Known, project_of
from sessionlog.export.jsonl_records import LONGEST_LINE, Block, Found, read, received
from sessionlog.fastlib import parse_json
from sessionlog.redact.rules import Rules
from sessionlog.system.files import open_regular
from sessionlog.transcripts import pruned
from sessionlog.transcripts.chunks import Skip
from sessionlog.transcripts.importer import Summary

if TYPE_CHECKING:
    from concurrent.futures import Future

SKIPPED = 1 << 20  # bytes of a longer line that are passed over at once: much memory at once takes long to get

# Bytes of lines that a process reads at once.
BLOCK = 256 << 10

# Bytes of lines that may wait to be written: other processes go on while this one writes a transaction.
AHEAD = 4 << 20

# Starting other processes takes longer than reading this much.
WORTH_A_POOL = 4 << 20

# Events of one transaction: hooks that write to the same archive wait no longer than this takes.
BATCH = 1000
# Bytes of lines whose events may wait for it.
WAITING = 8 << 20

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
    skips: list[Skip] = []
    new = lines = waiting = 0

    def target(project: str) -> _Target:
        if project not in targets:
            targets[project] = _Target(project, dry_run)
        return targets[project]

    def block_of(data: bytes) -> Block:
        project = project_of(data) or ""
        lines = data.count(b"\n") + (not data.endswith(b"\n"))
        first_id = target(project).expect(lines) if project else 0
        archives = {name: one.archive for name, one in targets.items() if one.archive is not None}
        return Block(data, archives, project, first_id)

    try:
        with ExitStack() as stack:
            file = stack.enter_context(open(open_regular(path), "rb"))
            submit, ahead = _readers(os.path.getsize(path), stack)
            for found in _in_order(map(block_of, _blocks(file)), submit, ahead):
                project, count, size = found.block
                if project:
                    target(project).expect(-count)
                for project, session_id in found.known:
                    summary.projects.add(project)
                    summary.sessions.add(session_id)
                for number, reason in found.skips:
                    skips.append(Skip(path, lines + number + 1, f"no event of an export: {reason}"))
                for number, project, values, prepared in found.events:
                    try:
                        new += target(project).add(values, prepared)
                    except _BAD_VALUE as error:
                        skips.append(Skip(path, lines + number + 1, f"the archive does not take it: {error}"))
                        continue
                    summary.sessions.add(values[_SESSION_ID])
                    summary.projects.add(project)
                lines += count
                waiting += size
                if waiting >= WAITING:
                    for one in targets.values():
                        one.write()
                    waiting = 0
        for one in targets.values():
            one.write()
    finally:
        for one in targets.values():
            one.close()
    summary.skips += sorted(skips, key=lambda skip: skip.line or 0)
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


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    """The lines of the file, some hundred at a time. Of one that is too long, only the beginning."""
    while data := file.read(BLOCK):
        if not data.endswith(b"\n"):
            rest = file.readline(LONGEST_LINE)
            data += rest
            while rest and not rest.endswith(b"\n"):
                rest = file.readline(SKIPPED)
        yield data


def _readers(size: int, stack: ExitStack) -> tuple[Callable[[Block], Callable[[], Found]], int]:
    """How blocks of lines become events, and how many bytes of them are worked on at once."""
    home = projects.home_folder()
    if size < WORTH_A_POOL:
        rules, known = Rules(home), Known()
        stack.callback(known.close)
        return lambda block: lambda: read(block, rules, known), 0
    from sessionlog.system import workers

    count = os.cpu_count() or 1
    pool = stack.enter_context(workers.Pool(count, "sessionlog.export.jsonl_records", home))
    pool.start()  # while the archives are opened

    def submit(block: Block) -> Callable[[], Found]:
        future: Future[bytes] = pool.submit(block)
        return lambda: received(future.result())

    return submit, AHEAD + count * BLOCK


def _in_order(blocks: Iterator[Block], submit: Callable[[Block], Callable[[], Found]], ahead: int) -> Iterator[Found]:
    """Keep so many bytes in work, and take the blocks as they were given out."""
    waiting: deque[tuple[int, Callable[[], Found]]] = deque()
    size = 0
    for block in blocks:
        waiting.append((len(block.data), submit(block)))
        size += len(block.data)
        while size > ahead:
            length, result = waiting.popleft()
            size -= length
            yield result()
    for _, result in waiting:
        yield result()


# --- Writing ----------------------------------------------------------------------------------------------------------


class _Target:
    """One archive during an import. Events wait here until there are enough for a short transaction."""

    # What is there already is not added again. Only rows from before the import count: two events that are the same in
    # every respect are two lines, and two events.
    _IS_THERE = (
        "EXISTS (SELECT 1 FROM events WHERE session_id = :session_id AND at = :at AND id <= :before AND "
        + " AND ".join(f"+{column} IS :{column}" for column in COLUMNS if column not in ("session_id", "at"))
        + ")"
    )
    _ADD = bulk.insertion(f"NOT {_IS_THERE}")

    def __init__(self, project: str, dry_run: bool) -> None:
        self._dry_run = dry_run
        self._waiting: list[tuple[tuple[Any, ...], bulk.Prepared]] = []
        self._expected = 0  # lines that are being read
        self._had_session: dict[str, bool] = {}  # before the import
        place = whose.place(project)
        try:
            self._connection = bulk.connect(place) if not dry_run or os.path.exists(place.db) else None
            self._before = self._newest = bulk.newest_id(self._connection) if self._connection else 0
            self._limits: pruned.Limits = pruned.read(self._connection) if self._connection else {}
        except (sqlite3.Error, OSError) as error:
            raise SessionlogError(f"{place.db} cannot be written: {error}") from error
        # For those who find out which lines are there already.
        self.archive: Archive | None = (place.db, self._before) if self._before else None

    def expect(self, lines: int) -> int:
        """Say that so many more lines are being read. Returns the id that their first event is likely to get."""
        first_id = self._newest + len(self._waiting) + self._expected + 1
        self._expected += lines
        return first_id

    def add(self, values: tuple[Any, ...], prepared: bulk.Prepared | None) -> bool:
        """Whether the event was new."""
        if self._connection is None:
            return True
        session_id = values[_SESSION_ID]
        limit = self._limits.get(session_id)
        if limit is not None:
            if pruned.is_out(limit, values[_AT]):
                return False
            if values[_RESPONSE] and pruned.is_silenced(limit, values[_AT]):
                values = (*values[:_RESPONSE], pruned.MARKER_JSON, *values[_RESPONSE + 1 :])
                prepared = bulk.prepare(values, 0)
        if prepared is None:
            return self._add_odd(self._connection, self._named(values))
        if self._before and self._is_there(self._connection, session_id, values):
            return False
        self._waiting.append((values, prepared))
        if len(self._waiting) >= BATCH:
            self.write()
        return True

    def _is_there(self, connection: sqlite3.Connection, session_id: str, values: tuple[Any, ...]) -> bool:
        if session_id not in self._had_session:
            query = "SELECT 1 FROM events WHERE session_id = ? AND id <= ? LIMIT 1"
            found = connection.execute(query, (session_id, self._before)).fetchone()
            self._had_session[session_id] = found is not None
        if not self._had_session[session_id]:
            return False
        return bool(connection.execute(f"SELECT {self._IS_THERE}", self._named(values)).fetchone()[0])

    def _named(self, values: tuple[Any, ...]) -> dict[str, Any]:
        return {**dict(zip(COLUMNS, values, strict=True)), "before": self._before}

    def _add_odd(self, connection: sqlite3.Connection, named: dict[str, Any]) -> bool:
        """Add an event of which SQLite has to say what it makes of it."""
        self.write()
        with writing(connection, self._dry_run):
            return bulk.add(connection, self._ADD, named)

    def write(self) -> None:
        """Write what waits. Nothing but this is done while hooks cannot write."""
        if self._connection is not None and self._waiting:
            with writing(self._connection, self._dry_run):
                appender = bulk.Appender(self._connection)
                for values, prepared in self._waiting:
                    appender.add(values, prepared)
                appender.write()
            self._newest = appender.newest
        self._waiting.clear()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
