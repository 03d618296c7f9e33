"""What happened in a session, one entry for each thing: hook events and messages of the transcript, merged."""

from __future__ import annotations

import heapq
import json
import sqlite3
from collections.abc import Iterator
from typing import Any, NamedTuple

from sessionlog.event import rebuild
from sessionlog.lean import parse_json
from sessionlog.terminal import duration
from sessionlog.transcripts import lines as transcript_lines

Row = dict[str, Any]

# The client's bookkeeping: kept, but only shown to those who want to see everything.
MINOR_EVENTS = ("MessageDisplay", "PostToolBatch", "SupervisorReview")

CALL_EVENTS = ("PreToolUse", "PostToolUse", "PostToolUseFailure")

MESSAGE_KINDS = {
    "prompt": "prompt",
    "text": "answer",
    "thinking": "thinking",
    "command": "command",
    "command_output": "command",
    "notification": "notice",
    "queued_command": "notice",
    "interruption": "notice",
    "compact_summary": "compaction",
    "api_error": "failure",
}


class Call(NamedTuple):
    """A tool call from its start to its end, as far as it came."""

    name: str
    input: Any
    response: Any
    outcome: str  # ok, failed, no result
    error: str
    duration_ms: int | None
    cwd: str | None


class Entry(NamedTuple):
    """One thing that happened."""

    at: str
    kind: str  # prompt, answer, thinking, tool, permission, review, sub-agent, notice, command, compaction, failure …
    text: str = ""
    title: str = ""
    agent_id: str | None = None
    call: Call | None = None
    names: tuple[str, ...] = ()  # what it was made of: e12 is an event, m34 a message
    minor: bool = False


def is_refused(entry: Entry) -> bool:
    """Whether somebody said no: a permission that was denied, a supervisor that does not let the session stop."""
    return entry.title == "denied" or (entry.kind == "review" and not entry.title.startswith("allowed"))


def entries(
    connection: sqlite3.Connection, session_id: str, *, since: str = "", tools: frozenset[str] | None = None
) -> Iterator[Entry]:
    """The session from its start, or from `since` on; `tools` leaves out the calls of all others.

    Merged here and not by the view `timeline`, which cannot give the first entry before it has seen the last.
    """
    return Merger(connection, session_id, tools).run(since)


def around(
    connection: sqlite3.Connection, session_id: str, name: str, at: str, count: int, tools: frozenset[str] | None = None
) -> Iterator[Entry]:
    """The entry that the event or message `name` is part of, and up to `count` before and after it."""
    table = "messages" if name.startswith("m") else "events"
    # A tool call has two rows in either table.
    row = connection.execute(
        f"SELECT at FROM {table} WHERE session_id = ? AND at <= ? ORDER BY at DESC LIMIT 1 OFFSET ?",
        (session_id, at, 2 * count + 2),
    ).fetchone()
    before: list[Entry] = []
    after = -1
    for entry in entries(connection, session_id, since=row["at"] if row else "", tools=tools):
        if after < 0 and name not in entry.names:
            if not entry.minor:
                before = [*before, entry][-count:]
            continue
        if after < 0:
            yield from before
        elif entry.minor:
            continue
        yield entry
        after += 1
        if after >= count:
            return


class Merger:
    """Goes through both tables in the order of time; whatever both have is told once, where it is met first."""

    def __init__(self, connection: sqlite3.Connection, session_id: str, tools: frozenset[str] | None) -> None:
        self.connection = connection
        self.session_id = session_id
        self.tools = tools
        self.lines = transcript_lines.Lines(connection)
        self.has_messages = self._has_messages()
        self.told_calls: set[str] = set()
        self.hook_prompts: set[str] = set()
        # Of each agent, its last words and who told them: the transcript has them, and the Stop event too.
        self.last_words: dict[str | None, tuple[str, str]] = {}
        # Of each tool of each agent, what became of its last call: the answer to a question for permission.
        self.last_calls: dict[tuple[str | None, str | None], Call] = {}

    def run(self, since: str) -> Iterator[Entry]:
        streams = [self._stream("events", "event AS kind, agent_type", since)]
        if self.has_messages:
            streams.append(self._stream("messages", "kind, prompt_id", since))
            # The unary plus keeps SQLite on the index of the session: all prompts of the archive are many more.
            prompts = self._rows(
                "SELECT prompt_id FROM events WHERE session_id = ? AND +event = 'UserPromptSubmit'", self.session_id
            )
            self.hook_prompts = {row["prompt_id"] for row in prompts if row["prompt_id"]}
        for at, source, row_id, row in heapq.merge(*streams, key=lambda item: item[:3]):
            name = f"{source[0]}{row_id}"
            if row["tool_use_id"] and (row["kind"] in CALL_EVENTS or row["kind"] in ("tool_use", "tool_result")):
                yield from self._call(at, row)
            elif source == "events":
                yield from self._event(name, row)
            else:
                yield from self._message(name, row)

    def _stream(self, table: str, columns: str, since: str) -> Iterator[tuple[str, str, int, Row]]:
        """The rows without their long texts: those are read one by one, and those of a call together."""
        query = (
            f"SELECT id, at, agent_id, tool_name, tool_use_id, {columns} FROM {table} "
            "WHERE session_id = ? AND at >= ? ORDER BY at, id"
        )
        for row in self.connection.execute(query, (self.session_id, since)):
            yield row["at"], table, row["id"], row

    # --- Tool calls ---------------------------------------------------------------------------------------------------

    def _call(self, at: str, row: Row) -> Iterator[Entry]:
        """The whole call, whichever of its rows was met first."""
        tool_use_id = row["tool_use_id"]
        if tool_use_id in self.told_calls:
            return
        self.told_calls.add(tool_use_id)
        wanted = (tool_use_id, self.session_id)
        # The unary plus, as above, keeps SQLite from the wrong index: it would go through the session for each call.
        messages = []
        if self.has_messages:
            messages = self._rows(
                "SELECT id, kind, agent_id, tool_name, is_error, text FROM messages "
                "WHERE tool_use_id = ? AND +session_id = ? ORDER BY id",
                *wanted,
            )
        events = self._rows("SELECT * FROM events WHERE tool_use_id = ? AND +session_id = ? ORDER BY id", *wanted)
        events = [event for event in events if event["event"] in CALL_EVENTS]
        agent_id = next((found["agent_id"] for found in (*events, *messages) if found["agent_id"]), None)
        tool_name = next((found["tool_name"] for found in (*events, *messages) if found["tool_name"]), None)
        if self.tools is not None and tool_name not in self.tools:
            return
        call = call_of_events(events) if events else self._call_of_messages(messages, tool_name)
        self.last_calls[agent_id, call.name] = call
        names = [f"e{event['id']}" for event in events] + [f"m{message['id']}" for message in messages]
        yield Entry(at, "tool", "", call.name, agent_id, call, tuple(names))

    def _call_of_messages(self, messages: list[Row], tool_name: str | None) -> Call:
        """A call that no hook saw. The rows have its beginning, the transcript has it whole."""
        inputs: Any = {}
        response: Any = None
        outcome, error = "no result", ""
        for message in messages:
            block, whole = self.lines.block(message["id"])
            if message["kind"] == "tool_use":
                inputs = block.get("input", {}) if block else message["text"]
            else:
                response = whole or (block.get("content") if block else message["text"])
                outcome = "failed" if message["is_error"] else "ok"
                error = message["text"] or "" if message["is_error"] else ""
        return Call(tool_name or "tool", inputs, response, outcome, error, None, None)

    # --- Everything else ----------------------------------------------------------------------------------------------

    def _event(self, name: str, light: Row) -> Iterator[Entry]:
        (row,) = self._rows("SELECT * FROM events WHERE id = ?", light["id"])
        at, agent_id, event = row["at"], row["agent_id"], row["event"]
        extra = _object(row["extra"])

        def entry(kind: str, text: str | None = "", title: str = "", **more: Any) -> Entry:
            return Entry(at, kind, text or "", title, agent_id, names=(name,), **more)

        match event:
            case "UserPromptSubmit":
                self.last_words.clear()
                yield entry("prompt", row["prompt"])
            case "PreToolUse" | "PostToolUse" | "PostToolUseFailure":  # one without an id: old clients, other shapes
                call = call_of_events([row])
                self.last_calls[agent_id, call.name] = call
                if self.tools is None or call.name in self.tools:
                    yield entry("tool", "", call.name, call=call)
            case "PermissionRequest" | "PermissionDenied":
                yield entry(
                    "permission", str(extra.get("reason") or ""), self._decision(row), call=call_of_events([row])
                )
            case "Stop":
                words = row["last_assistant_message"] or ""
                if not self._was_told(agent_id, words, "event"):
                    yield entry("answer", words)
            case "SubagentStart":
                yield entry("sub-agent", "", f"{row['agent_type'] or 'agent'} started")
            case "SubagentStop":
                words = row["last_assistant_message"] or ""
                told = self._was_told(agent_id, words, "event")
                yield entry("sub-agent", "" if told else words, f"{row['agent_type'] or 'agent'} stopped")
            case "Notification":
                yield entry("notice", row["message"], str(extra.get("notification_type") or ""))
            case "SessionStart":
                yield entry("start", " · ".join(str(extra[key]) for key in ("source", "model") if extra.get(key)))
            case "SessionEnd":
                yield entry("end", str(extra.get("reason") or ""))
            case "SupervisorDecision":
                yield entry("review", row["message"] or row["error"], _review_title(row))
            case "StopFailure":
                yield entry("failure", row["error"])
            case "PreCompact":
                yield entry("compaction", str(extra.get("custom_instructions") or ""), str(extra.get("trigger") or ""))
            case "PostCompact":
                yield entry("compaction", str(extra.get("compact_summary") or ""), "summary", minor=self.has_messages)
            case _:
                text = row["message"] or row["error"] or row["file_path"]
                rest = {key: value for key, value in extra.items() if key != "effort"}
                text = text or (json.dumps(rest, ensure_ascii=False) if rest else "")
                yield entry("event", text, event, minor=event in MINOR_EVENTS)

    def _decision(self, row: Row) -> str:
        """What became of a question: a call of this tool had started when it came, and ended or did not."""
        if row["event"] == "PermissionDenied":
            return "denied"
        call = self.last_calls.get((row["agent_id"], row["tool_name"]))
        return "allowed" if call and call.outcome != "no result" else "denied or not answered"

    def _message(self, name: str, light: Row) -> Iterator[Entry]:
        (row,) = self._rows("SELECT * FROM messages WHERE id = ?", light["id"])
        if row["prompt_id"] and row["prompt_id"] in self.hook_prompts:
            return
        at, agent_id, text = row["at"], row["agent_id"], row["text"] or ""
        kind = MESSAGE_KINDS.get(row["kind"], "event")
        if row["kind"] == "history" and text.startswith("/"):  # a command that no transcript has
            kind = "command"
        if kind == "prompt":
            self.last_words.clear()
        if row["thinking"]:
            yield Entry(at, "thinking", row["thinking"], "", agent_id, None, (name,))
        if kind == "thinking" or (kind == "answer" and (not text or self._was_told(agent_id, text, "message"))):
            return
        minor = kind == "event"
        yield Entry(at, kind, text, row["kind"] if minor else "", agent_id, None, (name,), minor)

    def _was_told(self, agent_id: str | None, words: str, source: str) -> bool:
        """Whether the other source just told these words; if not, it is remembered that this one did."""
        if self.last_words.pop(agent_id, None) == (words.strip(), "event" if source == "message" else "message"):
            return True
        self.last_words[agent_id] = (words.strip(), source)
        return False

    def _has_messages(self) -> bool:
        try:
            return bool(self._rows("SELECT 1 FROM messages WHERE session_id = ? LIMIT 1", self.session_id))
        except sqlite3.OperationalError:  # an old archive on a disk that cannot be written, so not brought up to date
            return False

    def _rows(self, query: str, *parameters: Any) -> list[Row]:
        return self.connection.execute(query, parameters).fetchall()


def _review_title(row: Row) -> str:
    """What the supervisor decided, and who told it so: `not allowed to stop, review 2 of 20, 4.1 s, by ./review.sh`."""
    extra = _object(row["extra"])
    asked = " to ask" if extra.get("about") == "PreToolUse" else " to stop"
    decision = {"allow": f"allowed{asked}", "block": f"not allowed{asked}"}.get(
        str(extra.get("decision")), "no verdict"
    )
    number, limit = extra.get("iteration"), extra.get("max_iterations")
    if isinstance(number, int) and isinstance(limit, int) and number > limit:
        return f"{decision} without a review"
    took = [] if row["duration_ms"] is None else [duration(row["duration_ms"])]
    return ", ".join([decision, f"review {number} of {limit}", *took, f"by {extra.get('reviewer')}"])


def call_of_events(events: list[Row]) -> Call:
    """A call, from its rows in `events`."""
    start = events[0]
    done = next((event for event in events if event["event"] in ("PostToolUse", "PostToolUseFailure")), None)
    last = done or start
    payload = rebuild({**last, "envelope": None})  # always the flat shape
    outcome = "no result" if done is None else "failed" if done["event"] == "PostToolUseFailure" else "ok"
    return Call(
        start["tool_name"] or "tool",
        payload.get("tool_input"),
        payload.get("tool_response"),
        outcome,
        last["error"] or "",
        last["duration_ms"],
        last["cwd"],
    )


def _object(text: str | None) -> Row:
    value = parse_json(text) if text else {}
    return value if isinstance(value, dict) else {}
