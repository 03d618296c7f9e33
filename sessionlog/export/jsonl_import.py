"""Events that `sessionlog export` wrote as JSON lines, brought back: each to the archive of its project."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from typing import Any, BinaryIO

from sessionlog.archive import append, whose
from sessionlog.archive import place as projects
from sessionlog.archive.event import COLUMNS, normalise
from sessionlog.errors import SessionlogError
from sessionlog.export.jsonl import VERSION, encoded
from sessionlog.fastlib import parse_json
from sessionlog.redact.rules import Rules
from sessionlog.system.files import open_regular
from sessionlog.transcripts import pruned
from sessionlog.transcripts.chunks import Skip
from sessionlog.transcripts.importer import Summary

LONGEST_LINE = 64 << 20  # an event, with JSON's escapes
SKIPPED = 1 << 20  # bytes of a longer line that are passed over at once: much memory at once takes long to get

# Bytes that are searched for secrets at once.
BLOCK = 64 << 10

# Events of one transaction: hooks that write to the same archive wait no longer than this takes.
BATCH = 1000


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
    rules = Rules(projects.home_folder())
    targets: dict[str, _Target] = {}
    new = 0
    try:
        with open(open_regular(path), "rb") as file:
            for number, (line, is_suspect) in enumerate(_suspected_lines(file, rules), 1):
                if not line.strip():
                    continue
                try:
                    if len(line) >= LONGEST_LINE:
                        raise ValueError(f"longer than {LONGEST_LINE >> 20} MB")
                    project, record = _record(line, rules if is_suspect else None)
                except (ValueError, TypeError, LookupError, AttributeError) as error:
                    summary.skips.append(Skip(path, number, f"no event of an export: {error}"))
                    continue
                if project not in targets:
                    targets[project] = _Target(project, dry_run)
                try:
                    new += targets[project].add(record)
                except _BAD_VALUE as error:
                    summary.skips.append(Skip(path, number, f"the archive does not take it: {error}"))
                    continue
                summary.sessions.add(record["session_id"])
                summary.projects.add(project)
        for target in targets.values():
            target.commit()
    finally:
        for target in targets.values():
            target.close()
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


def _suspected_lines(file: BinaryIO, rules: Rules) -> Iterator[tuple[bytes, bool]]:
    """Each line, and whether it is worth a search for secrets: many at once are asked for the price of a few."""
    while block := _some_lines(file):
        is_suspect = bool(rules.suspects(b"".join(line for line in block if len(line) < LONGEST_LINE)))
        for line in block:
            yield line, is_suspect


def _some_lines(file: BinaryIO) -> list[bytes]:
    """The next lines. Of one that is too long, only the beginning."""
    lines: list[bytes] = []
    size = 0
    while size < BLOCK and (line := file.readline(LONGEST_LINE)):
        lines.append(line)
        size += len(line)
        rest = line if len(line) == LONGEST_LINE else b""
        while rest and not rest.endswith(b"\n"):
            rest = file.readline(SKIPPED)
    return lines


def _record(line: bytes, rules: Rules | None) -> tuple[str, dict[str, Any]]:
    """The row of `events` that a line was made of. It may come from anywhere: secrets are taken out as in a hook."""
    payload = parse_json(line.decode())
    if rules is not None:
        payload = rules.clean(payload, rules.suspects(line))
    about = payload.pop("sessionlog")
    if about["version"] != VERSION:
        raise ValueError(f"version {about['version']!r} of the format; upgrade sessionlog to read it")
    at, via, project = (_text(about[name]) for name in ("at", "via", "project"))
    if "columns" in about:
        columns = about["columns"]
        if not (isinstance(columns["session_id"], str) and isinstance(columns["event"], str)):
            raise ValueError("the session or the event is missing")
        record: dict[str, Any] = {name: columns.get(name) for name in COLUMNS}
    else:
        _text(payload["session_id"]), _text(payload["hook_event_name"])
        record = normalise(payload, at_ms=0, via=via)
        record["envelope"] = _json_text(about["envelope"]) if "envelope" in about else None
    return project, {**record, "at": at, "via": via}


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{value!r} where a text belongs")
    return value


def _json_text(value: Any) -> str:
    return encoded(value).decode()


class _Target:
    """One archive during an import: a transaction for every so many events."""

    # What is there already is not added again. Only rows from before the import count: two events that are the same in
    # every respect are two lines, and two events.
    _ADD = append.insertion(
        "NOT EXISTS (SELECT 1 FROM events WHERE session_id = :session_id AND at = :at AND id <= :before AND "
        + " AND ".join(f"+{column} IS :{column}" for column in COLUMNS if column not in ("session_id", "at"))
        + ")"
    )

    def __init__(self, project: str, dry_run: bool) -> None:
        self._dry_run = dry_run
        self._pending = 0
        place = whose.place(project)
        try:
            self._connection = append.open_for_writing(place, 30) if not dry_run or os.path.exists(place.db) else None
            self._before = _newest(self._connection) if self._connection else 0
            self._limits: pruned.Limits = pruned.read(self._connection) if self._connection else {}
        except (sqlite3.Error, OSError) as error:
            raise SessionlogError(f"{place.db} cannot be written: {error}") from error

    def add(self, record: dict[str, Any]) -> bool:
        """Whether the event was new."""
        if self._connection is None:
            return True
        limit = self._limits.get(record["session_id"])
        if pruned.is_out(limit, record["at"]):
            return False
        if record["tool_response"] and pruned.is_silenced(limit, record["at"]):
            record["tool_response"] = pruned.MARKER_JSON
        if not self._pending:
            self._connection.execute("BEGIN IMMEDIATE")
        self._pending += 1
        added = append.add(self._connection, self._ADD, {**record, "before": self._before})
        if self._pending >= BATCH:
            self.commit()
        return added

    def commit(self) -> None:
        if self._connection is not None and self._connection.in_transaction:
            self._connection.execute("ROLLBACK" if self._dry_run else "COMMIT")
        self._pending = 0

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()


def _newest(connection: sqlite3.Connection) -> int:
    newest: int = connection.execute("SELECT ifnull(max(id), 0) FROM events").fetchone()[0]
    return newest
