"""Events as JSON lines that can be imported again: export, import, export gives the same bytes.

A line is the payload in the flat shape, after a first field `sessionlog` with what only the archive knows: the project,
when the event came, by which registration, and the shape in which it came if that was another. Ids are left out, as an
import gives new ones. Sessions follow one another by their first event; within a session, events are in order.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from functools import partial
from typing import Any

import orjson

from sessionlog.archive.event import INPUT_TEXTS, PAYLOAD_TEXTS
from sessionlog.fastlib import encode_ascii, encode_json, parse_json
from sessionlog.redact.rules import Rules

VERSION = 1

# Events that are fetched, made into lines and handed on at once: one by one takes longer, and
# many that are long would fill the memory.
TOGETHER = 16

# In the order of a line: what we say of the event, its own fields, those of its tool_input, and JSON as it is stored.
_FIELDS = ("session_id", "event", *PAYLOAD_TEXTS, "duration_ms")
_NAMES = ("session_id", "hook_event_name", *_FIELDS[2:])
_JSON = ("envelope", "tool_input", "tool_response", "extra")
_ORDER = ("at", "via", *_FIELDS, *INPUT_TEXTS, *_JSON)
_QUERY = f"SELECT {', '.join(_ORDER)} FROM events WHERE session_id = ? AND at >= ? ORDER BY at, id"
_QUERY_BETWEEN = (
    f"SELECT {', '.join(_ORDER)} FROM events WHERE session_id = ? AND at BETWEEN ? AND ? AND id <= ? ORDER BY at, id"
)
_INPUTS_AT = 2 + len(_FIELDS)
_JSON_AT = _INPUTS_AT + len(INPUT_TEXTS)

# Names of fields that come before the rest: the rest may hold one of them again, where a column could not.
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


def lines_between(
    connection: sqlite3.Connection, project: str, session_id: str, first: str, last: str, newest: int
) -> Iterator[bytes]:
    """The lines of a session between two times, of events with ids up to the newest."""
    return map(partial(_line, project), connection.execute(_QUERY_BETWEEN, (session_id, first, last, newest)))


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


def _spliced(first: bytes, rest: str) -> bytes:
    """Two JSON objects as one."""
    return first if rest == "{}" else first[:-1] + b"," + rest[1:].encode()


def _is_told_twice(fields: dict[str, Any], inputs: dict[str, Any], extra: str | None, tool_input: str | None) -> bool:
    """Whether the JSON holds, at its top, a field that a column tells too. Further inside, any name may occur."""
    rest = parse_json(extra) if extra else {}
    given = parse_json(tool_input) if tool_input else None
    first = {"sessionlog", *fields}
    if isinstance(given, dict):
        return bool(first & set(rest)) or bool(set(inputs) & set(given))
    return bool((first | set(inputs)) & set(rest))


def _line_with_columns(project: str, row: tuple[Any, ...]) -> bytes:
    """A row that no flat payload gives back exactly (a NUL in a text, a number for a name): written as its columns."""
    columns = {name: value for name, value in zip(_ORDER, row, strict=True) if value is not None}
    about = {"version": VERSION, "project": project, "at": columns.pop("at"), "via": columns.pop("via")}
    about["columns"] = columns
    return encoded({"sessionlog": about, "session_id": columns["session_id"], "hook_event_name": columns["event"]})


def encoded(value: Any) -> bytes:
    try:
        return encode_json(value).encode()  # type: ignore[no-any-return]
    except UnicodeEncodeError:  # half of a surrogate pair
        return encode_ascii(value).encode()  # type: ignore[no-any-return]
