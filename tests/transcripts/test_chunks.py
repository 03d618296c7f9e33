"""Chunks: secrets are looked for in blocks of lines, and what a block repeats once; what is packed, any zlib reads."""

from __future__ import annotations

import json
import sys
import zlib
from pathlib import Path

import pytest

from sessionlog.redact.rules import Rules
from sessionlog.transcripts import chunks, store

SECRET = "password='k8Zq3vT1xW9pLm'"
WORDS = "the quick brown fox " * 300


def result_line(content: str, stdout: str) -> bytes:
    """A line with the result of a command, as Claude Code writes it."""
    block = {"tool_use_id": "toolu_1", "type": "tool_result", "content": content}
    entry = {
        "type": "user",
        "message": {"role": "user", "content": [block]},
        "toolUseResult": {"stdout": stdout, "stderr": "", "interrupted": False},
    }
    return json.dumps(entry, separators=(",", ":")).encode() + b"\n"


@pytest.mark.parametrize("at", [0, 500, 1020, 3000, len(WORDS) - 1030, len(WORDS) - 5, len(WORDS)])
@pytest.mark.parametrize("where", ["both", "content", "stdout"])
def test_a_secret_in_an_output_that_is_there_twice(tmp_path: Path, at: int, where: str) -> None:
    secret = WORDS[:at] + SECRET + WORDS[at:]
    # As long as the other: only a comparison tells them apart.
    plain = WORDS[:at] + "a word or two or three or" + WORDS[at:]
    line = result_line(plain if where == "stdout" else secret, plain if where == "content" else secret)
    data = result_line(WORDS, WORDS) + line + result_line(WORDS, WORDS)

    cleaned = chunks.clean_lines(data, Rules(str(tmp_path)))

    lines = cleaned.splitlines(keepends=True)
    assert b"k8Zq3vT1xW9pLm" not in cleaned
    assert cleaned.count(chunks.MARKER) == (2 if where == "both" else 1)
    assert lines[0] == lines[2] == result_line(WORDS, WORDS)


def test_an_output_that_is_there_twice_is_searched_once() -> None:
    data = result_line(WORDS, WORDS) * 3
    assert len(chunks._without_copies(data)) < len(data) - 3 * (len(WORDS) - 2 * chunks.AROUND - 10)
    other = result_line(WORDS, WORDS.replace("fox", "fax"))
    assert chunks._without_copies(other) is other


@pytest.mark.parametrize("data", [b"", b"a", b"\n", b'{"type":"user"}\n' * 5000, bytes(range(256)) * 300])
@pytest.mark.parametrize("fast", [True, False])
def test_any_zlib_reads_what_is_packed(monkeypatch: pytest.MonkeyPatch, data: bytes, fast: bool) -> None:
    if not fast:
        monkeypatch.setitem(sys.modules, "isal", None)
    found = chunks.pack(data)
    assert zlib.decompress(found) == chunks.unpack(found) == data
    # By these, it is known which chunks were pruned.
    assert (found == store.PRUNED) == (len(found) <= len(store.PRUNED)) == (data == b"")
