"""What happened to files: which were touched, what changed in one of them, which edits have a text."""

from __future__ import annotations

import bisect
import re
import sqlite3
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from sessionlog.agents.claude_code.tools import CALL_EVENTS, CALL_START
from sessionlog.ask.search import query
from sessionlog.fastlib import parse_json
from sessionlog.session import call as calls
from sessionlog.session.call import Call, call_of_events
from sessionlog.session.outline import EDITING
from sessionlog.transcripts.stored_lines import Lines

Row = dict[str, Any]

# Of one file; who edits a file more often sees the latest ones.
MOST_CHANGES = 5000
# Of the calls that only transcripts know, which have no column for the file, the newest ones are looked at.
MOST_MESSAGES = 2000
# Of the patches of several files, whose rows name the first one only, the newest ones are looked at.
MOST_PATCHES = 2000
# Of the edits in which all words of a line occur.
MOST_CANDIDATES = 1000

_CHANGES = f"event IN {CALL_EVENTS} AND action IN {EDITING}"
# The same for the search index.
_CHANGING = f'tags : ("{query.tag("action", "edit")}" OR "{query.tag("action", "write")}")'


class File(NamedTuple):
    """A file that tools touched."""

    path: str
    changes: int
    reads: int
    failures: int
    sessions: int
    last_at: str
    last_session_id: str
    last_name: str  # e12: the moment of the last touch


class Prompt(NamedTuple):
    """What was asked for."""

    name: str
    at: str
    text: str
    prompt_id: str | None


class Change(NamedTuple):
    """A call that changed a file, or meant to."""

    name: str
    at: str
    session_id: str
    agent_id: str | None
    call: Call
    prompt: Prompt | None


def touched(connection: sqlite3.Connection, wanted: str = "", *, often: bool = False, limit: int = 100) -> list[File]:
    """The files whose path has `wanted` in it, those touched last first, or those touched most often.

    Only the index on paths is gone through; rows are read for those that are shown.
    """
    patches = _patches_by_path(connection)
    rows = connection.execute(
        "SELECT file_path, max(id) AS last_id FROM events "
        "WHERE file_path IS NOT NULL AND file_path LIKE :wanted ESCAPE '\\' "
        f"GROUP BY file_path ORDER BY {'count(*)' if often else 'last_id'} DESC LIMIT :limit",
        {"wanted": f"%{_literally(wanted)}%", "limit": limit},
    ).fetchall()
    last_ids: dict[str, int] = {row["file_path"]: row["last_id"] for row in rows}
    for path, own in patches.items():
        if wanted.lower() in path.lower():
            last_ids[path] = max(last_ids.get(path, 0), own[0]["id"])
    found = [_file(connection, path, last_id, patches.get(path, [])) for path, last_id in last_ids.items()]
    found.sort(key=lambda file: file.changes + file.reads if often else last_ids[file.path], reverse=True)
    return found[:limit]


def only_in_transcripts(connection: sqlite3.Connection, wanted: str = "") -> list[File]:
    """The same for sessions that no hook saw. The search index must be attached."""
    found: dict[str, list[Row]] = {}
    lines = Lines(connection)
    for row in _messages(connection, f"{_CHANGING} AND {_ONLY_CALLS}", MOST_MESSAGES):
        for path in _paths_of(row, lines):
            if wanted.lower() in path.lower():
                found.setdefault(path, []).append(row)
    return [
        File(
            path,
            len(rows),
            0,
            0,
            len({row["session_id"] for row in rows}),
            rows[0]["at"] or "",
            rows[0]["session_id"],
            f"m{rows[0]['id']}",
        )
        for path, rows in found.items()
    ]


def history(connection: sqlite3.Connection, path: str, *, indexed: bool) -> list[Row]:
    """Every change of a file, newest first, without its texts; `change` reads one whole.

    What has no column for its file (notebooks, calls that only transcripts know) is found if the index is attached.
    """
    rows = connection.execute(
        f"SELECT id, at, session_id, event, tool_use_id FROM events WHERE file_path = ? AND {_CHANGES} "
        "ORDER BY id DESC LIMIT ?",
        (path, MOST_CHANGES),
    ).fetchall()
    found = [{**row, "is_message": False} for row in _ended(rows)]
    found += [{**row, "is_message": False} for row in _ended(_patches_by_path(connection).get(path, []))]
    if indexed and query.tokens(path):
        phrase = f"({query.quoted(path)})"
        found += [{**row, "is_message": True} for row in messages_on(connection, path)]
        notebooks = f"(path : {phrase}) AND {_CHANGING}"
        found += [
            {**row, "is_message": False}
            for row in _events(connection, notebooks)
            if calls.path_in(row["tool_input"]) == path
        ]
    newest_first = sorted(found, key=lambda row: (row["at"] or "", row["id"]), reverse=True)
    return [{**row, "path": path} for row in newest_first]


def _patches_by_path(connection: sqlite3.Connection) -> dict[str, list[Row]]:
    """The patches of several files, newest first, by the files that their rows do not name.

    Only other agents have such patches: Claude Code's own sessions are not looked at.
    """
    rows = connection.execute(
        "SELECT id, at, session_id, event, tool_use_id, outcome, file_path, tool_input FROM events WHERE session_id IN "
        "(SELECT session_id FROM sessions WHERE client <> 'claude-code') "
        f"AND +event IN {CALL_EVENTS} AND tool_name = 'apply_patch' ORDER BY id DESC LIMIT ?",
        (MOST_PATCHES,),
    ).fetchall()
    found: dict[str, list[Row]] = {}
    for row in rows:
        file_path, inputs = row.pop("file_path"), parse_json(row.pop("tool_input") or "null")
        for path in calls.paths_of_input(inputs):
            if path != file_path:
                found.setdefault(path, []).append(row)
    return found


def messages_on(connection: sqlite3.Connection, path: str) -> list[Row]:
    """The calls on a file that only transcripts know, newest first. The search index must be attached."""
    if not query.tokens(path):
        return []
    expression = f"{{path input}} : ({query.quoted(path)}) AND {_CHANGING} AND {_ONLY_CALLS}"
    lines = Lines(connection)
    return [row for row in _messages(connection, expression, MOST_MESSAGES) if path in _paths_of(row, lines)]


def changes(connection: sqlite3.Connection, rows: list[Row]) -> Iterator[Change]:
    """These rows of `history` as calls, each with the prompt that led to it."""
    prompts: dict[str, list[Prompt]] = {}
    lines = Lines(connection)
    for row in rows:
        session_id = row["session_id"]
        if session_id not in prompts:
            prompts[session_id] = prompts_of(connection, session_id)
        found = _whole(connection, lines, row)
        if found:
            call, agent_id, prompt_id = found
            call = calls.on_file(call, row.get("path", ""))
            name = f"{'m' if row['is_message'] else 'e'}{row['id']}"
            prompt = leading(prompts[session_id], row["at"] or "", prompt_id)
            yield Change(name, row["at"] or "", session_id, agent_id, call, prompt)


def edits_with(
    connection: sqlite3.Connection, text: str, *, path: str = "", limit: int = 20, seconds: float = 1.5
) -> tuple[list[tuple[str, Change]], bool]:
    """The edits that added or removed lines of this text, newest first, and whether all were looked at.

    This is a search: it finds lines that are gone, in any file. Where a line that is in a file comes from is a question
    for `provenance.blame`, which follows it through moves and rewrites.

    The index, which must be attached, knows the edits in which the words of the longest line occur.
    """
    wanted = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    longest = max(wanted, key=len, default="")
    if not query.tokens(longest):
        return [], True
    expression = f"{{code input}} : ({query.quoted(longest)}) AND {_CHANGING}"
    rows = [{**row, "is_message": False} for row in _events(connection, expression)]
    rows += [{**row, "is_message": True} for row in _messages(connection, expression, MOST_CANDIDATES)]
    rows.sort(key=lambda row: (row["at"] or "", row["id"]), reverse=True)
    deadline = time.monotonic() + seconds
    found: list[tuple[str, Change]] = []
    for change in changes(connection, rows):
        if time.monotonic() > deadline or len(found) >= limit:
            return found, False
        if path and path not in calls.paths_of_input(change.call.input):
            continue
        if what := _done_to(wanted, calls.changes(calls.on_file(change.call, path))):
            found.append((what, change))
    return found, len(rows) < MOST_CANDIDATES


def _done_to(wanted: list[str], diff: list[str]) -> str:
    """Whether a diff adds all of these lines, or removes them."""
    for sign, told in (("+", "added"), ("-", "removed")):
        side = [" ".join(line[1:].split()) for line in diff if line.startswith(sign)]
        if all(any(line in other for other in side) for line in wanted):
            return told
    return ""


def _file(connection: sqlite3.Connection, path: str, last_id: int, patches: list[Row]) -> File:
    rows = connection.execute(
        f"SELECT count(*) FILTER (WHERE outcome = 'ok' AND action IN {EDITING}) AS changes, "
        "count(*) FILTER (WHERE outcome = 'ok' AND action = 'read') AS reads, "
        "count(*) FILTER (WHERE outcome = 'failed') AS failures, json_group_array(DISTINCT session_id) AS sessions "
        "FROM (SELECT event, action, outcome, session_id FROM events WHERE file_path = ? ORDER BY id DESC LIMIT ?)",
        (path, MOST_CHANGES),
    ).fetchone()
    sessions = {*parse_json(rows.pop("sessions")), *(row["session_id"] for row in patches)}
    counts = {
        **rows,
        "changes": rows["changes"] + sum(row["outcome"] == "ok" for row in patches),
        "failures": rows["failures"] + sum(row["outcome"] == "failed" for row in patches),
        "sessions": len(sessions),
    }
    last = connection.execute("SELECT at, session_id FROM events WHERE id = ?", (last_id,)).fetchone()
    name = f"e{last_id}"
    return File(path=path, last_at=last["at"], last_session_id=last["session_id"], last_name=name, **counts)


def _ended(rows: list[Row]) -> list[Row]:
    """Without the starts of calls that came to an end."""
    ended = {(row["session_id"], row["tool_use_id"]) for row in rows if row["event"] != CALL_START}
    return [row for row in rows if row["event"] != CALL_START or (row["session_id"], row["tool_use_id"]) not in ended]


def _whole(connection: sqlite3.Connection, lines: Lines, row: Row) -> tuple[Call, str | None, str | None] | None:
    if not row["is_message"]:
        event = connection.execute("SELECT * FROM events WHERE id = ?", (row["id"],)).fetchone()
        return (call_of_events([event]), event["agent_id"], event["prompt_id"]) if event else None
    block, _ = lines.block(row["id"])
    if not block:
        return None
    result = connection.execute(
        "SELECT outcome, text FROM transcript_parts WHERE tool_use_id = ? AND kind = 'tool_result' AND +session_id = ?",
        (row["tool_use_id"], row["session_id"]),
    ).fetchone()
    outcome = "no result" if result is None else result["outcome"]
    error = result["text"] or "" if outcome == "failed" else ""
    call = Call(row["tool_name"], block.get("input", {}), None, outcome, error, action=row["action"] or "")
    return call, row["agent_id"], None


def prompts_of(connection: sqlite3.Connection, session_id: str) -> list[Prompt]:
    """The prompts of a session in the order of time."""
    events = connection.execute(
        "SELECT id, at, prompt, prompt_id FROM events WHERE session_id = ? AND is_typed", (session_id,)
    )
    found = [Prompt(f"e{row['id']}", row["at"], row["prompt"] or "", row["prompt_id"]) for row in events]
    if not found:
        messages = connection.execute(
            "SELECT id, at, text, prompt_id FROM transcript_parts WHERE session_id = ? AND kind = 'prompt'",
            (session_id,),
        )
        found = [Prompt(f"m{row['id']}", row["at"] or "", row["text"] or "", row["prompt_id"]) for row in messages]
    return sorted(found, key=lambda prompt: prompt.at)


def leading(prompts: list[Prompt], at: str, prompt_id: str | None) -> Prompt | None:
    """The prompt that the event names, else the last one before it."""
    named = next((prompt for prompt in prompts if prompt_id and prompt.prompt_id == prompt_id), None)
    position = bisect.bisect_right([prompt.at for prompt in prompts], at)
    return named or (prompts[position - 1] if position else None)


# --- What the search index knows --------------------------------------------------------------------------------------


_ONLY_CALLS = f'tags : "{query.tag("event", "tool_use")}"'


def _messages(connection: sqlite3.Connection, expression: str, limit: int) -> list[Row]:
    return connection.execute(
        "SELECT transcript_parts.id, at, session_id, agent_id, tool_name, tool_use_id, action, text "
        "FROM search.words AS words JOIN search.documents AS documents ON documents.key = words.rowid "
        "JOIN transcript_parts ON transcript_parts.id = documents.message_id "
        "WHERE words MATCH ? AND transcript_parts.kind = 'tool_use' ORDER BY words.rowid DESC LIMIT ?",
        (expression, limit),
    ).fetchall()


def _events(connection: sqlite3.Connection, expression: str) -> list[Row]:
    rows = connection.execute(
        "SELECT events.id, at, session_id, agent_id, event, tool_name, tool_use_id, tool_input "
        "FROM search.words AS words JOIN search.documents AS documents ON documents.key = words.rowid "
        "JOIN events ON events.id = documents.event_id WHERE words MATCH ? ORDER BY words.rowid DESC LIMIT ?",
        (expression, MOST_CANDIDATES),
    ).fetchall()
    return _ended(rows)


def _paths_of(row: Row, lines: Lines) -> list[str]:
    return calls.paths_of_part(lines, row["id"], row["tool_name"], row["text"])


def _literally(text: str) -> str:
    return re.sub(r"([\\%_])", r"\\\1", text)
