"""Search by scanning everything, within a time limit.

It runs in a process of its own: a regular expression may take very long on some text, and blocks its
whole process meanwhile.
"""

from __future__ import annotations

import heapq
import json
import os
import re
import selectors
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any, NamedTuple

from sessionlog.agents.claude_code.transcript_lines import EXCERPT
from sessionlog.archive import one_client, read
from sessionlog.archive.place import Place
from sessionlog.ask.search import find as search
from sessionlog.ask.search.find import Filters, Hit
from sessionlog.errors import SessionlogError
from sessionlog.system import children
from sessionlog.transcripts.stored_lines import Lines

Row = dict[str, Any]

# The process reports its position after so many rows; after twenty times as many where SQLite filters most of them.
STEP = 500
# What a hit says of its row.
SHOWN = (
    "id",
    "session_id",
    "at",
    "tool_name",
    "tool_use_id",
    "event",
    "kind",
    "role",
    "file_path",
    "outcome",
    "is_typed",
)
_EVENT_TEXTS = (
    *("prompt", "message", "error", "last_assistant_message", "file_path", "old_string", "new_string"),
    *("content", "command", "description", "tool_input", "tool_response", "extra"),
)
# Characters that JSON does not escape.
_SAME_IN_JSON = re.compile(r"[ !#-.0-\[\]-~]+")

# How many such processes there may be at once, however many pages ask for one.
MOST = 4
_slots = threading.BoundedSemaphore(MOST)

Position = tuple[int, int]  # ids of the event and the message that come next, going back
START: Position = (2**62, 2**62)


class Found(NamedTuple):
    """The hits, and how far back was looked."""

    hits: list[Hit]
    position: Position | None  # where to go on; None at the end
    back_to: str


class Busy(SessionlogError):
    """Too many such searches at once."""


def compiled(question: str, regex: bool) -> re.Pattern[str]:
    """The pattern that a question means."""
    try:
        return re.compile(question if regex else re.escape(question))
    except (re.error, RecursionError, OverflowError) as error:
        raise SessionlogError(f"{question!r} is not a regular expression: {error}") from None


def look(
    place: Place, question: str, regex: bool, filters: Filters, position: Position, limit: int, seconds: float
) -> Found:
    """The hits from a position backwards: so many, or as many as are found in time."""
    compiled(question, regex)  # says what is wrong with it
    db = os.path.abspath(place.db)  # the child starts in another folder
    task = {"db": db, "question": question, "regex": regex, "filters": filters, "position": position}
    if not _slots.acquire(timeout=min(seconds, 1)):
        raise Busy(f"{MOST} searches of this kind are running already. Try again in a moment, or search for words.")
    try:
        with children.start("sessionlog.ask.search.scan") as process:
            try:
                process.stdin.write(json.dumps(task).encode())  # type: ignore[union-attr]
                process.stdin.close()  # type: ignore[union-attr]
                return _collected(place, process, position, limit, time.monotonic() + seconds)
            finally:
                process.kill()
    finally:
        _slots.release()


def _collected(
    place: Place, process: subprocess.Popen[bytes], position: Position, limit: int, deadline: float
) -> Found:
    hits: list[Hit] = []
    back_to, rest = "", b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)  # type: ignore[arg-type]
        while selector.select(max(0.0, deadline - time.monotonic())):
            data = process.stdout.read1(65536)  # type: ignore[union-attr]
            if not data:
                return Found(hits, None, back_to)
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                message = json.loads(line)
                position, back_to = tuple(message["position"]), message["at"] or back_to
                if hit := message.get("hit"):
                    marks = [(start, end) for start, end in hit["marks"]]
                    hits.append(Hit(place, hit["row"], hit["is_message"], hit["field"], hit["snippet"], marks))
                    if len(hits) >= limit:
                        return Found(hits, position, back_to)
    return Found(hits, position, back_to)


# --- In the process ---------------------------------------------------------------------------------------------------


def main() -> None:
    """Read the task from stdin; print hits and positions, one JSON object per line."""
    task = json.load(sys.stdin)
    pattern = compiled(task["question"], task["regex"])
    filters = Filters(*task["filters"])
    events, messages = task["position"]
    is_plain = not task["regex"] and _SAME_IN_JSON.fullmatch(task["question"])
    place = read.place_at(task["db"])
    with closing(one_client.connect(place, filters.client)) as archive:
        is_hit = search.matcher(archive, pattern, filters)
        lines = Lines(archive)
        for row, is_message in _backwards(archive, events, messages, task["question"] if is_plain else ""):
            events, messages = (events, row["id"]) if is_message else (row["id"], messages)
            if len(row) == len(_MARKER):
                _report((events, messages), row["at"], None)
            elif _in_time(row, filters) and (hit := is_hit(place, row, is_message, lines)):
                _report((events, messages), row["at"], hit)


_MARKER = ("id", "at")


def _backwards(archive: sqlite3.Connection, events: int, messages: int, literal: str) -> Iterator[tuple[Row, bool]]:
    """The rows by number, which is nearly the order of time and needs no sorting; after each step a row of that alone.

    What certainly does not hold the literal is left out by SQLite, which is many times as fast.
    """
    streams = (_table(archive, "events", events, literal), _table(archive, "transcript_parts", messages, literal))
    return heapq.merge(*streams, key=lambda found: found[0]["at"] or "", reverse=True)


def _table(archive: sqlite3.Connection, name: str, before: int, literal: str) -> Iterator[tuple[Row, bool]]:
    newest = archive.execute(f"SELECT max(id) AS id FROM {name}").fetchone()["id"] or 0
    columns = _EVENT_TEXTS if name == "events" else ("text", "thinking")
    holds = " OR ".join(f"instr({column}, :literal)" for column in columns)
    if name == "transcript_parts":  # of a long one the row has only the beginning
        holds += f" OR length(text) >= {EXCERPT}"
    where = f"AND ({holds})" if literal else ""
    step = STEP * (20 if literal else 1)
    high = min(before, newest + 1)
    while high > 1:
        low = max(1, high - step)
        asked = {"low": low, "high": high, "literal": literal}
        query = f"SELECT * FROM {name} WHERE id >= :low AND id < :high {where} ORDER BY id DESC"
        for row in archive.execute(query, asked):
            yield row, name == "transcript_parts"
        last = archive.execute(f"SELECT at FROM {name} WHERE id >= ? ORDER BY id LIMIT 1", (low,)).fetchone()
        yield {"id": low, "at": last["at"]}, name == "transcript_parts"
        high = low


def _in_time(row: Row, filters: Filters) -> bool:
    return (filters.since or "") <= (row["at"] or "") < (filters.until or "~")


def _report(position: Position, at: str | None, hit: Hit | None) -> None:
    message: dict[str, Any] = {"position": position, "at": at}
    if hit:
        row = {name: hit.row[name] for name in SHOWN if name in hit.row}
        message["hit"] = {**hit._asdict(), "place": None, "row": row}
    print(json.dumps(message), flush=True)
