"""Whole lines of archived transcripts, for what `messages` has only the beginning of."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from sessionlog.agents.registry import CLAUDE_CODE
from sessionlog.transcripts import packed


class Lines:
    """Keeps the last chunks that were unpacked: neighbouring calls are in the same one."""

    KEPT = 4  # the session's own, and some of sub-agents that worked at the same time

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._chunks: dict[tuple[int, int], list[bytes]] = {}

    def content(self, message_id: int) -> Any:
        """What the message of the line holds: a text or a list of blocks; None if its bytes were pruned."""
        entry, *_ = self._entry(message_id)
        message = entry.get("message") if isinstance(entry, dict) else None
        return message.get("content") if isinstance(message, dict) else None

    def block(self, message_id: int) -> tuple[dict[str, Any] | None, Any]:
        """The tool_use or tool_result block that a message is, and the result as the client structured it."""
        entry, kind, tool_use_id = self._entry(message_id)
        try:
            blocks = entry["message"]["content"]
        except (LookupError, TypeError):
            return None, None
        own = [
            block
            for block in (blocks if isinstance(blocks, list) else ())
            if isinstance(block, dict) and tool_use_id in (block.get("id"), block.get("tool_use_id"))
        ]
        if not own:
            return None, None
        # A line of Gemini has a call and its result.
        block = next((block for block in own if block.get("type") == kind), own[0])
        # A line with several results has one structured result; it does not say whose it is.
        alone = len(blocks) == 1 and isinstance(entry.get("toolUseResult"), (dict, list))
        return block, entry["toolUseResult"] if alone else None

    def _entry(self, message_id: int) -> tuple[Any, str | None, str | None]:
        """The line that a part is from, and the part's kind and tool_use_id."""
        found = self._connection.execute(
            "SELECT m.line, m.uuid, m.session_id, m.kind, m.tool_use_id, t.client, "
            "c.transcript_id, c.sequence, c.first_line "
            "FROM transcript_parts AS m JOIN transcripts AS t ON t.id = m.transcript_id "
            "JOIN transcript_chunks AS c ON c.transcript_id = m.transcript_id "
            "AND m.line >= c.first_line AND m.line < c.first_line + c.lines "
            "WHERE m.id = ? LIMIT 1",
            (message_id,),
        ).fetchone()
        if found is None:  # the bytes were pruned
            return None, None, None
        lines = self._lines(found["transcript_id"], found["sequence"])
        try:
            values, call = packed.entries(lines[found["line"] - found["first_line"]]), found["tool_use_id"]
            entry = next((value for value in values if value.get("uuid") == found["uuid"]), values[0])
            if found["client"] != CLAUDE_CODE:
                entry = self._translated(found, entry, lines[: found["line"] - found["first_line"]])
                if call and "." in call:  # the archive added a number
                    call = call.partition(".")[0] + "."
            return entry, found["kind"], call
        except (ValueError, LookupError, TypeError, AttributeError):
            return None, None, None

    def _lines(self, transcript_id: int, sequence: int) -> list[bytes]:
        key = (transcript_id, sequence)
        if key not in self._chunks:
            row = self._connection.execute(
                "SELECT data FROM transcript_chunks WHERE transcript_id = ? AND sequence = ?", key
            ).fetchone()
            while len(self._chunks) >= self.KEPT:
                del self._chunks[next(iter(self._chunks))]
            try:
                self._chunks[key] = packed.unpack(row["data"]).split(b"\n")
            except packed.Unreadable:  # what the row itself holds is all there is to show
                self._chunks[key] = []
        return self._chunks[key]

    def _translated(self, found: dict[str, Any], entry: Any, before: list[bytes]) -> dict[str, Any]:
        """A line of another agent, which may be several of Claude Code's, as one with all of their blocks."""
        from sessionlog.agents import transcripts  # of other agents only, and much to import
        from sessionlog.transcripts import chunks

        reader: Any = transcripts.reader(found["client"], found["session_id"], None)
        earlier = lines_before(partial(self._lines, found["transcript_id"]), found["sequence"], reader.CONTEXT, before)
        chunks.resume(reader, earlier)
        blocks = [block for one in reader.entries(entry) for block in one["message"]["content"] or ()]
        return {"message": {"content": blocks}}


def lines_before(
    chunk: Callable[[int], list[bytes]], sequence: int, marks: tuple[bytes, ...], known: Iterable[bytes] = ()
) -> list[bytes]:
    """The first line of a transcript, and the last ones before a line, as far back as the nearest mark.

    `chunk` gives the lines of a chunk by its number. `known` are those that stand before the line in its own.
    """
    found = list(known)
    while sequence > 0 and marks and not any(mark in line for mark in marks for line in found):
        sequence -= 1
        found = chunk(sequence) + found
    return [*chunk(0)[:1], *found] if sequence and marks else found
