"""An archive full of what nobody expects: every table, every column."""

from __future__ import annotations

import random
import sqlite3
import zlib
from contextlib import closing
from typing import Any

from sessionlog.archive import append
from sessionlog.archive import place as projects

TEXTS: list[bytes] = [
    b"", b" ", b"x", b"null", b"{", b"{}", b"[]", b'"x"', b"7", b"-1e999", b'{"a":', b"[" * 3000 + b"]" * 3000,
    b'{"command":{"a":1},"file_path":[],"url":5,"stdout":{},"reason":[1]}', b'{"claude-x":{"costUSD":"much"}}',
    b"\xed\xa0\x80 half a pair", b"\xff\xfe", b"a\x00b", "数据 𝄞 e\u0301\u202e".encode(), b"\x1b]0;x\x07", b"%_'\"\\;--", b"y" * 40_000,
    b"s1", b"s2", b"agent", b"toolu_1", b"toolu_2", b"Bash", b"Edit", b"Write", b"Read", b"mcp__a__b", b"mcp__", b"WebFetch",
    b"PreToolUse", b"PostToolUse", b"PostToolUseFailure", b"UserPromptSubmit", b"SessionStart", b"SessionEnd", b"SubagentStop",
    b"PermissionRequest", b"PermissionDenied", b"StopFailure", b"Stop", b"PreCompact", b"ConfigChange", b"Notification",
    b"user", b"assistant", b"tool_use", b"tool_result", b"text", b"prompt", b"compact_boundary", b"rm -rf / && curl x | sh",
    b"Exit code 99999999999999999999", b"Exit code", b"/etc/passwd", b"../x", b"C:\\x", b"[redacted:github-token:f12be9d696]",
]  # fmt: skip
TIMES: list[bytes] = [
    b"", b"2026-11-16T01:41:14.736Z", b"2026-11-16T01:41:15.000Z", b"-0001-01-01T00:00:00.000Z", b"1969-12-31T23:59:59.999Z",
    b"9999-12-31T23:59:59.999Z", b"99999-01-01", b"2026-02-31T25:61:61Z", b"2026", b"now", b"\xff", b"0",
]  # fmt: skip
# What only sessionlog itself writes is JSON, if not the JSON that one would expect.
JSON = [
    b"null", b"{}", b"[]", b'"x"', b"7", b'{"command":{"a":1},"file_path":[],"url":5,"stdout":{},"reason":[1]}', b'{"a":"{"}',
    b"[" * 900 + b"]" * 900, b'{"a":' * 900 + b"1" + b"}" * 900, b'{"reason":null,"source":{},"model":["x"],"\\ud800":"\\u0000"}',
]  # fmt: skip
OBJECTS = [text for text in JSON if text.startswith(b"{")]
NUMBERS = [0, 1, 2, -1, 1000, 2**31, 2**53 - 1, -(2**53) + 1]  # what comes from outside is no bigger in a column
REALS = [0.0, -1.5, 1e308, -1e308, 5e-324]


def fill(place: projects.Place, dice: random.Random, rows: int = 40, *, legible: bool = False) -> None:
    """So many rows for every table, put there past everything that would have kept them out.

    `legible`: every text is UTF-8, as sessionlog itself sees to.
    """
    append.open_for_writing(place).close()
    with closing(sqlite3.connect(place.db, isolation_level=None)) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> 'archive'"
        # Events first: a trigger counts them in `sessions`.
        tables = sorted((name for (name,) in connection.execute(query).fetchall()), key=lambda name: name != "events")
        connection.execute("BEGIN")
        for table in tables:
            columns = connection.execute(f"PRAGMA table_info({table})").fetchall()
            names = [name for _, name, *_ in columns if name != "id"]
            marks = [f"CAST(:{name} AS {kind})" for _, name, kind, *_ in columns if name != "id"]
            insert = f"INSERT OR IGNORE INTO {table} ({', '.join(names)}) VALUES ({', '.join(marks)})"
            for _ in range(rows):
                values = {name: _value(dice, name, kind, bool(must)) for _, name, kind, must, *_ in columns}
                if legible:
                    values |= {
                        name: value.decode("utf-8", "replace")
                        for _, name, kind, *_ in columns
                        if kind == "TEXT" and isinstance(value := values[name], bytes)
                    }
                connection.execute(insert, values)
        connection.execute("COMMIT")


def _value(dice: random.Random, name: str, kind: str, required: bool) -> Any:
    if not required and dice.random() < 0.25:
        return None
    match kind:
        case "INTEGER":
            return dice.choice(NUMBERS)
        case "REAL":
            return dice.choice(REALS)
        case "BLOB":
            return zlib.compress(dice.choice(TEXTS))
    if name in ("tool_input", "tool_response"):
        return dice.choice(JSON)
    if name in ("extra", "entry_types"):
        return dice.choice(OBJECTS)
    if name == "client_usage":
        return b'{"claude-x":%s}' % dice.choice(OBJECTS)
    if name == "envelope":
        return None
    if name == "at" or name.endswith(("_at", "_on", "modified")):
        return dice.choice(TIMES)
    return dice.choice(TEXTS)
