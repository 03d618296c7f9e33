"""A session without its words: what happened, in order, and who did it."""

from __future__ import annotations

from typing import NamedTuple

EDITING = ("edit", "write")  # actions that change a file

TROUBLE = ("failed", "no result", "denied", "denied or not answered", "not allowed")


# Item and Agent are written by hand: making two dataclasses takes as long as a fifth of starting Python.


class Item:
    """One thing that happened, without its words."""

    __slots__ = (
        *("at", "name", "kind", "title", "agent_id", "tool_use_id", "action", "outcome", "reason", "asked"),
        *("minor", "repeated", "number", "names"),
    )

    def __init__(
        self,
        at: str,
        name: str,  # e12 is an event, m34 a message: the row where it begins
        kind: str,  # prompt, answer, thinking, tool, permission, review, sub-agent, notice, command, compaction, …
        title: str = "",  # the tool, or the name of the event
        agent_id: str | None = None,
        tool_use_id: str | None = None,
        action: str = "",  # of a call, what its tool does: run, edit, write, read, fetch, agent, ask
        outcome: str = "",  # of a call: ok, failed, denied, no result; of a permission or a review: allowed, denied, …
    ) -> None:
        self.at, self.name, self.kind, self.title = at, name, kind, title
        self.agent_id, self.tool_use_id, self.action, self.outcome = agent_id, tool_use_id, action, outcome
        self.reason = ""  # of a denied permission, what was said with it
        self.asked = ""  # of a call for which permission was asked: allowed, denied, denied or not answered
        self.minor = False  # the client's bookkeeping
        self.repeated = False  # another item has its words
        self.number = 0  # its index in the session
        self.names: list[str] = []  # all rows that it consists of

    @property
    def group(self) -> str:
        """What it is counted and filtered as: a call that did not come to an end is none of the tool calls."""
        if self.minor:
            return "bookkeeping"
        if self.kind == "tool" and not self.is_call:
            return "denied" if self.outcome == "denied" else "no result"
        return self.kind

    @property
    def is_trouble(self) -> bool:
        """Whether something went wrong, or was refused."""
        return self.outcome in TROUBLE

    @property
    def is_call(self) -> bool:
        """Whether it counts as a tool call: one that came to an end. A call that was denied or cut off did not run."""
        return self.kind == "tool" and self.outcome in ("ok", "failed")

    @property
    def is_edit(self) -> bool:
        """Whether it counts as an edit: a call that changed a file."""
        return self.kind == "tool" and self.outcome == "ok" and self.action in EDITING


class Agent:
    """A sub-agent, and what it did."""

    __slots__ = ("agent_id", "call", "description", "items", "stopped", "type")

    def __init__(self, agent_id: str) -> None:
        self.agent_id = agent_id
        self.type = self.description = ""
        self.items: list[Item] = []
        self.call: Item | None = None  # that started it
        self.stopped = False

    @property
    def calls(self) -> int:
        """How many tool calls it made."""
        return sum(item.is_call for item in self.items)

    @property
    def failures(self) -> int:
        """How often something failed."""
        return sum(item.outcome == "failed" for item in self.items)


class Outline(NamedTuple):
    """Everything that happened in a session, in the order of time."""

    items: list[Item]
    by_name: dict[str, Item]
    agents: dict[str, Agent]

    @property
    def turn(self) -> int:
        """Index of the item that began the current turn; earlier calls can no longer finish."""
        for item in reversed(self.items):
            if item.agent_id is None and item.kind in ("prompt", "end", "answer") and item.name[0] == "e":
                return item.number
        return 0
