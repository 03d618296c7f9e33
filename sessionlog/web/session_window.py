"""Which part of a session a page shows: a window of blocks, the list of prompts, a map of the whole."""

from __future__ import annotations

import sqlite3
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from sessionlog.agents.claude_code import tags
from sessionlog.session import call as calls
from sessionlog.session import live
from sessionlog.session.load import Entry, load, load_pictures
from sessionlog.session.merge import words
from sessionlog.session.outline import Agent, Item, Outline
from sessionlog.text import plain
from sessionlog.web import entry_html, session_map, tool_html
from sessionlog.web.entry_html import Shown
from sessionlog.web.session_block import Block
from sessionlog.web.session_chips import Chip, chips
from sessionlog.web.session_map import seconds
from sessionlog.web.session_query import Choice

# Entries that come with the page, how many of them before the moment that was asked for, and how many come later at
# once: these wait in the tab as text, and a step through them must not wait for the server.
WINDOW, BEFORE, PART = 36, 12, 72
# At most: calls in one block, entries of a sub-agent, prompts in the outline, blocks that are new to a page that is
# watched. A page drops whole blocks that are far away: none may be very big.
CALLS, AGENT, PROMPTS, NEWEST = 6, 30, 80, 120
# A pause (s) that is worth a word.
PAUSE = 300

_USED = """
    SELECT
        input_tokens + cache_read_tokens + cache_write_5m_tokens + cache_write_1h_tokens AS context,
        output_tokens AS written
    FROM transcript_parts AS part JOIN model_answers AS answer
        ON answer.message_id = part.message_id AND answer.request_id = ifnull(part.request_id, '')
    WHERE part.id = ?
"""

WAITING = ("no result", "denied or not answered")  # or it may still come


class Window(NamedTuple):
    """Blocks to show, and the names to ask for what comes before and after them."""

    blocks: list[Block]
    before: str
    after: str
    target: str


@dataclass
class Prompt:
    """A line in the list of prompts."""

    name: str
    at: str
    words: str = ""
    calls: int = 0
    trouble: int = 0
    first_trouble: str = ""


class PromptList(NamedTuple):
    """Prompts to jump by, how many there are in all, and where those go on that are left out."""

    prompts: list[Prompt]
    total: int
    earlier: str
    later: str


class Counts(NamedTuple):
    """What happened how often: the same items as in the outline, the filters and the timeline."""

    prompts: int
    calls: int
    edits: int
    failures: int
    denied: int
    agents: int


class View:
    """A session seen through a choice."""

    def __init__(
        self, connection: sqlite3.Connection, session: dict[str, Any], outline: Outline, choice: Choice
    ) -> None:
        self.connection = connection
        self.session = session
        self.outline = outline
        self.choice = choice
        self.target = outline.by_name.get(choice.at)
        self.agent = outline.agents.get(choice.agent)
        self.is_live = live.is_live(session)
        self.may_grow = live.may_grow(session)
        self._turn = outline.turn
        self._prompts = [item for item in outline.items if item.kind == "prompt" and not item.agent_id]
        self.near = self.target or outline.by_name.get(choice.near)
        self.blocks = list(self._gathered(self._wanted()))

    @property
    def count(self) -> int:
        """How many entries there are to see."""
        return sum(len(block.items) for block in self.blocks)

    @property
    def counts(self) -> Counts:
        """For the head of the page."""
        items = [item for item in self.outline.items if not item.minor]
        return Counts(
            prompts=len(self._prompts),
            calls=sum(item.is_call for item in items),
            edits=sum(item.is_edit for item in items),
            failures=sum(item.outcome == "failed" for item in items),
            denied=sum(item.kind == "tool" and item.outcome == "denied" for item in items),
            agents=len(self.outline.agents),
        )

    def is_trouble(self, item: Item) -> bool:
        """Whether something went wrong; what still waits for its result has not yet."""
        return item.is_trouble and not (item.outcome in WAITING and self._is_running(item))

    def window(self, size: int = WINDOW) -> Window:
        """The blocks around the moment, before or after a name, at the end, else the first ones."""
        numbers = [block.number for block in self.blocks]
        if item := self.outline.by_name.get(self.choice.before):
            end = bisect_left(numbers, item.number)
            return self._window(self._back(end, size), end)
        if item := self.outline.by_name.get(self.choice.after):
            start = bisect_left(numbers, item.number + 1)
            return self._window(start, self._forth(start, size))
        if self.choice.end:
            return self._window(self._back(len(numbers), WINDOW), len(numbers))
        at = self._place_of_target(numbers)
        start = self._back(at, BEFORE)
        return self._window(start, self._forth(start, WINDOW) if at == 0 else self._forth(at, WINDOW - BEFORE))

    def newest(self) -> Window:
        """All blocks from the one with the name `after` on: what may have changed, and what is new."""
        item = self.outline.by_name.get(self.choice.after)
        start = bisect_left([block.number for block in self.blocks], item.number) if item else 0
        return self._window(start, min(len(self.blocks), start + NEWEST))

    def prompts(self) -> PromptList:
        """The prompts of the session, and what followed each; of very many, those around the moment that is shown."""
        found: list[Prompt] = []
        items: list[Item] = []
        here = 0
        number = self.near.number if self.near else len(self.outline.items) if self.choice.end else 0
        for item in self.outline.items:
            if item.kind == "prompt" and not item.agent_id:
                found.append(Prompt(item.name, item.at))
                items.append(item)
                here = len(found) - 1 if item.number <= number else here
            elif found and not item.minor:
                found[-1].calls += item.is_call
                if self.is_trouble(item):
                    found[-1].trouble += 1
                    found[-1].first_trouble = found[-1].first_trouble or item.name
        start = max(0, min(here - PROMPTS // 2, len(found) - PROMPTS))
        shown = found[start : start + PROMPTS]
        for prompt, item in zip(shown, items[start:], strict=False):
            said = words(self.connection, item, 300)
            prompt.words = plain.one_line(tags.without(said), 120)
        earlier = found[start - 1].name if start else ""
        later = found[start + PROMPTS].name if start + PROMPTS < len(found) else ""
        return PromptList(shown, len(found), earlier, later)

    def chips(self) -> dict[str, list[Chip]]:
        """The filters: each is a link to the same page with the filter on or off."""
        return chips(self.outline, self.choice, self.is_trouble)

    def map(self) -> session_map.Map:
        """The session from left to right."""
        items = [item for item in self.outline.items if not item.minor]
        return session_map.draw(items, self.is_trouble, len(self.outline.items))

    def following(self, name: str, what: str, direction: int) -> str:
        """The name of the next prompt or problem after a moment, or of the one before it; empty if there is none."""
        here = self.outline.by_name.get(name)
        number = here.number if here else -1
        wanted = [
            item
            for item in (self._prompts if what == "prompt" else self._wanted())
            if what == "prompt" or (self.is_trouble(item) and not item.minor)
        ]
        beyond = [item for item in wanted if (item.number - number) * direction > 0]
        return (beyond[0] if direction > 0 else beyond[-1]).name if beyond else ""

    # --- Blocks -------------------------------------------------------------------------------------------------------

    def _wanted(self) -> list[Item]:
        items = self.agent.items if self.agent else self.outline.items
        return [item for item in items if item is self.target or self.choice.wants(item, self.is_trouble(item))]

    def _gathered(self, items: list[Item]) -> Iterable[Block]:
        """One block for each sub-agent, where it began, and one for calls without anything between them."""
        if self.choice.focused and not self.agent:
            yield from self._focused(items)
            return
        of_agents: dict[str, list[Item]] = {}
        if not self.agent:
            for item in items:
                if item.agent_id:
                    of_agents.setdefault(item.agent_id, []).append(item)
        # The call that started a sub-agent and what the sub-agent did are one thing.
        wanted = set(items)
        started = {
            agent.call: agent_id
            for agent_id, agent in self.outline.agents.items()
            if agent.call and agent.call in wanted and agent_id in of_agents and not agent.call.agent_id
        }
        for call, agent_id in started.items():
            of_agents[agent_id] = sorted((call, *of_agents[agent_id]), key=lambda item: item.number)
        first = {own[0]: agent_id for agent_id, own in of_agents.items()}
        run: list[Item] = []
        continues = False
        for item in items:
            of_agent = first.get(item)
            if of_agent is None and (item.agent_id in of_agents or item in started):
                continue
            in_run = item.kind == "tool" and of_agent is None
            if run and (not in_run or len(run) == CALLS):
                yield Block("calls", run, continues=continues, goes_on=in_run)
                continues, run = in_run, []
            if in_run:
                run.append(item)
            elif of_agent is not None:
                yield Block("agent", of_agents[of_agent], self.outline.agents[of_agent])
            else:
                yield Block("one", [item])
        if run:
            yield Block("calls", run, continues=continues)

    def _focused(self, items: list[Item]) -> Iterable[Block]:
        """Prompts and answers; what was done between them is one line."""
        wanted = set(items)
        work: list[Item] = []
        for item in self.outline.items:
            if item in wanted:
                if work:
                    yield Block("work", work)
                    work = []
                yield Block("one", [item])
            elif not item.minor and item.kind not in ("start", "end"):
                work.append(item)
        if work:
            yield Block("work", work)

    def work(self, name: str) -> list[Block]:
        """The blocks that a line of work stands for, filled; the line is called by its first item."""
        item = self.outline.by_name.get(name)
        found = next((block for block in self.blocks if block.kind == "work" and item in block.items), None)
        if found is None:
            return []
        shown = View(self.connection, self.session, self.outline, Choice())
        numbers = {one.number for one in found.items[:AGENT]}
        blocks = [block for block in shown.blocks if block.items[0].number in numbers]
        for block in blocks:
            shown._fill(block, block.items[0].at)
        return blocks

    def entry(self, name: str) -> Shown | None:
        """One entry, as it is shown."""
        item = self.outline.by_name.get(name)
        if item is None:
            return None
        (entry,) = load(self.connection, self.session["session_id"], [item])
        return self._shown(entry, item)

    def block_of(self, name: str) -> Block | None:
        """The block that an entry stands in, filled."""
        item = self.outline.by_name.get(name)
        found = next((block for block in self.blocks if item in block.items), None) if item else None
        if found:
            self._fill(found, found.items[0].at)
        return found

    def _place_of_target(self, numbers: list[int]) -> int:
        if self.near is None:
            return 0
        for at, block in enumerate(self.blocks):
            if any(item is self.near for item in block.items):
                return at
        return max(0, min(bisect_left(numbers, self.near.number), len(numbers) - 1))

    def _back(self, end: int, weight: int) -> int:
        while end > 0 and weight > 0:
            end -= 1
            weight -= min(len(self.blocks[end].items), AGENT)
        return end

    def _forth(self, start: int, weight: int) -> int:
        while start < len(self.blocks) and weight > 0:
            weight -= min(len(self.blocks[start].items), AGENT)
            start += 1
        return start

    def _window(self, start: int, end: int) -> Window:
        blocks = self.blocks[start:end]
        previous = self.blocks[start - 1].items[-1].at if start else ""
        for block in blocks:
            self._fill(block, previous)
            previous = max(previous, block.items[-1].at)
        before = blocks[0].name if blocks and start > 0 else ""
        after = blocks[-1].name if blocks and end < len(self.blocks) else ""
        return Window(blocks, before, after, self.target.name if self.target else "")

    def _fill(self, block: Block, previous: str) -> None:
        """Everything that the template needs to know."""
        items = block.items if block.kind != "work" else []
        if block.kind == "agent" and len(items) > AGENT:
            at = next((number for number, item in enumerate(items) if item is self.target), 0)
            first = max(0, min(at - AGENT // 2, len(items) - AGENT))
            items = items[first : first + AGENT]
            block.left_out = len(block.items) - len(items)
        loaded = load(self.connection, self.session["session_id"], items)
        block.entries = [self._shown(entry, item) for entry, item in zip(loaded, items, strict=True)]
        self._add_tokens(items, block.entries)
        if block.agent:
            said = next((item for item in reversed(block.agent.items) if item.title == "SubagentStop"), None)
            told = (
                block.agent.description
                or self._described(block.agent)
                or (words(self.connection, said, 300) if said else "")
            )
            block.headline = plain.one_line(told, 160)
        block.trouble = sum(self.is_trouble(item) for item in (block.agent or block).items)
        # Who asks for problems wants to see them, not a line that says how many there are.
        asked = self.choice.trouble or self.choice.tools or self.choice.kinds
        block.is_open = block.kind == "agent" and (bool(asked) or any(item is self.target for item in block.items))
        turn = bisect_right(self._prompts, block.number, key=lambda item: item.number)
        block.turn = self._prompts[turn - 1].name if turn else ""
        if block.kind == "agent":
            begun = block.agent.call if block.agent else None
            for item, entry in zip(items, block.entries, strict=True):
                entry.is_open = (entry.is_open and entry.state == "failed") or item is begun
        block.is_running = self.is_live and (
            (block.agent is not None and not block.agent.stopped and block.number >= self._turn)
            or any(entry.state == "open" for entry in block.entries)
        )
        if previous:
            pause = seconds(previous, block.items[0].at)
            block.pause = f"{plain.duration(1000 * pause)} later" if pause >= PAUSE else ""
        day = plain.local_time(block.items[0].at, "%A, %d %B %Y")
        block.day = day if not previous or plain.local_time(previous, "%A, %d %B %Y") != day else ""

    def _described(self, agent: Agent) -> str:
        """What the call that started it says of it."""
        if agent.call is None:
            return ""
        (entry,) = load(self.connection, self.session["session_id"], [agent.call])
        return calls.argument(entry.call) if entry.call else ""

    def _shown(self, entry: Entry, item: Item) -> Shown:
        """The entry for the template, with the pictures that somebody pasted."""
        found = entry_html.shown(self._at_home(entry), item, self._is_running(item))
        if entry.kind == "prompt" and "[image" in entry.text.lower():
            pasted = load_pictures(self.connection, self.session["session_id"], item)
            made = found.make
            found.make = lambda: [*made(), *tool_html.pictures_of(pasted)]
        return found

    def _add_tokens(self, items: list[Item], entries: list[Shown]) -> None:
        """What each answer read and wrote: how full the context was."""
        for item, entry in zip(items, entries, strict=True):
            name = next((name for name in item.names if name[0] == "m"), "")
            if item.kind != "answer" or not name:
                continue
            row = self.connection.execute(_USED, (int(name[1:]),)).fetchone()
            if row and row["context"]:
                entry.took = f"context {plain.amount(row['context'])} · {plain.amount(row['written'])} tokens out"

    def _at_home(self, entry: Entry) -> Entry:
        """A transcript does not say where a call was made: in the session's folder, as far as one knows."""
        if entry.call is None or entry.call.cwd:
            return entry
        return entry._replace(call=entry.call._replace(cwd=self.session["cwd"]))

    def _is_running(self, item: Item) -> bool:
        return self.is_live and item.number >= self._turn
