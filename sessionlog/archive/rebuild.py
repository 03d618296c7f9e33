"""The payload of an event, from its row: the inverse of archive/event.py, apart from it because no hook needs it."""

from sessionlog.archive.event import INPUT_TEXTS, NESTED_NAMES, PAYLOAD_TEXTS
from sessionlog.fastlib import parse_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sessionlog.archive.event import Record


def payload(record: "Record") -> "dict[str, Any]":
    """The payload that `normalise` was given, or that it was translated from."""
    rest = parse_json(record["extra"]) if record["extra"] else {}
    envelope = parse_json(record["envelope"]) if record["envelope"] else {}
    nested = envelope.get("shape") == "nested"
    outer = envelope.get("outer", {})

    for key in (*PAYLOAD_TEXTS, "duration_ms", "session_id"):
        _give_back(rest, key, record[key])
    for key in ("tool_input", "tool_response"):
        if record[key] is not None:
            rest[key] = parse_json(record[key])
    inputs = rest.get("tool_input")
    if isinstance(inputs, dict):
        for key in INPUT_TEXTS:
            _give_back(inputs, key, record[key])
    else:
        _give_back(rest, "file_path", record["file_path"])

    name_key, named = ("event", outer) if nested else ("hook_event_name", rest)
    _give_back(named, name_key, record["event"])
    for key in envelope.get("absent", ()):
        (named if key == name_key else rest).pop(key)
    if not nested:
        if "undo" in envelope:
            from sessionlog.archive import translation  # for other agents only

            translation.restore(rest, envelope["undo"])
        return rest
    for old in envelope["renamed"]:
        rest[old] = rest.pop(NESTED_NAMES[old])
    return {**outer, "data": rest}


def call(record: "Record") -> "tuple[Any, Any]":
    """Of a payload only what a tool was given and gave back, in the flat shape."""
    rest = parse_json(record["extra"]) if record["extra"] and '"tool_' in record["extra"] else {}
    found = [parse_json(record[key]) if record[key] is not None else rest.get(key) for key in _CALL]
    if isinstance(found[0], dict):
        for key in INPUT_TEXTS:
            _give_back(found[0], key, record[key])
    return found[0], found[1]


_CALL = ("tool_input", "tool_response")


def _give_back(target: "dict[str, Any]", key: str, value: "Any") -> None:
    if value is not None:
        target.setdefault(key, value)
