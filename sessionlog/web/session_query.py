"""What the address of a session's page asks for: filters, and the moment to begin at."""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import urlencode

from sessionlog.session.outline import Item


class Choice(NamedTuple):
    """What the address asks for."""

    kinds: frozenset[str] = frozenset()
    tools: frozenset[str] = frozenset()
    trouble: bool = False
    focused: bool = False
    agent: str = ""
    at: str = ""
    near: str = ""  # where somebody was who changed the filters
    before: str = ""
    after: str = ""
    end: bool = False

    @classmethod
    def from_request(cls, request: Any) -> Choice:
        args = request.args
        return cls(
            kinds=frozenset(args.getlist("kind")),
            tools=frozenset(args.getlist("tool")),
            trouble=bool(args.get("trouble")),
            focused=bool(args.get("focus")),
            agent=args.get("agent") or "",
            at=args.get("at") or "",
            near=args.get("near") or "",
            before=args.get("before") or "",
            after=args.get("after") or "",
            end=bool(args.get("end")),
        )

    @property
    def is_filtered(self) -> bool:
        return bool(self.kinds or self.tools or self.trouble or self.focused)

    def wants(self, item: Item, is_trouble: bool) -> bool:
        """Whether an item is shown: by any of the filters, or there is none."""
        if self.focused and (item.agent_id or item.kind not in ("prompt", "answer")):
            return False
        if item.minor:
            return "bookkeeping" in self.kinds
        if not (self.kinds or self.tools or self.trouble):
            return True
        if item.asked and "permission" in self.kinds:
            return True
        return item.group in self.kinds or (item.is_call and item.title in self.tools) or (self.trouble and is_trouble)

    @property
    def moment(self) -> str:
        """What the name of a moment is put after to be an address of this choice."""
        query = self.query()
        return f"{query}&at=" if query else "?at="

    def query(self, **changes: Any) -> str:
        """The same choice with changes, as it stands in an address; the moment is left out unless it is among them."""
        made = self._replace(at="", near="", before="", after="", end=False)._replace(**changes)
        pairs = [("kind", kind) for kind in sorted(made.kinds)] + [("tool", tool) for tool in sorted(made.tools)]
        pairs += [("trouble", "1")] * made.trouble + [("focus", "1")] * made.focused
        pairs += [
            (name, value) for name in ("agent", "at", "near", "before", "after") if (value := getattr(made, name))
        ]
        return f"?{urlencode(pairs, errors='replace')}" if pairs else ""
