"""The course of a session: everything that happened in brief, so that any part of a long one can be shown at once.

`timeline.entries` tells a session from its start, text and all. Whoever wants the 12,000th entry, the number of
failures or a list of the prompts asks here: no long text is read, and the wanted entries are loaded by themselves.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sessionlog.timeline import CALL_EVENTS, MESSAGE_KINDS, MINOR_EVENTS, Entry, Merger

EVENT_KINDS = {
    "UserPromptSubmit": "prompt",
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
}

OUTCOMES = {"PostToolUse": "ok", "PostToolUseFailure": "failed"}

TROUBLE = ("failed", "no result", "denied", "denied or not answered", "not allowed")

# Both with the same columns, so that sorting their rows together is all that merging takes. No long text among them.
EVENTS = """
    SELECT at, 'e', id, event, agent_id, agent_type, tool_name, tool_use_id, prompt_id, NULL, 1, 0
    FROM events WHERE session_id = ?
"""
MESSAGES = """
    SELECT at, 'm', id, kind, agent_id, NULL, tool_name, tool_use_id, prompt_id, is_error,
        CASE kind WHEN 'history' THEN text LIKE '/%' ELSE text IS NOT NULL END, thinking IS NOT NULL
    FROM messages WHERE session_id = ? AND at IS NOT NULL
"""


@dataclass(slots=True, eq=False)
class Item:
    """One thing that happened, without its words."""

    at: str
    name: str  # e12 is an event, m34 a message: where it begins
    kind: str
    title: str = ""  # the tool, or the name of an event
    agent_id: str | None = None
    tool_use_id: str | None = None
    outcome: str = ""  # of a call: ok, failed, no result; of a permission or a review: allowed, denied, …
    minor: bool = False
    was_told: bool = False  # its words are another item's
    number: int = 0  # of the items of the session
    names: list[str] = field(default_factory=list)

    @property
    def is_trouble(self) -> bool:
        """Whether something went wrong, or was refused."""
        return self.kind == "failure" or self.outcome in TROUBLE


@dataclass(slots=True)
class Agent:
    """A sub-agent, and what it did."""

    agent_id: str
    type: str = ""
    description: str = ""
    items: list[Item] = field(default_factory=list)
    stopped: bool = False

    @property
    def calls(self) -> int:
        return sum(item.kind == "tool" for item in self.items)

    @property
    def failures(self) -> int:
        return sum(item.is_trouble for item in self.items)


class Course(NamedTuple):
    """A session in brief."""

    items: list[Item]
    by_name: dict[str, Item]
    agents: dict[str, Agent]

    @property
    def turn(self) -> int:
        """The number of the item that began what is going on now: nothing before it is waited for."""
        for item in reversed(self.items):
            if item.agent_id is None and item.kind in ("prompt", "end", "answer") and item.name[0] == "e":
                return item.number
        return 0


def stamp(connection: sqlite3.Connection, session_id: str) -> tuple[int, ...]:
    """Changes whenever the session has grown or shrunk; asking costs next to nothing."""
    return tuple(
        number or 0
        for table in ("events", "messages")
        for number in _plain(connection, f"SELECT count(*), max(id) FROM {table} WHERE session_id = ?", session_id)[0]
    )


def of(connection: sqlite3.Connection, session_id: str) -> Course:
    """Everything that happened in a session, in the order of time, each thing once."""
    return _Reader(connection, session_id).run()


def load(connection: sqlite3.Connection, session_id: str, items: Iterable[Item]) -> Iterator[Entry]:
    """The entries of these items, with all their words."""
    loader = _Loader(connection, session_id)
    return (loader.load(item) for item in items)


def words(connection: sqlite3.Connection, item: Item, length: int) -> str:
    """The beginning of what was said in a prompt or an answer."""
    if item.name[0] == "m":
        query = "SELECT substr(text, 1, ?) FROM messages WHERE id = ?"
    else:
        query = "SELECT substr(coalesce(prompt, last_assistant_message, message), 1, ?) FROM events WHERE id = ?"
    found = _plain(connection, query, length, int(item.name[1:]))
    return (found[0][0] or "") if found else ""


def _plain(connection: sqlite3.Connection, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
    """Rows as tuples: a dictionary for each of 20,000 would take longer than reading them."""
    cursor = connection.cursor()
    cursor.row_factory = None
    decode, connection.text_factory = connection.text_factory, str  # as fast: only what is sound is stored
    try:
        found: list[tuple[Any, ...]] = cursor.execute(query, parameters).fetchall()
    finally:
        connection.text_factory = decode
    return found


class _Reader:
    """Tells once what both tables have, by the rules of `timeline`."""

    def __init__(self, connection: sqlite3.Connection, session_id: str) -> None:
        self.connection = connection
        self.session_id = session_id
        self.items: list[Item] = []
        self.agents: dict[str, Agent] = {}
        self.calls: dict[str, Item] = {}
        self.prompts: dict[str, Item] = {}
        self.last_calls: dict[tuple[str | None, str | None], Item] = {}
        self.asked: list[tuple[Item, Item | None]] = []
        self.last_words: dict[str | None, Item] = {}

    def run(self) -> Course:
        rows = [row for query in (EVENTS, MESSAGES) for row in _plain(self.connection, query, self.session_id)]
        rows.sort()  # by time, table and id; no two are equal in these
        hook_prompts = {row[8] for row in rows if row[3] == "UserPromptSubmit" and row[1] == "e" and row[8]}
        twins = []
        for row in rows:
            at, source, number, kind, agent_id, agent_type, tool_name, tool_use_id, prompt_id, is_error, *has = row
            name = f"{source}{number}"
            if agent_id:
                agent = self.agents.setdefault(agent_id, Agent(agent_id))
                agent.type = agent.type or agent_type or ""
                agent.stopped = agent.stopped or kind == "SubagentStop"
            if kind in CALL_EVENTS or (tool_use_id and kind in ("tool_use", "tool_result")):
                outcome = OUTCOMES.get(kind) or ("failed" if is_error else "ok" if kind == "tool_result" else "")
                self._call(Item(at, name, "tool", tool_name or "", agent_id, tool_use_id, outcome))
            elif source == "e":
                self._event(Item(at, name, EVENT_KINDS.get(kind, "event"), kind, agent_id), tool_name, prompt_id)
            elif prompt_id and prompt_id in hook_prompts:
                twins.append((name, prompt_id))
            else:
                self._message(Item(at, name, MESSAGE_KINDS.get(kind, "event"), kind, agent_id), *has)
        for name, prompt_id in twins:
            self.prompts[prompt_id].names.append(name)
        return self._finished()

    def _add(self, item: Item) -> None:
        item.number = len(self.items)
        item.names.append(item.name)
        self.items.append(item)
        if item.agent_id:
            self.agents[item.agent_id].items.append(item)

    def _call(self, item: Item) -> None:
        known = self.calls.get(item.tool_use_id) if item.tool_use_id else None
        if known is None:
            if item.tool_use_id:
                self.calls[item.tool_use_id] = item
            self._add(item)
            known = item
        else:
            # What a hook saw counts: a transcript calls a refusal an error of the tool.
            by_hooks = any(name[0] == "e" for name in known.names)
            if item.name[0] == "e" and not by_hooks:
                known.outcome = item.outcome
            elif item.name[0] == "e" or not by_hooks:
                known.outcome = item.outcome or known.outcome
            known.names.append(item.name)
            known.title = known.title or item.title
        self.last_calls[known.agent_id, known.title] = known

    def _event(self, item: Item, tool_name: str | None, prompt_id: str | None) -> None:
        item.minor = item.title in MINOR_EVENTS
        match item.title:
            case "UserPromptSubmit":
                self.last_words.clear()
                if prompt_id:
                    self.prompts[prompt_id] = item
            case "PermissionRequest":
                self.asked.append((item, self.last_calls.get((item.agent_id, tool_name))))
            case "PermissionDenied":
                item.outcome = "denied"
            case "SupervisorDecision":
                query = (
                    "SELECT iif(json_valid(extra), json_extract(extra, '$.decision'), NULL) FROM events WHERE id = ?"
                )
                decision = _plain(self.connection, query, int(item.name[1:]))[0][0]
                item.outcome = "allowed" if decision == "allow" else "not allowed"
            case "Stop" | "SubagentStop":
                if twin := self._told_before(item):
                    item.was_told = True
                    if item.kind == "answer":
                        twin.names.append(item.name)
                        return
        self._add(item)

    def _message(self, item: Item, has_text: bool, has_thinking: bool) -> None:
        if item.title == "history" and has_text:
            item.kind = "command"
        if item.kind == "prompt":
            self.last_words.clear()
        if has_thinking:
            self._add(Item(item.at, item.name, "thinking", "", item.agent_id))
        if item.kind == "thinking":
            return
        if item.kind == "answer":
            if not has_text:
                return
            if twin := self._told_before(item):
                twin.names.append(item.name)
                return
        item.minor = item.kind == "event"
        self._add(item)

    def _told_before(self, item: Item) -> Item | None:
        """Whoever else just said the same: the transcript has an agent's last words, and its Stop event too."""
        before = self.last_words.pop(item.agent_id, None)
        if before and before.name[0] != item.name[0] and self._words(before) == self._words(item):
            return before
        self.last_words[item.agent_id] = item
        return None

    def _words(self, item: Item) -> str:
        table, column = ("messages", "text") if item.name[0] == "m" else ("events", "last_assistant_message")
        found = _plain(self.connection, f"SELECT {column} FROM {table} WHERE id = ?", int(item.name[1:]))
        return (found[0][0] or "").strip()

    def _finished(self) -> Course:
        for item in self.items:
            if item.kind == "tool":
                item.outcome = item.outcome or "no result"
        for item, call in self.asked:
            answered = call is not None and call.outcome != "no result"
            item.outcome = "allowed" if answered else "denied or not answered"
        by_name: dict[str, Item] = {}
        has_messages = any(item.name[0] == "m" for item in self.items)
        for item in self.items:
            item.minor = item.minor or (item.title == "PostCompact" and has_messages)
            for name in item.names:
                by_name.setdefault(name, item)
        told = "SELECT agent_id, agent_type, description FROM agents WHERE session_id = ?"
        for agent_id, agent_type, description in _plain(self.connection, told, self.session_id):
            if agent := self.agents.get(agent_id):
                agent.type, agent.description = agent.type or agent_type or "", description or ""
        return Course(self.items, by_name, self.agents)


class _Loader(Merger):
    """Reads single entries; what takes the whole session to know, the item knows."""

    def __init__(self, connection: sqlite3.Connection, session_id: str) -> None:
        super().__init__(connection, session_id, None)
        self.item = Item("", "", "")

    def load(self, item: Item) -> Entry:
        self.item = item
        light = {"id": int(item.name[1:]), "tool_use_id": item.tool_use_id}
        if item.kind == "tool" and item.tool_use_id:
            self.told_calls.clear()
            found = list(self._call(item.at, light))
        elif item.name[0] == "e":
            found = list(self._event(item.name, light))
        else:
            found = list(self._message(item.name, light))
        same = [entry for entry in found if entry.kind == item.kind] or found
        # Deleted since the course was read, or empty.
        entry = same[0] if same else Entry(item.at, item.kind, "", item.title, item.agent_id)
        return entry._replace(at=item.at, names=tuple(item.names))

    def _was_told(self, agent_id: str | None, words: str, source: str) -> bool:
        return self.item.was_told

    def _decision(self, row: dict[str, Any]) -> str:
        return self.item.outcome
