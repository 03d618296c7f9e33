"""Events as JSON lines that can be imported again: export, import, export gives the same bytes.

A line is the payload in the flat shape, after a first field `sessionlog` with what only the archive knows: the project,
when the event came, by which registration, and the shape in which it came if that was another. Ids are left out, as an
import gives new ones. Sessions follow one another by their first event; within a session, events are in order.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterator
from typing import Any, BinaryIO

import orjson

from sessionlog import archive, projects
from sessionlog.errors import SessionlogError
from sessionlog.event import COLUMNS, INPUT_TEXTS, PAYLOAD_TEXTS, normalise
from sessionlog.lean import encode_ascii, encode_json, parse_json
from sessionlog.redact import Rules

VERSION = 1
MARKER = b'{"sessionlog":{"version":'

# Bytes that are searched for secrets at once.
BLOCK = 64 << 10

# Events that are fetched, made into lines and handed on at once: one by one takes longer, and
# many that are long would fill the memory.
TOGETHER = 16

# Events of one transaction: hooks that write to the same archive wait no longer than this takes.
BATCH = 1000

# In the order of a line: what is told of the event, its own fields, those of its tool_input, and JSON as it is stored.
_FIELDS = ("session_id", "event", *PAYLOAD_TEXTS, "duration_ms")
_NAMES = ("session_id", "hook_event_name", *_FIELDS[2:])
_JSON = ("envelope", "tool_input", "tool_response", "extra")
_ORDER = ("at", "via", *_FIELDS, *INPUT_TEXTS, *_JSON)
_QUERY = f"SELECT {', '.join(_ORDER)} FROM events WHERE session_id = ? AND at >= ? ORDER BY at, id"
_INPUTS_AT = 2 + len(_FIELDS)
_JSON_AT = _INPUTS_AT + len(INPUT_TEXTS)

# Names of fields that are told before the rest: the rest may hold one of them again, where a column could not.
_TOLD_FIRST = re.compile(
    '"(?:' + "|".join(("sessionlog", "session_id", "hook_event_name", "file_path", *PAYLOAD_TEXTS)) + ')":'
)
_OF_INPUT = re.compile('"(?:' + "|".join(INPUT_TEXTS) + ')":')


def lines(
    connection: sqlite3.Connection, project: str, session_ids: list[str], since: str = "", rules: Rules | None = None
) -> Iterator[bytes]:
    """The events of these sessions, a line each, some at once; with `rules`, without the secrets that these find."""
    cursor = connection.cursor()
    cursor.row_factory = None
    for session_id in session_ids:
        cursor.execute(_QUERY, (session_id, since))
        while rows := cursor.fetchmany(TOGETHER):
            made = [_line(project, row) for row in rows]
            if rules is not None:
                made = [_cleaned(line, rules) for line in made]
            yield b"".join(made)


def _cleaned(line: bytes, rules: Rules) -> bytes:
    suspects = rules.suspects(line)
    return encoded(rules.clean(parse_json(line.decode()), suspects)) + b"\n" if suspects else line


def _line(project: str, row: tuple[Any, ...]) -> bytes:
    """A row as a line. JSON is taken over as it is stored: to parse and write it again would cost most of the time."""
    envelope, tool_input, tool_response, extra = row[_JSON_AT:]
    fields = {name: value for name, value in zip(_NAMES, row[2:_INPUTS_AT], strict=True) if value is not None}
    inputs = {
        name: value for name, value in zip(INPUT_TEXTS, row[_INPUTS_AT:_JSON_AT], strict=True) if value is not None
    }
    suspicious = (extra and _TOLD_FIRST.search(extra)) or (inputs and tool_input and _OF_INPUT.search(tool_input))
    if suspicious and _is_told_twice(fields, inputs, extra, tool_input):
        return _line_with_columns(project, row) + b"\n"
    about = {"version": VERSION, "project": project, "at": row[0], "via": row[1]}
    if envelope:
        about["envelope"] = orjson.Fragment(envelope)
    flat = {"sessionlog": about, **fields}
    if tool_input == "{}":
        flat["tool_input"] = inputs
    elif inputs and tool_input and tool_input[0] == "{":
        flat["tool_input"] = orjson.Fragment(_spliced(orjson.dumps(inputs), tool_input))
    else:
        flat.update(inputs)  # the file_path of an event that is about a file
        if tool_input:
            flat["tool_input"] = orjson.Fragment(tool_input)
    if tool_response:
        flat["tool_response"] = orjson.Fragment(tool_response)
    line = orjson.dumps(flat, option=orjson.OPT_APPEND_NEWLINE)
    return line[:-2] + b"," + extra[1:].encode() + b"\n" if extra and extra != "{}" else line


def _spliced(told: bytes, rest: str) -> bytes:
    """Two JSON objects as one."""
    return told if rest == "{}" else told[:-1] + b"," + rest[1:].encode()


def _is_told_twice(fields: dict[str, Any], inputs: dict[str, Any], extra: str | None, tool_input: str | None) -> bool:
    """Whether the JSON holds, at its top, a field that a column tells too. Further inside, any name may occur."""
    rest = parse_json(extra) if extra else {}
    given = parse_json(tool_input) if tool_input else None
    told = {"sessionlog", *fields}
    if isinstance(given, dict):
        return bool(told & set(rest)) or bool(set(inputs) & set(given))
    return bool((told | set(inputs)) & set(rest))


def _line_with_columns(project: str, row: tuple[Any, ...]) -> bytes:
    """A row that no flat payload gives back exactly (a NUL in a text, a number for a name): told as its columns."""
    columns = {name: value for name, value in zip(_ORDER, row, strict=True) if value is not None}
    about = {"version": VERSION, "project": project, "at": columns.pop("at"), "via": columns.pop("via")}
    about["columns"] = columns
    return encoded({"sessionlog": about, "session_id": columns["session_id"], "hook_event_name": columns["event"]})


def encoded(value: Any) -> bytes:
    try:
        return encode_json(value).encode()  # type: ignore[no-any-return]
    except UnicodeEncodeError:  # half of a surrogate pair
        return encode_ascii(value).encode()  # type: ignore[no-any-return]


# --- And back ---------------------------------------------------------------------------------------------------------


def is_export(path: str) -> bool:
    """Whether the file is one of ours."""
    try:
        with open(path, "rb") as file:
            return file.read(len(MARKER)) == MARKER
    except OSError:
        return False


class Imported:
    """What an import of exported events did."""

    def __init__(self) -> None:
        self.events = 0
        self.known = 0
        self.sessions: set[str] = set()
        self.projects: set[str] = set()
        self.skipped: list[tuple[int, str]] = []  # (line, why)


def read(path: str, dry_run: bool = False) -> Imported:
    """Import an export: each event to the archive of its project, unless it is there already."""
    done = Imported()
    rules = Rules(projects.home_folder())
    targets: dict[str, _Target] = {}
    try:
        with open(path, "rb") as file:
            for number, (line, is_suspect) in enumerate(_suspected_lines(file, rules), 1):
                if not line.strip():
                    continue
                try:
                    project, record = _record(line, rules if is_suspect else None)
                except (ValueError, TypeError, LookupError, AttributeError) as error:
                    done.skipped.append((number, f"no event of an export: {error}"))
                    continue
                if project not in targets:
                    targets[project] = _Target(project, dry_run)
                is_new = targets[project].add(record)
                done.events += is_new
                done.known += not is_new
                done.sessions.add(record["session_id"])
                done.projects.add(project)
        for target in targets.values():
            target.commit()
    finally:
        for target in targets.values():
            target.close()
    return done


def _suspected_lines(file: BinaryIO, rules: Rules) -> Iterator[tuple[bytes, bool]]:
    """Each line, and whether it is worth a search for secrets: many at once are asked for the price of a few."""
    while block := file.readlines(BLOCK):
        is_suspect = bool(rules.suspects(b"".join(block)))
        for line in block:
            yield line, is_suspect


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
    _ADD = archive.insertion(
        "NOT EXISTS (SELECT 1 FROM events WHERE session_id = :session_id AND at = :at AND id <= :before AND "
        + " AND ".join(f"+{column} IS :{column}" for column in COLUMNS if column not in ("session_id", "at"))
        + ")"
    )

    def __init__(self, project: str, dry_run: bool) -> None:
        self._dry_run = dry_run
        self._pending = 0
        place = projects.place(project)
        try:
            self._connection = archive.open_for_writing(place, 30) if not dry_run or os.path.exists(place.db) else None
            self._before = _newest(self._connection) if self._connection else 0
        except (sqlite3.Error, OSError) as error:
            raise SessionlogError(f"{place.db} cannot be written: {error}") from error

    def add(self, record: dict[str, Any]) -> bool:
        """Whether the event was new."""
        if self._connection is None:
            return True
        if not self._pending:
            self._connection.execute("BEGIN IMMEDIATE")
        self._pending += 1
        added = archive.add(self._connection, self._ADD, {**record, "before": self._before})
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
