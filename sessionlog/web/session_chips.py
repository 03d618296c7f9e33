"""The filters of a session page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from sessionlog.session.outline import Item, Outline
from sessionlog.web.session_query import Choice

KINDS = {
    "prompt": "Prompts",
    "answer": "Answers",
    "thinking": "Thinking",
    "tool": "Tools",
    "denied": "Denied",
    "no result": "No result",
    "permission": "Permissions",
    "sub-agent": "Sub-agents",
    "failure": "Failures of the model",
    "review": "Reviews",
    "command": "Commands",
    "compaction": "Compactions",
    "notice": "Notices",
    "start": "Starts",
    "end": "Ends",
    "event": "Other events",
    "bookkeeping": "Bookkeeping",
}


class Chip(NamedTuple):
    """A filter that can be switched on and off."""

    label: str
    number: int
    query: str
    is_on: bool
    kind: str


def chips(outline: Outline, choice: Choice, is_trouble: Callable[[Item], bool]) -> dict[str, list[Chip]]:
    """Each is a link to the same page with the filter on or off."""
    kinds = Counter(item.group for item in outline.items)
    if kinds["sub-agent"]:
        kinds["sub-agent"] = len(outline.agents)
    kinds["permission"] += sum(bool(item.asked) for item in outline.items)
    tools = Counter(item.title for item in outline.items if item.is_call)
    trouble = sum(is_trouble(item) for item in outline.items if not item.minor)

    here = choice.at or choice.near

    def kind(name: str) -> Chip:
        query = choice.query(kinds=choice.kinds ^ {name}, focused=False, near=here)
        return Chip(KINDS.get(name, name), kinds[name], query, name in choice.kinds, name)

    def tool(name: str, count: int) -> Chip:
        query = choice.query(tools=choice.tools ^ {name}, focused=False, near=here)
        return Chip(name or "tool", count, query, name in choice.tools, "tool")

    focused = choice.query(kinds=frozenset(), tools=frozenset(), trouble=False, focused=not choice.focused, near=here)
    went_wrong = choice.query(trouble=not choice.trouble, focused=False, near=here)
    return {
        "modes": [
            Chip("Everything", 0, Choice(agent=choice.agent).query(near=here), not choice.is_filtered, "everything"),
            Chip("Focused", 0, focused, choice.focused, "focused"),
            Chip("Problems", trouble, went_wrong, choice.trouble, "trouble"),
        ],
        "kinds": [kind(name) for name in KINDS if kinds[name]],
        "tools": [tool(name, count) for name, count in tools.most_common(24)],
    }
