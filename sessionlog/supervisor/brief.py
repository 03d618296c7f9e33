"""What a reviewer gets: the task, what was done, the last answer, earlier reviews. Redacted, as in the archive."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter, deque
from contextlib import closing
from typing import Any

from sessionlog.archive import read
from sessionlog.archive.place import Place
from sessionlog.fastlib import parse_json
from sessionlog.session import call as calls
from sessionlog.session import load
from sessionlog.supervisor import records
from sessionlog.supervisor.contract import HookInput

VERSION = 1

# The most of each thing, so that a brief stays below about 400 KB however long the session is.
FIRST_PROMPTS, LAST_PROMPTS, PROMPT = 1, 9, 4_000
CALLS, ARGUMENT, ERROR = 200, 400, 800
FILES, REVIEWS, FEEDBACK = 200, 20, 2_000
ANSWER, QUESTION = 10_000, 20_000

Brief = dict[str, Any]


def build(place: Place, about: HookInput, iteration: int = 0, limit: int = 0) -> Brief:
    """The brief about a session, at an event of it."""
    payload = records.clean(place, about.payload)
    with closing(read.connect(place)) as connection:
        task, done, answer = _course(connection, about.session_id)
        reviews = _reviews(connection, about.session_id)
    said = payload.get("last_assistant_message")
    brief: Brief = {
        "version": VERSION,
        "event": about.event,
        "session_id": about.session_id,
        "supervisor_id": about.supervisor_id,
        "iteration": iteration,
        "max_iterations": limit,
        "project": place.project,
        "archive": place.db,
        **{key: payload.get(key) for key in ("cwd", "transcript_path", "permission_mode", "stop_hook_active")},
        **task,
        "done": done,
        "last_answer": cut(said if isinstance(said, str) and said else answer, ANSWER),
        "reviews": reviews,
    }
    if about.event == "PreToolUse":
        inputs = payload.get("tool_input")
        text = json.dumps(inputs, ensure_ascii=False)
        brief["tool_name"] = payload.get("tool_name")
        brief["tool_input"] = inputs if len(text) <= QUESTION else cut(text, QUESTION)
    return brief


def encode(brief: Brief) -> bytes:
    """The brief as the reviewer reads it."""
    return json.dumps(brief, ensure_ascii=False, indent=1).encode("utf-8", "replace") + b"\n"


def cut(text: str, length: int) -> str:
    """The beginning of a text."""
    return text if len(text) <= length else f"{text[:length]}…"


def _course(connection: sqlite3.Connection, session_id: str) -> tuple[Brief, Brief, str]:
    """The prompts, what was done, and the last answer."""
    first: list[Brief] = []
    last: deque[Brief] = deque(maxlen=LAST_PROMPTS)
    latest: deque[load.Entry] = deque(maxlen=CALLS)
    tools: Counter[str] = Counter()
    files: Counter[str] = Counter()
    prompts = failures = 0
    answer = ""
    for entry in load.entries(connection, session_id):
        if entry.kind == "prompt" and not entry.agent_id:
            prompts += 1
            (first if len(first) < FIRST_PROMPTS else last).append({"at": entry.at, "prompt": cut(entry.text, PROMPT)})
        elif entry.kind == "answer" and not entry.agent_id:
            answer = entry.text
        elif entry.kind == "tool" and entry.call:
            latest.append(entry)
            tools[entry.call.name] += 1
            failures += entry.call.outcome == "failed"
            if calls.is_change(entry.call):
                files[calls.argument(entry.call)] += 1
    task = {"prompts": [*first, *last], "prompts_left_out": prompts - len(first) - len(last)}
    done = {
        "tools": dict(tools.most_common()),
        "failures": failures,
        "files_changed": {cut(path, ARGUMENT): count for path, count in files.most_common(FILES)},
        "calls": [_call(entry) for entry in latest],
        "calls_left_out": tools.total() - len(latest),
    }
    return task, done, answer


def _call(entry: load.Entry) -> Brief:
    call = entry.call
    if call is None:
        return {}
    line: Brief = {"at": entry.at, "tool": call.name, "argument": cut(calls.argument(call), ARGUMENT)}
    line["outcome"] = call.outcome
    if diff := calls.changes(call):
        line["changed"] = calls.counts(diff)
    if call.error:
        line["error"] = cut(call.error, ERROR)
    if call.duration_ms is not None:
        line["duration_ms"] = call.duration_ms
    if entry.agent_id:
        line["agent_id"] = entry.agent_id
    return line


def _reviews(connection: sqlite3.Connection, session_id: str) -> list[Brief]:
    """What was decided before, oldest first."""
    rows = connection.execute(
        f"SELECT at, message, error, extra FROM events WHERE event = '{records.DECISION}' AND +session_id = ? "
        "ORDER BY id DESC LIMIT ?",
        (session_id, REVIEWS),
    ).fetchall()
    found = []
    for row in reversed(rows):
        extra = parse_json(row["extra"]) if row["extra"] else {}
        latest = {key: extra.get(key) for key in ("iteration", "about", "decision", "reviewer")}
        found.append({"at": row["at"], **latest, "feedback": cut(row["message"] or row["error"] or "", FEEDBACK)})
    return found
