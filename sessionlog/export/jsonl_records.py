"""Lines of an export as rows of `events`. Nothing here knows the database, so that other processes can do it."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

from sessionlog.archive.event import COLUMNS, normalise
from sessionlog.export.jsonl import VERSION, encoded
from sessionlog.fastlib import parse_json
from sessionlog.redact.rules import Rules

LONGEST_LINE = 64 << 20  # an event, with JSON's escapes
# Bytes that are searched for secrets at once; of much more, rules.py searches some only in the beginning.
BLOCK = 64 << 10

Record = dict[str, Any]
# For each line the project and the row, or why it is no event.
Records = list[tuple[str, Record] | str]


def main() -> None:
    from sessionlog.system import workers

    gc.disable()  # what is parsed has no cycles
    workers.serve(_reader)


def _reader(home: str) -> Callable[[list[bytes]], Records]:
    rules = Rules(home)
    return lambda lines: records(lines, rules)


def records(lines: list[bytes], rules: Rules) -> Records:
    """The rows of some lines. Some at a time are searched for secrets together, which costs little more than one."""
    found: Records = []
    first = size = 0
    for last, line in enumerate(lines, 1):
        size += len(line)
        if size >= BLOCK or last == len(lines):
            some = lines[first:last]
            is_suspect = bool(rules.suspects(b"".join([line for line in some if len(line) < LONGEST_LINE])))
            found += [_record_or_reason(line, rules if is_suspect else None) for line in some]
            first, size = last, 0
    return found


def _record_or_reason(line: bytes, rules: Rules | None) -> tuple[str, Record] | str:
    try:
        if len(line) >= LONGEST_LINE:
            raise ValueError(f"longer than {LONGEST_LINE >> 20} MB")
        return record(line, rules)
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        return str(error)


def record(line: bytes, rules: Rules | None) -> tuple[str, Record]:
    """The row of `events` that a line was made of. It may come from anywhere: secrets are taken out as in a hook."""
    payload = parse_json(line.decode())  # orjson makes floats of whole numbers beyond 64 bits
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
        row: Record = {name: columns.get(name) for name in COLUMNS}
    else:
        _text(payload["session_id"]), _text(payload["hook_event_name"])
        row = normalise(payload, at_ms=0, via=via)
        row["envelope"] = encoded(about["envelope"]).decode() if "envelope" in about else None
    row["at"], row["via"] = at, via
    return project, row


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{value!r} where a text belongs")
    return value
