"""What stands together on a session page."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field

from sessionlog.session.outline import Agent, Item
from sessionlog.text import plain
from sessionlog.web.entry_html import Shown
from sessionlog.web.session_map import seconds


@dataclass
class Block:
    """What stands together: one entry, calls that follow each other, or all that a sub-agent did."""

    kind: str  # one, calls, agent, or work: what the focused view leaves out between answers
    items: list[Item]
    agent: Agent | None = None
    continues: bool = False  # calls that go on from the block before
    goes_on: bool = False  # and in the next one
    # For the template:
    entries: list[Shown] = field(default_factory=list)
    pause: str = ""
    day: str = ""
    is_open: bool = False
    left_out: int = 0
    is_running: bool = False
    headline: str = ""
    trouble: int = 0
    turn: str = ""  # the prompt whose turn it is in

    @property
    def runs(self) -> list[list[Shown]]:
        """What stands in the block of a sub-agent, calls that follow each other together; its start says nothing."""
        found: list[list[Shown]] = []
        for entry in self.entries:
            if entry.kind == "sub-agent" and self._repeats(entry):
                continue
            if entry.kind == "tool" and found and found[-1][0].kind == "tool":
                found[-1].append(entry)
            else:
                found.append([entry])
        return found

    def _repeats(self, entry: Shown) -> bool:
        """Whether it says nothing, or what the call says that started the sub-agent: what it was asked, and came to."""
        call = self.agent.call if self.agent else None
        own = next((other for other in self.entries if call and call.name in other.names), None)
        told = {part.html for part in own.parts} if own else set()
        return all(part.html in told for part in entry.parts)

    @property
    def anchors(self) -> list[str]:
        """What a link may call the block of a sub-agent, but for its id: its start and its end are not shown apart."""
        hidden = [entry for entry in self.entries if entry.kind == "sub-agent" and self._repeats(entry)]
        names = [name for entry in hidden for name in (entry.name, *entry.anchors)]
        return [name for name in names if name != self.name]

    @property
    def name(self) -> str:
        return self.items[0].name

    @property
    def number(self) -> int:
        return self.items[0].number

    @property
    def version(self) -> str:
        """Changes whenever the block looks different."""
        told = repr([(item.names, item.outcome) for item in self.items]) + str((self.is_running, self.goes_on))
        return f"{zlib.crc32(told.encode('utf-8', 'replace')):x}"

    @property
    def took(self) -> str:
        items = self.agent.items if self.agent else self.items
        passed = seconds(items[0].at, items[-1].at)
        return plain.duration(1000 * passed) if passed >= 0.001 else ""

    @property
    def work(self) -> str:
        """13 calls, 3 edits: what the items come to."""
        counts = (
            (sum(item.is_call for item in self.items), "call"),
            (sum(item.is_edit for item in self.items), "edit"),
            (len({item.agent_id for item in self.items if item.agent_id}), "sub-agent"),
        )
        told = [plain.counted(number, noun) for number, noun in counts if number]
        return " · ".join(told) or plain.counted(len(self.items), "event")
