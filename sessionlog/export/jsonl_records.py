"""Lines of an export as rows of `events`. Nothing here knows the database, so that other processes can do it."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import orjson

from sessionlog.archive import bulk
from sessionlog.archive.event import COLUMNS, normalise
from sessionlog.export.jsonl import VERSION, encoded
from sessionlog.fastlib import parse_json
from sessionlog.redact.rules import Rules

LONGEST_LINE = 64 << 20  # an event, with JSON's escapes
# Bytes that are searched for secrets at once; of much more, rules.py searches some only in the beginning.
BLOCK = 64 << 10

# orjson makes floats of whole numbers beyond 64 bits; those have at least so many digits.
_LONG_NUMBER = b"0" * 19
_AS_ZEROS = bytes.maketrans(b"0123456789", b"0" * 10)

# The project of an event, its values of COLUMNS, and what its hash needs of them, if all are texts.
Event = tuple[str, tuple[Any, ...], "bulk.Hashable | None"]
# For each line the event, or why it is none.
Events = list[Event | str]


def main() -> None:
    from sessionlog.system import workers

    gc.disable()  # what is parsed has no cycles
    workers.serve(_reader)


def _reader(home: str) -> Callable[[list[bytes]], Events]:
    rules = Rules(home)
    return lambda lines: events(lines, rules)


def events(lines: list[bytes], rules: Rules) -> Events:
    """The events of some lines. Some at a time are searched for secrets together, which costs little more than one."""
    found: Events = []
    first = size = 0
    for last, line in enumerate(lines, 1):
        size += len(line)
        if size >= BLOCK or last == len(lines):
            some = lines[first:last]
            is_suspect = bool(rules.suspects(b"".join([line for line in some if len(line) < LONGEST_LINE])))
            found += [_event_or_reason(line, rules if is_suspect else None) for line in some]
            first, size = last, 0
    return found


def _event_or_reason(line: bytes, rules: Rules | None) -> Event | str:
    try:
        if len(line) >= LONGEST_LINE:
            raise ValueError(f"longer than {LONGEST_LINE >> 20} MB")
        project, values = row(line, rules)
        return project, values, bulk.hashable(values)
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        return str(error)


def row(line: bytes, rules: Rules | None) -> tuple[str, tuple[Any, ...]]:
    """The project and the row of `events` that a line was made of.

    It may come from anywhere: secrets are taken out as in a hook.
    """
    payload, exact = _parsed(line)
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
        fields = {name: columns.get(name) for name in COLUMNS}
    else:
        _text(payload["session_id"]), _text(payload["hook_event_name"])
        fields = normalise(payload, at_ms=0, via=via, exact=exact)
        fields["envelope"] = encoded(about["envelope"]).decode() if "envelope" in about else None
    fields["at"], fields["via"] = at, via
    return project, tuple(fields.values())


def _parsed(line: bytes) -> tuple[Any, bool]:
    """The JSON of a line, and whether it is known that no text in it has a lone surrogate or a NUL."""
    if b"\\u" not in line and _LONG_NUMBER not in line.translate(_AS_ZEROS):
        try:
            return orjson.loads(line), True
        except ValueError:
            pass  # bytes below 32 in a text, say
    return parse_json(line.decode()), False


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{value!r} where a text belongs")
    return value
