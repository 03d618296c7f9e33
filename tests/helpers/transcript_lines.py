"""Transcripts line by line, as clients old and new write them."""

from __future__ import annotations

import itertools
import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

START = datetime(2026, 11, 16, 8, 0, tzinfo=timezone.utc)
DENIED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file). "
)
STOP = "STOP what you are doing and wait for the user to tell you how to proceed."
NOTE = "\n\nNote: The user's next message may contain a correction or preference. Pay close attention to it."

_numbers = itertools.count(1)


def said(words: str) -> str:
    """The text of a denial with which a person typed something."""
    return f"{DENIED}To tell you how to proceed, the user said:\n{words}{NOTE}"


class Transcript:
    """One file of a session, a second from line to line."""

    def __init__(self, session_id: str, cwd: str = "/home/dev/shop", agent_id: str | None = None) -> None:
        self.session_id = session_id
        self.cwd = cwd
        self.agent_id = agent_id
        self.clock = START
        self.lines: list[dict[str, Any]] = []
        self.last: str | None = None

    def tick(self, seconds: float = 1) -> str:
        """The next moment."""
        self.clock += timedelta(seconds=seconds)
        return self.clock.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def add(self, kind: str, **fields: Any) -> dict[str, Any]:
        """A line of the conversation; `parent` names another line than the one before it."""
        uuid = f"u{next(_numbers):07}-{self.session_id}"
        line = {"type": kind, "uuid": uuid, "parentUuid": fields.pop("parent", self.last), "sessionId": self.session_id}
        line |= {
            "isSidechain": self.agent_id is not None,
            "cwd": self.cwd,
            "timestamp": self.tick(),
            "version": "2.1.325",
        }
        line |= {"agentId": self.agent_id} if self.agent_id else {}
        line |= fields
        self.last = uuid
        self.lines.append(line)
        return line

    def note(self, kind: str, **fields: Any) -> None:
        """A line beside the conversation, without an id."""
        self.lines.append({"type": kind, "sessionId": self.session_id, "timestamp": self.tick(), **fields})

    def user(self, content: Any, **fields: Any) -> dict[str, Any]:
        """What goes to the model."""
        return self.add("user", message={"role": "user", "content": content}, **fields)

    def answer(self, *blocks: Any, model: str = "claude-opus-5-5", usage: Any = None, **fields: Any) -> dict[str, Any]:
        """What comes from the model: words, or blocks."""
        content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
        message = {"id": f"msg_{next(_numbers)}", "role": "assistant", "model": model, "content": content}
        message |= {"usage": usage} if usage else {}
        return self.add("assistant", message=message, **fields)

    def call(self, tool: str, inputs: dict[str, Any], **fields: Any) -> str:
        """A tool call; its id."""
        tool_use_id = f"toolu_{next(_numbers)}"
        self.answer({"type": "tool_use", "id": tool_use_id, "name": tool, "input": inputs}, **fields)
        return tool_use_id

    def result(self, tool_use_id: str, content: Any = "fine", is_error: bool = False, **fields: Any) -> None:
        """What a tool gave back."""
        block = {"type": "tool_result", "tool_use_id": tool_use_id, "content": content}
        self.user([block | ({"is_error": True} if is_error else {})], **fields)

    def queue(self, operation: str, content: str | None = None) -> None:
        """A prompt that waits, or leaves the queue."""
        self.note("queue-operation", operation=operation, **({"content": content} if content is not None else {}))

    def attachment(self, **fields: Any) -> None:
        """What the client adds by itself."""
        self.add("attachment", attachment=fields)

    def write(self, home: Path) -> Path:
        """The file where the client would have it."""
        folder = home / ".claude/projects" / self.cwd.replace("/", "-")
        path = folder / f"{self.session_id}.jsonl"
        if self.agent_id:
            path = folder / self.session_id / "subagents" / f"agent-{self.agent_id}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in self.lines))
        return path
