"""Merges hook events and transcript lines into the things that happened, each once.

This is the one place that decides what belongs together. It reads no long text: `load` reads the words of the items
that somebody wants to see.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from sessionlog.agents.claude_code.tools import CALL_ENDS, CALL_EVENTS
from sessionlog.session.outline import Agent, Item, Outline
from sessionlog.times import archive_text, moment

EVENT_KINDS = {
    "UserPromptSubmit": "prompt",
    "AgentPrompt": "notice",  # a UserPromptSubmit that nobody typed
    "UserPromptExpansion": "command",
    "Stop": "answer",
    "PermissionRequest": "permission",
    "PermissionDenied": "permission",
    "SubagentStart": "sub-agent",
    "SubagentStop": "sub-agent",
    "Notification": "notice",
    "SessionStart": "start",
    "SessionEnd": "end",
    "StopFailure": "failure",
    "PreCompact": "compaction",
    "PostCompact": "compaction",
    "SupervisorDecision": "review",
} | dict.fromkeys(CALL_EVENTS, "tool")

PART_KINDS = {
    "prompt": "prompt",
    "task": "sub-agent",  # what the sub-agent was asked to do
    "text": "answer",
    "thinking": "thinking",
    "command": "command",
    "command_output": "command",
    "bash_input": "command",
    "bash_output": "command",
    "notification": "notice",
    "interruption": "notice",
    "compact_summary": "compaction",
    "api_error": "notice",  # one that ended the turn has an outcome, and is a failure
}

# What a command gave back, by the command: the next line of the transcript.
COMMAND_OUTPUT = {"bash_input": "bash_output", "command": "command_output"}

# How the client's notice begins that it waits for a permission.
ASKS = "Claude needs your permission"

# What is known of the end of a call; the later ones say more.
OUTCOMES = ("no result", "ok", "denied", "failed")

# The client's bookkeeping: kept, but shown only to those who want to see everything.
MINOR_EVENTS = ("MessageDisplay", "PostToolBatch", "SupervisorReview")

# Both with the same columns, in the order of an index, so that their rows can be merged as they are read. No long text.
_EVENTS = """
    SELECT
        at, 'e', id, iif(event = 'UserPromptSubmit' AND NOT is_typed, 'AgentPrompt', event), agent_id, agent_type,
        tool_name, tool_use_id, prompt_id, action, outcome, 1, 0, NULL, NULL
    FROM events WHERE session_id = ? AND at >= ? ORDER BY at, id
"""
_PART = """
        'm', id, kind, agent_id, NULL, tool_name, tool_use_id, prompt_id,
        iif(tool_name IS NULL, NULL, action), outcome,  -- most have no tool, and finding its action takes time
        CASE kind WHEN 'history' THEN text LIKE '/%' ELSE text IS NOT NULL END, thinking IS NOT NULL,
        transcript_id, line
    FROM transcript_parts WHERE session_id = ?
"""
_PARTS = f"SELECT at, {_PART} AND at >= ? ORDER BY at, id"
_PARTS_IN_FILES = f"SELECT at, {_PART} AND at IS NOT NULL ORDER BY transcript_id, line, part"
_LINES = "SELECT at, transcript_id, line FROM transcript_parts WHERE session_id = ? AND at IS NOT NULL ORDER BY at, id"
# Where lines of a file are in another order than their times by more than this (in days), somebody set the clock back,
# and the order of the lines is right. What is written at about the same time may have its times in any order.
SET_BACK = 2 / 1440
# What is taken to lie between the last line before that and the first one after it.
GAP = timedelta(minutes=1)
NONE = timedelta()
# What the hooks have seen of what a transcript may have too. The unary plus keeps SQLite on the index of the session.
_SEEN_BY_HOOKS = """
    SELECT iif(event = 'UserPromptSubmit' AND NOT is_typed, 'AgentPrompt', event), prompt_id,
        iif(event = 'UserPromptSubmit', prompt, last_assistant_message)
    FROM events WHERE session_id = ? AND +event IN ('UserPromptSubmit', 'StopFailure')
"""
# Which call started which sub-agent.
_STARTED = """
    SELECT tool_use_id, json_extract(tool_response, '$.agentId') FROM events
    WHERE session_id = ? AND +event = 'PostToolUse' AND +action = 'agent' AND json_valid(tool_response)
"""
# Whether permission was asked at all. Such events are rare, and found by their own index.
_ASKED = "SELECT 1 FROM events WHERE event IN ('PermissionRequest', 'PermissionDenied') AND +session_id = ? LIMIT 1"
# A reason may be any JSON text, and then no UTF-8.
_DECISIONS = "SELECT id, decision, CAST(reason AS BLOB), tool_use_id FROM permission_decisions WHERE session_id = ?"
_DECISION = "SELECT iif(json_valid(extra), json_extract(extra, '$.decision'), NULL) FROM events WHERE id = ?"


def read(connection: sqlite3.Connection, session_id: str) -> Outline:
    """Everything that happened in a session."""
    merger = _Merger(connection, session_id)
    try:
        items = list(merger.run())
    except _SetBack:
        merger = _Merger(connection, session_id, in_files=True)
        items = list(merger.run())
    by_name: dict[str, Item] = {}
    for item in items:
        if item.agent_id:
            merger.agents[item.agent_id].items.append(item)
        for name in item.names:
            by_name.setdefault(name, item)
    facts = "SELECT agent_id, agent_type, description, tool_use_id FROM subagent_facts WHERE session_id = ?"
    for agent_id, agent_type, description, tool_use_id in _tuples(connection, facts, session_id):
        if agent := merger.agents.get(agent_id):
            agent.type, agent.description = agent.type or agent_type or "", description or ""
            agent.call = merger.calls.get(tool_use_id)
    if any(agent.call is None for agent in merger.agents.values()) and any(item.action == "agent" for item in items):
        for tool_use_id, agent_id in _tuples(connection, _STARTED, session_id):
            if agent := merger.agents.get(agent_id):
                agent.call = agent.call or merger.calls.get(tool_use_id)
    return Outline(items, by_name, merger.agents)


def items(connection: sqlite3.Connection, session_id: str, since: str = "", keep_calls: bool = False) -> Iterator[Item]:
    """The items of a session from a time on, as they are read: of a call, what its first row says.

    The memory this takes does not grow with the session, but for the ids of its calls; if they are to be kept, later
    rows are added to them. Where the clock was set back, the whole session is read first.
    """
    return _Merger(connection, session_id, since, keep_calls, _is_set_back(connection, session_id)).run()


def event_item(row: dict[str, Any]) -> Item:
    """The item that an event is when it stands for itself."""
    event = row["event"]
    kind = EVENT_KINDS.get(event, "event")
    title = row["tool_name"] or "" if kind == "tool" else event
    outcome = row["outcome"] or ("no result" if kind == "tool" else "")
    return Item(row["at"], f"e{row['id']}", kind, title, row["agent_id"], None, row["action"] or "", outcome)


def stamp(connection: sqlite3.Connection, session_id: str) -> tuple[int, ...]:
    """Changes whenever the session has grown or shrunk; costs next to nothing."""
    return tuple(
        number or 0
        for table in ("events", "transcript_parts")
        for found in _tuples(connection, f"SELECT count(*), max(id) FROM {table} WHERE session_id = ?", session_id)
        for number in found
    )


def _tuples(connection: sqlite3.Connection, query: str, *parameters: Any) -> Iterator[tuple[Any, ...]]:
    """Rows as tuples: a dictionary for each of 20,000 would take longer than reading them."""
    cursor = connection.cursor()
    cursor.row_factory = None
    decode = connection.text_factory
    connection.text_factory = str  # only valid UTF-8 is stored, and a function for each value takes time
    try:
        cursor.execute(query, parameters)
        rows = cursor.fetchmany(100)
    finally:
        connection.text_factory = decode
    while rows:
        yield from rows
        connection.text_factory = str
        try:
            rows = cursor.fetchmany(500)
        finally:
            connection.text_factory = decode


class _Seen:
    """What a hook saw: its item once that was met, and until then the names of messages that say the same."""

    __slots__ = ("has_id", "item", "twins")

    def __init__(self, has_id: bool) -> None:
        self.has_id = has_id
        self.item: Item | None = None
        self.twins: list[str] = []


class _SetBack(Exception):
    """Lines of a file are not in the order of their times: somebody set the clock back."""


class _Merger:
    """Goes through the rows of both tables in the order of time; what both have becomes one item, where it begins."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        session_id: str,
        since: str = "",
        keep_calls: bool = True,
        in_files: bool | None = None,  # in the order of files; if that is not known, `_SetBack` may be raised
    ) -> None:
        self.connection = connection
        self.session_id = session_id
        self.since = since
        self.keep_calls = keep_calls
        self.in_files = in_files
        self.times: dict[str, str] = {}  # what the clock said, where that is not the order
        self.agents: dict[str, Agent] = {}
        self.calls: dict[str, Item | None] = {}
        # Calls that failed by the transcript: Codex tells hooks no exit codes.
        self.failed: set[str] = set()
        self.number = 0
        # The latest words of each agent: the transcript has them, and the Stop event too.
        self.last_words: dict[str | None, Item] = {}
        # Prompts and failures that hooks saw, by prompt_id and by words.
        self.seen: dict[tuple[str, str], _Seen] = {}
        # What was decided, by the question's row; and the questions about a call, by its id.
        self.decisions: dict[int, tuple[str, str]] = {}
        self.questions: dict[str, list[int]] = {}
        self.calls_asked_about: dict[int, str] = {}
        # What the next event or message may belong to: a compaction, a failure of the model.
        self.compaction: Item | None = None
        self.compacted = self.summed_up = False  # whether the event of its end, and its summary, have been met
        self.failure: Item | None = None
        # The command that is the latest line of each transcript.
        self.commands: dict[int, Item] = {}
        has_parts = "SELECT 1 FROM transcript_parts WHERE session_id = ? LIMIT 1"
        self.has_parts = any(True for _ in _tuples(connection, has_parts, session_id))

    def run(self) -> Iterator[Item]:
        if self.has_parts:
            for event, prompt_id, words in _tuples(self.connection, _SEEN_BY_HOOKS, self.session_id):
                seen = _Seen(bool(prompt_id))
                for key in filter(None, (prompt_id, words)):
                    self.seen[EVENT_KINDS[event], key] = seen
        if any(True for _ in _tuples(self.connection, _ASKED, self.session_id)):
            for row_id, decision, reason, tool_use_id in _tuples(self.connection, _DECISIONS, self.session_id):
                if row_id is not None:
                    self.decisions[row_id] = (decision, (reason or b"").decode("utf-8", "replace"))
                    if tool_use_id:
                        self.questions.setdefault(tool_use_id, []).append(row_id)
                        self.calls_asked_about[row_id] = tool_use_id
        for row in self._rows():
            at, source, row_id, kind, agent_id, agent_type, tool, tool_use_id, prompt_id, action, outcome = row[:11]
            name = f"{source}{row_id}"
            command = self.commands.pop(row[13], None) if self.commands and source == "m" else None
            if self.in_files:
                at = self.times[name]
            if agent_id:
                agent = self.agents.setdefault(agent_id, Agent(agent_id))
                agent.type = agent.type or agent_type or ""
                agent.stopped = agent.stopped or kind == "SubagentStop"
            if kind in CALL_EVENTS or (tool_use_id and kind in ("tool_use", "tool_result")):
                if outcome == "failed" and source == "m":
                    self.failed.add(tool_use_id)
                elif outcome == "ok" and tool_use_id in self.failed:
                    outcome = "failed"
                if tool_use_id in self.calls:
                    if known := self.calls[tool_use_id]:
                        _continue_call(known, name, tool, action, outcome)
                    continue
                item = Item(at, name, "tool", tool or "", agent_id, tool_use_id, action or "", outcome or "no result")
                if tool_use_id:
                    self.calls[tool_use_id] = item if self.keep_calls else None
                    self._ask(item, tool_use_id)
                self.failure = None
                yield self._numbered(item)
            elif source == "e":
                item = Item(at, name, EVENT_KINDS.get(kind, "event"), kind, agent_id, None, "", outcome or "")
                if outcome == "denied" and (call := self.calls.get(tool_use_id)) and call.outcome == "no result":
                    call.outcome = "denied"
                if self._is_new_event(item, row_id, prompt_id):
                    yield self._numbered(item)
            else:
                if command and COMMAND_OUTPUT[command.title] == kind:
                    command.names.append(name)
                    continue
                item = Item(at, name, PART_KINDS.get(kind, "event"), kind, agent_id, None, "", outcome or "")
                if kind in COMMAND_OUTPUT:
                    self.commands[row[13]] = item
                yield from self._message(item, prompt_id, row[11], row[12])

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows of both tables in order, by what is first in them."""
        events = _tuples(self.connection, _EVENTS, self.session_id, self.since)
        if not self.has_parts:
            return events
        if self.in_files:
            all_parts = list(_tuples(self.connection, _PARTS_IN_FILES, self.session_id))
            all_events = list(_tuples(self.connection, _EVENTS, self.session_id, ""))
            self.times = {f"{row[1]}{row[2]}": row[0] for row in (*all_parts, *all_events)}
            parts, shifts = _corrected_parts(all_parts)
            rows = sorted([*_corrected_events(all_events, shifts), *parts])
            return (row for row in rows if row[0] >= self.since)
        by_time = _tuples(self.connection, _PARTS, self.session_id, self.since)
        import heapq  # for sessions with a transcript only

        return heapq.merge(events, self._watched(by_time) if self.in_files is None else by_time)

    def _watched(self, parts: Iterator[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
        """The parts as they come. As a rule all files are in order, and asking beforehand would take time."""
        latest: dict[int, int] = {}
        for part in parts:
            file, line = part[-2:]
            if line < latest.get(file, 0):
                if _is_set_back(self.connection, self.session_id):
                    raise _SetBack
                yield part
                yield from parts
                return
            latest[file] = line
            yield part

    def _ask(self, call: Item, tool_use_id: str) -> None:
        """Whether permission was asked for a call, and given: that is a part of the call."""
        for row_id in self.questions.get(tool_use_id, ()):
            decision, reason = self.decisions[row_id]
            call.names.append(f"e{row_id}")
            call.asked = decision if call.asked in ("", "denied or not answered") else call.asked
            call.reason = call.reason or reason

    def _numbered(self, item: Item) -> Item:
        item.number = self.number
        item.names.insert(0, item.name)
        self.number += 1
        return item

    def _is_new_event(self, item: Item, row_id: int, prompt_id: str | None) -> bool:
        """Completes the item of an event; whether it is not a part of another one."""
        item.minor = item.title in MINOR_EVENTS or (item.title == "PostCompact" and self.has_parts)
        match item.kind:
            case "prompt":
                self.last_words.clear()
                self.failure = None
                self._meet(item, prompt_id)
            case "notice" if item.title == "AgentPrompt":
                self._meet(item, prompt_id)
            case "failure":
                if self.failure and self.failure.name[0] == "m":  # the transcript has it in other words
                    self.failure.names.append(item.name)
                    return False
                self._meet(item, None)
                self.failure = item
            case "permission":
                if self.calls_asked_about.get(row_id) in self.calls:
                    return False
                item.outcome, item.reason = self.decisions.get(row_id, ("denied or not answered", ""))
            case "compaction":
                if item.title == "PostCompact" and self.compaction and not self.compacted:
                    self.compaction.names.append(item.name)
                    self.compacted = True
                    return False
                self.compaction, self.compacted, self.summed_up = item, item.title == "PostCompact", False
            case "notice" if self.questions and self._words(item).startswith(ASKS):
                item.minor = True  # the call says that somebody was asked
            case "review":
                ((decision,),) = _tuples(self.connection, _DECISION, row_id)
                item.outcome = "allowed" if decision == "allow" else "not allowed"
            case "answer" | "sub-agent" if item.title != "SubagentStart":
                if twin := self._said_before(item):
                    item.repeated = True
                    if item.kind == "answer":
                        twin.names.append(item.name)
                        return False
        return True

    def _message(self, item: Item, prompt_id: str | None, has_text: bool, has_thinking: bool) -> Iterator[Item]:
        """The items of a part of a transcript that is no call."""
        if item.title == "history" and has_text:  # a command that no transcript has
            item.kind = "command"
        elif item.title == "api_error" and item.outcome == "failed":
            item.kind = "failure"
        seen = self._seen_by_hooks(item, prompt_id) if item.kind in ("prompt", "notice", "failure") else None
        if seen:
            (seen.item.names if seen.item else seen.twins).append(item.name)
            return
        if item.kind == "prompt":
            self.last_words.clear()
            self.failure = None
        if item.kind == "failure":
            if self.failure and self.failure.name[0] == "e":
                self.failure.names.append(item.name)
                return
            self.failure = item
        if item.kind == "compaction":
            if self.compaction and not self.summed_up:
                self.compaction.names.append(item.name)
                self.summed_up = True
                return
            self.compaction, self.compacted, self.summed_up = item, False, True
        if has_thinking:
            yield self._numbered(Item(item.at, item.name, "thinking", "", item.agent_id))
        if item.kind == "thinking" or (item.kind == "answer" and not has_text):
            return
        if item.kind == "answer" and (twin := self._said_before(item)):
            twin.names.append(item.name)
            return
        item.minor = item.kind == "event"
        yield self._numbered(item)

    # --- What hooks and transcript both say ---------------------------------------------------------------------------

    def _meet(self, item: Item, prompt_id: str | None) -> None:
        """A prompt or a failure that a hook saw: messages that say the same are a part of it."""
        if self.has_parts and (seen := self.seen.get((item.kind, prompt_id or self._words(item)))):
            seen.item = item
            item.names += seen.twins

    def _seen_by_hooks(self, item: Item, prompt_id: str | None) -> _Seen | None:
        """What a hook saw of it: by its id, or by its words where one of the two has no id."""
        if not self.seen:
            return None
        if prompt_id and (seen := self.seen.get((item.kind, prompt_id))):
            return seen
        seen = self.seen.get((item.kind, self._words(item)))
        return None if seen and seen.has_id and prompt_id else seen

    def _said_before(self, item: Item) -> Item | None:
        """The item that has the same words, if the other source just said them."""
        before = self.last_words.pop(item.agent_id, None)
        if before and before.name[0] != item.name[0] and self._words(before).strip() == self._words(item).strip():
            return before
        self.last_words[item.agent_id] = item
        return None

    def _words(self, item: Item) -> str:
        return words(self.connection, item, -1)


def _is_set_back(connection: sqlite3.Connection, session_id: str) -> bool:
    """Whether a line is much later than one that follows it in its file."""
    # Of each file, and of each minute in it that has a later line than those before: that line, and the first time.
    files: dict[int, tuple[list[int], list[str]]] = {}
    for at, file, line in _tuples(connection, _LINES, session_id):
        lines, times = files.setdefault(file, ([], []))
        if not lines or line >= lines[-1]:
            if times and at[:16] == times[-1][:16]:
                lines[-1] = line
            else:
                lines.append(line)
                times.append(at)
        else:
            from bisect import bisect_right  # in nearly all files, the lines are in order

            if _days(times[bisect_right(lines, line)], at) > SET_BACK:
                return True
    return False


def _days(earlier: str, later: str) -> float:
    try:
        return (moment(later) - moment(earlier)).total_seconds() / 86400
    except (ValueError, OverflowError):
        return 0


def _corrected_parts(
    parts: list[tuple[Any, ...]],
) -> tuple[list[tuple[Any, ...]], dict[tuple[str, bool], timedelta]]:
    """The parts with the times of a clock that is never set back, and by how much those of calls and prompts differ."""
    found = []
    shifts: dict[tuple[str, bool], timedelta] = {}
    file, shift, latest = None, NONE, ""
    for part in parts:
        if part[-2] != file:
            file, shift, latest = part[-2], NONE, ""
        at = _later(part[0], shift)
        if at < latest and _days(at, latest) > SET_BACK:
            shift += moment(latest) - moment(at) + GAP
            at = _later(part[0], shift)
        latest = max(latest, at)
        found.append((at, *part[1:]))
        kind, tool_use_id, prompt_id = part[3], part[7], part[8]
        if key := tool_use_id or prompt_id:
            shifts.setdefault((key, kind == "tool_result"), shift)
    return found, shifts


def _corrected_events(
    events: list[tuple[Any, ...]], shifts: dict[tuple[str, bool], timedelta]
) -> Iterator[tuple[Any, ...]]:
    """Likewise for events: by as much as the line that says the same, or as the event that came before it."""
    shift = NONE
    for event in sorted(events, key=lambda event: int(event[2])):
        kind, tool_use_id, prompt_id = event[3], event[7], event[8]
        key = tool_use_id or (prompt_id if kind in ("UserPromptSubmit", "AgentPrompt") else None)
        shift = shifts.get((key, kind in CALL_ENDS), shift) if key else shift
        yield (_later(event[0], shift), *event[1:])


def _later(at: str, shift: timedelta) -> str:
    try:
        return archive_text(moment(at) + shift) if shift else at
    except (ValueError, OverflowError):
        return at


def _continue_call(call: Item, name: str, tool: str | None, action: str | None, outcome: str | None) -> None:
    """Adds a further row to a call."""
    # Either may have missed its end, and Codex tells hooks no exit codes.
    if outcome and OUTCOMES.index(outcome) > OUTCOMES.index(call.outcome):
        call.outcome = outcome
    call.names.append(name)
    call.title = call.title or tool or ""
    call.action = call.action or action or ""


def words(connection: sqlite3.Connection, item: Item, length: int) -> str:
    """The beginning of what was said in a prompt, an answer or a failure; all of it if the length is negative."""
    if item.name[0] == "m":
        column, table = "text", "transcript_parts"
    else:
        column, table = "coalesce(prompt, last_assistant_message, message)", "events"
    some = column if length < 0 else f"substr({column}, 1, {length})"
    found = next(_tuples(connection, f"SELECT {some} FROM {table} WHERE id = ?", int(item.name[1:])), ("",))
    return found[0] or ""
