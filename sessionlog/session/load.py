"""Loads the words of what happened: entries as people read them, one for each item."""

from __future__ import annotations

import itertools
import sqlite3
from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from sessionlog.agents.claude_code.tools import CALL_EVENTS
from sessionlog.archive.event import INPUT_TEXTS
from sessionlog.fastlib import parse_json
from sessionlog.session import merge
from sessionlog.session.call import Call, call_of_events, text_of
from sessionlog.session.outline import Item
from sessionlog.text.plain import duration

if TYPE_CHECKING:
    from sessionlog.session.pictures import Picture
    from sessionlog.transcripts.stored_lines import Lines

Row = dict[str, Any]

# How many items after it a row may come that is a part of an item.
LOOK_BACK = 20
# How many items are looked up at once; their words are read one after the other.
BATCH = 8


class Entry(NamedTuple):
    """One thing that happened, with its words."""

    at: str
    kind: str  # as in Item
    text: str = ""
    title: str = ""
    agent_id: str | None = None
    call: Call | None = None
    names: tuple[str, ...] = ()  # the rows it was made of: e12 is an event, m34 a message
    minor: bool = False


def is_refused(entry: Entry) -> bool:
    """Whether somebody said no: a permission that was denied, a supervisor that does not let the session stop."""
    return entry.title == "denied" or (entry.kind == "review" and not entry.title.startswith("allowed"))


def entries(
    connection: sqlite3.Connection, session_id: str, *, since: str = "", tools: frozenset[str] | None = None
) -> Iterator[Entry]:
    """The session from its start, or from `since` on, as it is read; of tool calls only those of `tools`."""
    return load(connection, session_id, _wanted(merge.items(connection, session_id, since), tools))


def around(
    connection: sqlite3.Connection, session_id: str, name: str, at: str, count: int, tools: frozenset[str] | None = None
) -> Iterator[Entry]:
    """The entry that the event or message `name` is part of, and up to `count` before and after it."""
    table = "transcript_parts" if name.startswith("m") else "events"
    # A tool call has two rows in either table.
    row = connection.execute(
        f"SELECT at FROM {table} WHERE session_id = ? AND at <= ? ORDER BY at DESC LIMIT 1 OFFSET ?",
        (session_id, at, 2 * count + 2),
    ).fetchone()
    near: deque[Item] = deque(maxlen=2 * count + LOOK_BACK)
    items = _wanted(merge.items(connection, session_id, row["at"] if row else "", keep_calls=True), tools)
    found = None
    for item in itertools.chain(items, (None,)):
        # Asked again each time: a later row may become a part of an item that was there before.
        found = next((number for number, one in enumerate(near) if name in one.names), None)
        if found is not None and len(near) > found + count:
            break
        if item and (not item.minor or name in item.names):
            near.append(item)
    if found is not None:
        yield from load(connection, session_id, list(near)[max(0, found - count) : found + count + 1])


def _wanted(items: Iterator[Item], tools: frozenset[str] | None) -> Iterator[Item]:
    return items if tools is None else (item for item in items if item.kind != "tool" or item.title in tools)


def load(connection: sqlite3.Connection, session_id: str, items: Iterable[Item]) -> Iterator[Entry]:
    """The entries of these items."""
    has_parts = "SELECT 1 FROM transcript_parts WHERE session_id = ? LIMIT 1"
    with_parts = connection.execute(has_parts, (session_id,)).fetchone() is not None
    lines = _lines(connection) if with_parts else None
    rest = iter(items)
    while batch := list(itertools.islice(rest, BATCH)):
        ids = [item.tool_use_id for item in batch if _is_call(item)]
        events = _rows_of_calls(connection, "events", _EVENT_COLUMNS, session_id, ids)
        parts = _rows_of_calls(connection, "transcript_parts", _PART_COLUMNS, session_id, ids if with_parts else [])
        for item in batch:
            if _is_call(item):
                yield _load_call(lines, item, next(events), next(parts, []))
            else:
                yield _load_other(connection, session_id, item)


def _lines(connection: sqlite3.Connection) -> Lines:
    from sessionlog.transcripts.stored_lines import Lines  # for sessions with a transcript only

    return Lines(connection)


def _load_other(connection: sqlite3.Connection, session_id: str, item: Item) -> Entry:
    """What is no call with an id, from the row where it begins."""
    table = "transcript_parts" if item.name[0] == "m" else "events"
    row = connection.execute(f"SELECT * FROM {table} WHERE id = ?", (int(item.name[1:]),)).fetchone()
    if row is None:  # deleted since the item was read
        return Entry(item.at, item.kind, "", item.title, item.agent_id, None, tuple(item.names), item.minor)
    entry = event_entry(item, row) if item.name[0] == "e" else _message_entry(item, row)
    if item.title == "PreCompact":
        return entry._replace(text=_summary(connection, session_id, row["at"]) or entry.text)
    if item.title in merge.COMMAND_OUTPUT and item.name[0] == "m":
        return entry._replace(text=entry.text + _command_output(connection, row))
    return entry


def _command_output(connection: sqlite3.Connection, row: Row) -> str:
    """What a command gave back; nothing if the next line of the transcript is something else."""
    following = connection.execute(
        "SELECT kind, text FROM transcript_parts "
        "WHERE session_id = ? AND at >= ? AND +transcript_id = ? AND +id <> ? ORDER BY at, id LIMIT 1",
        (row["session_id"], row["at"], row["transcript_id"], row["id"]),
    ).fetchone()
    is_output = following and following["kind"] == merge.COMMAND_OUTPUT[row["kind"]]
    return f"\n{following['text'] or ''}" if is_output else ""


def _summary(connection: sqlite3.Connection, session_id: str, at: str) -> str:
    """What a compaction that began then came to: the next event or message that has its summary."""
    following = connection.execute(
        "SELECT min(at) AS at FROM events WHERE session_id = ? AND at > ? AND +event = 'PreCompact'", (session_id, at)
    ).fetchone()["at"]
    within = (session_id, at, following or "9999")
    row = connection.execute(
        "SELECT extra FROM events WHERE session_id = ? AND at >= ? AND at < ? AND +event = 'PostCompact' "
        "ORDER BY at LIMIT 1",
        within,
    ).fetchone()
    if row and (summary := _object(row["extra"]).get("compact_summary")):
        return str(summary)
    row = connection.execute(
        "SELECT text FROM transcript_parts WHERE session_id = ? AND at >= ? AND at < ? AND +kind = 'compact_summary' "
        "ORDER BY at LIMIT 1",
        within,
    ).fetchone()
    return row["text"] or "" if row else ""


def load_pictures(connection: sqlite3.Connection, session_id: str, item: Item) -> list[Picture]:
    """The pictures of an item: those that a tool gave back, or that somebody pasted into a prompt."""
    from sessionlog.session import pictures

    if item.kind == "tool":
        (entry,) = load(connection, session_id, [item])
        return pictures.found_in(entry.call.response if entry.call else None)
    lines = _lines(connection)
    of_transcripts = [int(name[1:]) for name in item.names if name[0] == "m"]
    return [found for message_id in of_transcripts for found in pictures.found_in(lines.content(message_id))]


def event_entry(item: Item, row: Row) -> Entry:
    """What an event says, as an entry."""
    extra = _object(row["extra"])
    text, title, call = "", "", None
    match item.kind:
        case "prompt":
            text = row["prompt"]
        case "tool":  # one without an id: old clients, other shapes
            call = call_of_events([row])
            title = call.name
        case "permission":
            call = call_of_events([row])
            text, title = item.reason or str(extra.get("reason") or ""), item.outcome
        case "answer":
            text = row["last_assistant_message"]
        case "sub-agent":
            text = "" if item.repeated else row["last_assistant_message"]
            title = f"{row['agent_type'] or 'agent'} {'started' if item.title == 'SubagentStart' else 'stopped'}"
        case "notice":
            text, title = row["message"] or row["prompt"], str(extra.get("notification_type") or "")
        case "command":
            text = " ".join(str(extra.get(key) or "") for key in ("command_name", "command_args")).strip()
            text = f"/{text}" if text else row["prompt"]
        case "start":
            text = " · ".join(str(extra[key]) for key in ("source", "model") if extra.get(key))
        case "end":
            text = str(extra.get("reason") or "")
        case "review":
            text, title = row["message"] or row["error"], _review_title(row, extra)
        case "failure":
            text = "\n".join(dict.fromkeys(filter(None, (row["error"], row["last_assistant_message"]))))
        case "compaction" if item.title == "PostCompact":
            text, title = str(extra.get("compact_summary") or ""), "summary"
        case "compaction":
            text, title = str(extra.get("custom_instructions") or ""), str(extra.get("trigger") or "")
        case _:
            rest = {key: value for key, value in extra.items() if key != "effort"}
            text = row["message"] or row["error"] or row["file_path"]
            text = text or (_dumped(rest) if rest else "")
            title = item.title
    return Entry(item.at, item.kind, text or "", title, item.agent_id, call, tuple(item.names), item.minor)


def _message_entry(item: Item, row: Row) -> Entry:
    text = row["thinking"] if item.kind == "thinking" else row["text"]
    title = item.title if item.kind == "event" else "was asked" if item.kind == "sub-agent" else ""
    return Entry(item.at, item.kind, text or "", title, item.agent_id, None, tuple(item.names), item.minor)


# What a call is made of: reading all columns of an event takes twice as long.
_EVENT_COLUMNS = (
    *("id", "event", "agent_id", "tool_name", "action", "outcome", "error", "duration_ms", "cwd"),
    *("tool_input", "tool_response", "extra", *INPUT_TEXTS),
)
_PART_COLUMNS = ("id", "kind", "agent_id", "tool_name", "action", "outcome", "text", "reason")


def _is_call(item: Item) -> bool:
    return item.kind == "tool" and bool(item.tool_use_id)


def _rows_of_calls(
    connection: sqlite3.Connection, table: str, columns: tuple[str, ...], session_id: str, ids: list[str | None]
) -> Iterator[list[Row]]:
    """The rows of each of these calls, as they are read: one query for all takes less time than one for each."""
    if not ids:
        return
    cursor = connection.cursor()
    cursor.row_factory = None
    # The unary plus keeps SQLite from the index of the session: it would go through the session for each call. By that
    # of calls, their rows come in the order of their ids. Always as many calls, so that SQLite compiles one query.
    of_call = f"{', '.join(columns)} FROM {table} WHERE tool_use_id = ? AND +session_id = ?"
    query = " UNION ALL ".join(f"SELECT {number}, {of_call}" for number in range(BATCH))
    missing = [None] * (BATCH - len(ids))
    cursor.execute(query, [value for call in (*ids, *missing) for value in (call, session_id)])
    row = cursor.fetchone()
    for number in range(len(ids)):
        own = []
        while row and row[0] == number:
            own.append(dict(zip(columns, row[1:], strict=True)))
            row = cursor.fetchone()
        yield own


def _load_call(lines: Lines | None, item: Item, events: list[Row], parts: list[Row]) -> Entry:
    """A call from all of its rows: the outcome of one that is just being read may be in a later one."""
    denied = [event for event in events if event["outcome"] == "denied"]
    events = [event for event in events if event["event"] in CALL_EVENTS]
    agent_id = next((row["agent_id"] for row in (*events, *parts) if row["agent_id"]), None)
    call = call_of_events(events) if events else None
    if lines is not None and (call is None or call.outcome == "no result"):  # hooks saw nothing of its end
        call = _call_of_parts(lines, parts, call)
    call = call or Call("tool", {})
    if call.outcome == "no result" and denied:
        call = call._replace(outcome="denied", error=str(_object(denied[0]["extra"]).get("reason") or ""))
    failed = next((part for part in parts if part["outcome"] == "failed"), None)
    if failed and call.outcome == "ok":  # Codex tells hooks no exit codes
        call = call._replace(outcome="failed", error=failed["text"] or "failed")
    if item.asked:
        call = call._replace(asked=item.asked)
    if call.outcome == "no result" and item.reason:
        call = call._replace(error=item.reason)
    names = [f"e{row['id']}" for row in events] + [f"m{row['id']}" for row in parts]
    names += [name for name in item.names if name not in names]
    return Entry(item.at, "tool", "", call.name, agent_id, call, tuple(names))


def _call_of_parts(lines: Lines, parts: list[Row], seen: Call | None) -> Call:
    """A call that no hook saw, or saw the end of. The rows have its beginning, the transcript has all of it."""
    call = seen or Call(next((part["tool_name"] for part in parts if part["tool_name"]), "tool"), {})
    for part in parts:
        if part["kind"] == "tool_use" and seen:
            continue
        block, whole = lines.block(part["id"])
        if part["kind"] == "tool_use":
            inputs = block.get("input", {}) if block else part["text"]
            call = call._replace(input=inputs, action=part["action"] or "")
        else:
            response = whole or (block.get("content") if block else part["text"])
            error = ""
            if part["outcome"] != "ok":
                error = part["reason"] or text_of(block.get("content") if block else part["text"])
            call = call._replace(response=response, outcome=part["outcome"], error=error)
    return call


def _review_title(row: Row, extra: Row) -> str:
    """What the supervisor decided, and on whose word: `not allowed to stop, review 2 of 20, 4.1 s, by ./review.sh`."""
    asked = " to ask" if extra.get("about") == "PreToolUse" else " to stop"
    decision = {"allow": f"allowed{asked}", "block": f"not allowed{asked}"}.get(
        str(extra.get("decision")), "no verdict"
    )
    number, limit = extra.get("iteration"), extra.get("max_iterations")
    if isinstance(number, int) and isinstance(limit, int) and number > limit:
        return f"{decision} without a review"
    took = [] if row["duration_ms"] is None else [duration(row["duration_ms"])]
    which = f"review {number}" + (f" of {limit}" if limit is not None else "") if number is not None else "review"
    by = [f"by {reviewer}"] if (reviewer := extra.get("reviewer")) else []
    return ", ".join([decision, which, *took, *by])


def _object(text: str | None) -> Row:
    value = parse_json(text) if text else {}
    return value if isinstance(value, dict) else {}


def _dumped(value: Any) -> str:
    import json  # not for most sessions

    return json.dumps(value, ensure_ascii=False)
