"""What `prune` removed, and how it stays out: of a pruned session, nothing up to a moment comes in again.

A file that was archived before is known by its bytes: what lies behind them is new. A copy of it, an older version, an
export or another archive is known by its session, and there the time of each line or event decides.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any, NamedTuple

from sessionlog.agents import transcripts
from sessionlog.agents.claude_code import transcript_files, transcript_lines
from sessionlog.agents.registry import CLAUDE_CODE
from sessionlog.fastlib import encode_json, parse_json, utc_text

# What stands where a tool's output was: a payload is still rebuilt, and Claude Code still resumes the session.
MARKER = "[pruned]"
MARKER_JSON = f'"{MARKER}"'


class Limit(NamedTuple):
    """Of a session, everything up to the first moment was pruned, and the output of tools up to the second."""

    until: str
    output_until: str


Limits = Mapping[str, Limit]  # by session


def read(connection: sqlite3.Connection) -> dict[str, Limit]:
    """All that is remembered in an archive."""
    cursor = connection.cursor()
    cursor.row_factory = None
    rows = cursor.execute("SELECT session_id, ifnull(until, ''), ifnull(output_until, '') FROM pruned_sessions")
    return {session_id: Limit(*moments) for session_id, *moments in rows}


def remember(connection: sqlite3.Connection, session_id: str, only_output: bool, last_line: str = "") -> None:
    """From now on, what there is of a session stays out, or the output of its tools.

    `last_line` is the time of the last line in its files. It may have no row, and come after all that have one.
    """
    column = "output_until" if only_output else "until"
    connection.execute(
        f"INSERT INTO pruned_sessions (session_id, {column}, pruned_at) "
        "SELECT session_id, max(last_at, ifnull((SELECT max(at) FROM transcript_parts AS part "
        "WHERE part.session_id = sessions.session_id), ''), ?), strftime('%Y-%m-%dT%H:%M:%fZ') "
        "FROM sessions WHERE session_id = ? ON CONFLICT (session_id) DO UPDATE SET "
        f"{column} = max(ifnull({column}, ''), excluded.{column}), pruned_at = excluded.pruned_at",
        (last_line, session_id),
    )


def last_time(lines: list[bytes]) -> str:
    """The latest time of these lines of a file; empty if none has one."""
    times = (transcript_lines.time_of(parsed(line).get("timestamp")) for line in lines)
    return max(filter(None, times), default="")


def is_out(limit: Limit | None, at: str | None) -> bool:
    """Whether something of that time is to stay out. What has no time is as old as the rest."""
    return limit is not None and limit.until != "" and (at is None or at <= limit.until)


def is_silenced(limit: Limit | None, at: str | None) -> bool:
    """Whether the output of a tool of that time is to stay out."""
    return limit is not None and limit.output_until != "" and (at is None or at <= limit.output_until)


def kept_lines(lines: list[bytes], kind: str, session_id: str, limits: Limits, client: str) -> list[bytes]:
    """The lines of a file without what was pruned; a line that stays out is left empty, to keep the count."""
    if kind == transcript_files.HISTORY:
        return [b"" if _is_out_of_history(line, limits) else line for line in lines]
    limit = limits.get(session_id)
    if limit is None:
        return lines
    kept, at = [], None
    for line in lines:  # one without a time belongs to the one before it
        at = transcript_lines.time_of(parsed(line).get("timestamp")) or at
        kept.append(b"" if is_out(limit, at) else without_output(line, client) if is_silenced(limit, at) else line)
    return kept


def with_output(limits: Limits) -> Limits:
    """The limits of what is left out, without those of what tools gave back."""
    return {session_id: limit._replace(output_until="") for session_id, limit in limits.items()}


class Unrecorded(NamedTuple):
    """What the user chose not to record: what happened in a pause, and the output of tools."""

    pauses: tuple[tuple[str, str], ...]
    tool_output: bool  # whether it is recorded


def recorded_lines(lines: list[bytes], chosen: Unrecorded, client: str) -> list[bytes]:
    """The lines of a file without what is not recorded; such a line is left empty, to keep the count."""
    kept, at = [], ""
    for line in lines:  # one without a time belongs to the one before it
        if chosen.pauses:
            at = transcript_lines.time_of(parsed(line).get("timestamp")) or at
        is_paused = any(begin <= at < end for begin, end in chosen.pauses)
        kept.append(b"" if is_paused else line if chosen.tool_output else without_output(line, client))
    return kept


def _is_out_of_history(line: bytes, limits: Limits) -> bool:
    entry = parsed(line)
    stamp = entry.get("timestamp")
    at = utc_text(stamp) if type(stamp) is int and 0 <= stamp < 4e12 else None
    return is_out(limits.get(str(entry.get("sessionId"))), at)


def without_output(line: bytes, client: str) -> bytes:
    """A line of a transcript without the results of tools in it."""
    if client != CLAUDE_CODE:
        return _without_output_of(line, transcripts.output_names(client))
    if b"tool_result" not in line and b"toolUseResult" not in line:
        return line
    entry = parsed(line)
    message = entry.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    blocks = content if isinstance(content, list) else []
    results = [block for block in blocks if isinstance(block, dict) and block.get("type") == "tool_result"]
    if not results and "toolUseResult" not in entry:
        return line
    for block in results:
        block["content"] = MARKER
    if "toolUseResult" in entry:
        entry["toolUseResult"] = MARKER
    return str(encode_json(entry)).encode("utf-8", "replace")


# What a call was given: it stays, whatever the names in it.
_INPUTS = frozenset(("args", "arguments", "function_args", "toolArgs"))


def _without_output_of(line: bytes, names: frozenset[str]) -> bytes:
    """The same for other agents: every text under one of these names goes, and the form stays."""
    if not any(f'"{name}"'.encode() in line for name in names):
        return line
    entry = parsed(line)
    stack: list[tuple[Any, bool]] = [(entry, False)]
    changed = False
    while stack:
        value, is_output = stack.pop()
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            inside = is_output or key in names
            if key in _INPUTS:
                continue
            if isinstance(value[key], (dict, list)):
                stack.append((value[key], inside))
            elif inside and isinstance(value[key], str) and value[key] not in ("", MARKER):
                value[key] = MARKER
                changed = True
    return str(encode_json(entry)).encode("utf-8", "replace") if changed else line


def silence(reader: transcript_lines.Reader) -> None:
    """Take what tools gave back out of what was read."""
    reader.rows = [
        (*row[:_TEXT], MARKER, *row[_TEXT + 1 :]) if row[_KIND] == "tool_result" and row[_TEXT] else row
        for row in reader.rows
    ]


def parsed(line: bytes) -> dict[str, Any]:
    """The JSON object of a line; empty if it is none."""
    try:
        entry = parse_json(line.decode("utf-8", "replace")) if line else {}
    except ValueError:
        return {}
    return entry if isinstance(entry, dict) else {}


_SESSION, _KIND, _AT, _TEXT = map(transcript_lines.COLUMNS.index, ("session_id", "kind", "at", "text"))
_USAGE_SESSION, _USAGE_AT = 2, 6


def keep_out(reader: transcript_lines.Reader, limits: Limits) -> None:
    """Take out of what was read what belongs to a pruned session: the file of another session may hold lines of it."""
    rows = [row for row in reader.rows if not is_out(limits.get(row[_SESSION]), row[_AT])]
    reader.rows = [
        (*row[:_TEXT], MARKER, *row[_TEXT + 1 :])
        if row[_KIND] == "tool_result" and row[_TEXT] and is_silenced(limits.get(row[_SESSION]), row[_AT])
        else row
        for row in rows
    ]
    reader.usage = {
        key: usage
        for key, usage in reader.usage.items()
        if not is_out(limits.get(usage[_USAGE_SESSION]), usage[_USAGE_AT])
    }
    reader.facts = {
        session_id: facts
        for session_id, facts in reader.facts.items()
        if not is_out(limits.get(session_id), facts.get("last_at"))
    }
    for session_id, facts in reader.facts.items():
        if session_id in limits and "first_at" in facts:
            facts["first_at"] = max(facts["first_at"], limits[session_id].until)
