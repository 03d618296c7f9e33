"""Promise 4: nothing is made up, nothing is thrown away."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessionlog import fastlib
from sessionlog.archive import event, migrate, rebuild
from tests.conftest import PAYLOAD_FILES
from tests.helpers.payloads import FLAT, NESTED

AT = 1_794_793_274_736


def through_sqlite(record: dict[str, Any]) -> dict[str, Any]:
    """Store a record in a table of the real schema and read it back."""
    connection = sqlite3.connect(":memory:")
    for _, script in migrate.migrations():
        connection.executescript(script)
    connection.execute(
        f"INSERT INTO events ({', '.join(record)}) VALUES ({', '.join('?' * len(record))})", tuple(record.values())
    )
    connection.row_factory = sqlite3.Row
    row = dict(connection.execute("SELECT * FROM events").fetchone())
    connection.close()
    return row


def round_trip(payload: dict[str, Any]) -> dict[str, Any]:
    return rebuild.payload(through_sqlite(event.normalise(payload, at_ms=AT, via="test")))


@pytest.mark.parametrize("path", PAYLOAD_FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_recorded_payload_comes_back(path: Any) -> None:
    payload = json.loads(path.read_bytes())
    assert round_trip(payload) == payload


@pytest.mark.parametrize("payload", [*FLAT, *NESTED], ids=lambda payload: str(payload.get("hook_event_name", "nested")))
def test_every_example_of_the_specification_comes_back(payload: dict[str, Any]) -> None:
    assert round_trip(payload) == payload


@pytest.mark.parametrize(
    ("payload", "columns"),
    [
        (
            NESTED[0],
            {"event": "UserPromptSubmit", "session_id": "sess_abc123", "prompt": "请帮我创建一个React按钮组件"},
        ),
        (
            NESTED[1],
            {
                "event": "PostToolUse",
                "tool_name": "Edit",
                "file_path": "/Users/user/project/src/index.js",
                "old_string": "const x = 1;",
                "new_string": "const x = 2;",
                "tool_input": "{}",
                "tool_response": '"Successfully edited file"',
            },
        ),
        (NESTED[2], {"tool_name": "Write", "content": "你好\n", "tool_response": '{"ok":true}'}),
        (NESTED[3], {"tool_name": "Bash", "command": "ls -la", "description": "List the files"}),
        (FLAT[3], {"command": "npm test", "tool_input": '{"timeout":1000,"run_in_background":false}'}),
        (FLAT[6], {"event": "PostToolUseFailure", "error": "Exit code 1", "extra": '{"is_interrupt":false}'}),
        (FLAT[7], {"event": "Notification", "message": "hi"}),
        (
            {"hook_event_name": "InstructionsLoaded", "session_id": "s", "file_path": "/p/CLAUDE.md"},
            {"file_path": "/p/CLAUDE.md"},
        ),
    ],
)
def test_what_audits_ask_for_is_in_columns(payload: dict[str, Any], columns: dict[str, str]) -> None:
    record = event.normalise(payload, at_ms=AT, via="test")
    assert {name: record[name] for name in columns} == columns
    assert record["at"] == "2026-11-16T01:41:14.736Z"


def test_both_shapes_give_the_same_record() -> None:
    nested = NESTED[1]
    data = dict(nested["data"])
    flat = {
        "hook_event_name": nested["event"],
        "tool_name": data.pop("tool"),
        "tool_response": data.pop("tool_result"),
        **data,
    }
    one, other = (event.normalise(payload, at_ms=AT, via="test") for payload in (nested, flat))
    assert one.pop("envelope") and other.pop("envelope") is None
    assert one == other


@pytest.mark.parametrize(
    ("payload", "told", "expected"),
    [
        ({"hook_event_name": "Stop"}, "PostToolUse", "Stop"),
        ({"session_id": "s", "prompt": "x"}, "PostToolUse", "PostToolUse"),
        ({"session_id": "s", "prompt": "x"}, None, "UserPromptSubmit"),
        ({"tool_name": "Bash", "tool_response": 1}, None, "PostToolUse"),
        ({"tool_name": "Bash", "error": "x"}, None, "PostToolUseFailure"),
        ({"tool_name": "Bash", "tool_use_id": "x"}, None, "PreToolUse"),
        ({"session_id": "s", "stop_hook_active": False}, None, "Stop"),
        ({"data": {"prompt": "x"}}, None, "UserPromptSubmit"),
        ({"event": "FileThing", "data": {}}, None, "FileThing"),
        ({"anything": 1}, None, "Unknown"),
        ({"hook_event_name": ""}, None, "Unknown"),
        ({"hook_event_name": 7}, "Stop", "Stop"),
    ],
)
def test_the_event_is_named_by_the_payload_then_the_handler_then_its_fields(
    payload: dict[str, Any], told: str | None, expected: str
) -> None:
    assert event.normalise(payload, at_ms=AT, via="test", event=told)["event"] == expected
    assert round_trip(payload) == payload


def test_a_file_event_that_has_a_field_called_event_is_not_nested() -> None:
    payload = {"hook_event_name": "FileChanged", "session_id": "s", "event": "add", "file_path": "/a", "data": {}}
    assert event.normalise(payload, at_ms=AT, via="test")["event"] == "FileChanged"
    assert round_trip(payload) == payload


@pytest.mark.parametrize("odd", ["\ud800", "a\udfffb", "a\0b", "\0", "𝄞"])
def test_texts_that_sqlite_cannot_hold_are_readable_in_the_column_and_exact_in_the_json(odd: str) -> None:
    payload = {"session_id": odd, "hook_event_name": "X", "prompt": odd, "tool_input": {"command": odd, "more": [odd]}}
    record = through_sqlite(event.normalise(payload, at_ms=AT, via="test"))
    assert "\0" not in record["prompt"] and record["prompt"].encode()
    assert rebuild.payload(record) == payload


# --- any JSON object ------------------------------------------------------------------------------------------------

texts = st.text(st.characters(codec=None), max_size=12) | st.sampled_from(["", "\0", "\ud800", "Bash", "PostToolUse"])
numbers = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | numbers | texts
known_keys = st.sampled_from(
    [*event.COLUMNS, "hook_event_name", "event", "data", "tool", "tool_result", "outer", "shape", "absent", "renamed"]
)
keys = known_keys | texts
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(keys, values, max_size=8)
payloads = (objects | st.fixed_dictionaries({"event": texts, "data": objects}, optional={"more": values})).map(
    lambda payload: json.loads(json.dumps(payload))  # in JSON, two halves of a surrogate pair are one character
)


@given(payloads)
def test_any_object_comes_back(payload: dict[str, Any]) -> None:
    record = event.normalise(payload, at_ms=AT, via="test")
    assert rebuild.payload(through_sqlite(record)) == payload
    assert json.dumps(rebuild.payload(record), sort_keys=True) == json.dumps(
        payload, sort_keys=True
    )  # 1 is not 1.0 or True


@given(values.map(lambda value: json.loads(json.dumps(value))))
def test_json_is_read_and_written_as_the_public_module_does(value: Any) -> None:
    assert fastlib.parse_json(json.dumps(value)) == value
    assert json.loads(fastlib.encode_ascii(value)) == value
    assert fastlib.encode_json(value) == json.dumps(value, ensure_ascii=False, separators=(",", ":"))
