"""Bytes that are nearly what they should be."""

from __future__ import annotations

import random
from typing import Any

TOKENS = [
    b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b'"":', b"null", b"true", b"NaN", b"-0", b"1e999", b"-1", b"0" * 40, b"9" * 25,
    b"\\u0000", b"\\ud800", b"\\udc00\\ud800", b"\x00", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\r\n", b"\x1b[2J",
    b"[" * 40, b'{"a":' * 40, b"x" * 5000, b"../../", b"/proc/self/mem", b"'; DROP TABLE events; --", "数据".encode(), "\U0001f600".encode(),
    b'"session_id":', b'"hook_event_name":', b'"data":{', b'"event":"PostToolUse",', b'"tool_name":"Bash",', b'"tool_use_id":',
    b"ghp_Zq3T8vXw1LbN6rKd0YcHs5MfJ2uGpA9eVi7o", b"password=hunter22-hunter22", b"-----BEGIN RSA PRIVATE KEY-----", b"[redacted:",
]  # fmt: skip


def mutate(data: bytes, dice: random.Random, others: list[bytes]) -> bytes:
    """Change the bytes in a few places, or mix them with those of another."""
    changed = bytearray(data)
    for _ in range(dice.choice([1, 1, 2, 4, 12])):
        at = dice.randrange(len(changed) + 1)
        end = min(len(changed), at + dice.choice([1, 2, 8, 60, 1000]))
        match dice.randrange(8):
            case 0 if changed:
                changed[at % len(changed)] ^= 1 << dice.randrange(8)
            case 1:
                changed[at:at] = dice.choice(TOKENS)
            case 2:
                changed[at:end] = dice.choice(TOKENS)
            case 3:
                del changed[at:end]
            case 4:
                changed[at:at] = changed[at:end] * dice.choice([1, 1, 3, 50])
            case 5:
                other = dice.choice(others)
                cut = dice.randrange(len(other) + 1)
                changed[at:end] = other[cut : cut + dice.choice([1, 20, 500])]
            case 6 if dice.random() < 0.3:
                del changed[at:]
            case _:
                changed[at:end] = dice.randbytes(min(end - at, 8))
    return bytes(changed)


ODD: list[Any] = [
    None, True, "", 0, -1, 0.5, 2**53, 2**63, 2**80, -(2**64), 1e300, [], {}, [[]], {"": ""}, "\0", "\ud800", "\udfff\ud800", "x" * 70_000,
    "2026-11-16T01:41:14.736Z", "../../etc/passwd", "'; DROP TABLE events; --", "数据", "\x1b[2J\u202e", {"stdout": {"deep": [1]}},
    [{"type": "text", "text": None}], {"file_path": 7, "command": ["ls"]}, "ghp_Zq3T8vXw1LbN6rKd0YcHs5MfJ2uGpA9eVi7o", "Exit code -9e9",
]  # fmt: skip


def mutate_value(value: Any, dice: random.Random, names: list[str]) -> Any:
    """The same JSON with a few values, keys or members other than they should be."""
    if dice.random() < 0.08:
        return dice.choice(ODD)
    if isinstance(value, list):
        return [mutate_value(item, dice, names) for item in value for _ in range(dice.choice([0, 1, 1, 1, 1, 1, 2]))]
    if not isinstance(value, dict):
        return value
    changed = {}
    for key, item in value.items():
        name = dice.choice([*names, *map(str, ODD)]) if dice.random() < 0.04 else key
        if dice.random() > 0.04:
            changed[name] = mutate_value(item, dice, names)
    if dice.random() < 0.2:
        changed[dice.choice(names)] = dice.choice(ODD)
    return changed
