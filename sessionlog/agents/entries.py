"""For the transcripts of other agents: their lines in the form of Claude Code's, so that one reader understands all."""

from sessionlog.agents import translate
from sessionlog.agents.claude_code.transcript_lines import Reader
from sessionlog.archive.agent_event import key_of_call
from sessionlog.fastlib import utc_text
from sessionlog.system.files import open_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Entry = dict[str, Any]

LONGEST_FIRST_LINE = 4 << 20


class TranslatedReader(Reader):
    """Reads lines of another agent. A subclass says in `entries` what a line is.

    A file is read in parts. `CONTEXT` are marks of the lines that later ones depend on: they name the folder or the
    model, or begin a call. `chunks.resume` lets the reader of a part see those before it.
    `OUTPUT` are the names under which a line has what tools gave back, however deep: `prune` empties them.
    """

    client = ""
    CONTEXT: "tuple[bytes, ...]" = ()
    OUTPUT: "frozenset[str]" = frozenset()

    def __init__(self, session_id: str, agent_id: str | None) -> None:
        super().__init__(session_id, agent_id)
        self.model: str | None = None  # of the lines to come, where only some lines name it
        self.cwd: str | None = None

    def read(self, entry: "Entry", line: int) -> None:
        """Take in one line."""
        types = dict(self.types)
        for translated in self.entries(entry):
            if translated["message"]["content"]:
                super().read(translated, line)
            else:  # nothing was said, but it has its price
                self._count(translated, translated["message"])
        # What is counted are the lines of the file, and not what became of them.
        self.types = types
        name = text(entry.get("type")) or "other"
        self.types[name] = self.types.get(name, 0) + 1

    def resume(self, line: "Entry") -> None:
        """Learn from a line of an earlier part, without taking it in again."""
        facts = {name: dict(value) for name, value in self.facts.items()}
        for _ in self.entries(line):
            pass
        self.facts = facts

    def entries(self, line: "Entry") -> "Iterator[Entry]":
        """The line as entries of Claude Code, none or several."""
        raise NotImplementedError

    def _count(self, entry: "Entry", message: "Entry") -> None:
        spent, model = message.get("usage"), message.get("model")
        if isinstance(spent, dict) and isinstance(model, str):
            agent_id = entry.get("agentId") or self.agent_id
            self._read_usage(entry, message, spent, model, self.session_id, agent_id, entry["timestamp"])

    # --- What an entry can be -------------------------------------------------------------------------------------

    def message(
        self,
        role: str,
        uuid: "Any",
        at: "Any",
        text: "Any",
        *,
        thinking: "Any" = None,
        usage: "Any" = None,
        answer: "Any" = None,
        **more: "Any",
    ) -> "Entry":
        """Words of a person (`user`) or of the model (`assistant`). `answer` is the id of what `usage` counts."""
        content: list[Entry] = [{"type": "text", "text": text}] if text else []
        if thinking:
            content.insert(0, {"type": "thinking", "thinking": thinking})
        message: Entry = {"role": role, "content": content, "id": answer or uuid}
        if role == "assistant":
            message["model"] = more.pop("model", None) or self.model
        if usage:
            message["usage"] = usage
        return self._entry(role, uuid, at, message, **more)

    def call(self, name: "Any", inputs: "Any", call_id: "Any", at: "Any", uuid: "Any" = None, **more: "Any") -> "Entry":
        """A tool call. Without an id it gets the one that the hook gave it, but for its number."""
        payload = self._translated({"tool_name": name, "tool_input": inputs, "cwd": self.cwd}, "PreToolUse")
        block = {
            "type": "tool_use",
            "name": payload.get("tool_name"),
            "input": payload.get("tool_input"),
            "id": call_id or self.key(payload),
        }
        return self._entry("assistant", f"{uuid or call_id}", at, {"role": "assistant", "content": [block]}, **more)

    def result(
        self, call_id: "Any", text: "Any", failed: bool, at: "Any", uuid: "Any" = None, **more: "Any"
    ) -> "Entry":
        """What a tool call gave back."""
        block = {"type": "tool_result", "tool_use_id": call_id, "content": text, "is_error": failed}
        return self._entry("user", f"{uuid or call_id}:result", at, {"role": "user", "content": [block]}, **more)

    def outcome(self, name: "Any", inputs: "Any", response: "Any", error: "Any" = None) -> "tuple[str, Any, bool]":
        """Of the end of a call: its id as `call` gives it, what it says, and whether it failed. As for the hook."""
        payload = {"tool_name": name, "tool_input": inputs, "cwd": self.cwd, "tool_response": response}
        if error is not None:
            payload["error"] = error
        payload = self._translated(payload, "PostToolUse" if error is None else "PostToolUseFailure")
        given = payload.get("tool_response")
        said = payload.get("error") or dig(given, "stdout") or dig(given, "content") or given
        return self.key(payload), said, payload.get("hook_event_name") == "PostToolUseFailure"

    def key(self, payload: "Entry") -> str:
        """The id of a call that has none; `store` adds its number."""
        return key_of_call(self.session_id, payload.get("tool_name"), payload.get("tool_input")) + "."

    def _translated(self, payload: "Entry", event: str) -> "Entry":
        for name in ("tool_input", "tool_response"):  # which translation changes in place
            if isinstance(payload.get(name), dict):
                payload[name] = dict(payload[name])
        translate.translate(self.client, payload, event)
        return payload

    def _entry(self, type_: str, uuid: "Any", at: "Any", message: "Entry", **more: "Any") -> "Entry":
        stamp = utc_text(at) if type(at) is int and 0 <= at < 4_000_000_000_000 else at
        return {
            "type": type_,
            "uuid": uuid,
            "sessionId": self.session_id,
            "timestamp": stamp,
            "message": message,
            "cwd": self.cwd,
            **{name: value for name, value in more.items() if value is not None},
        }


def usage(prompt: "Any", output: "Any", cached: "Any" = 0, written: "Any" = 0, thoughts: "Any" = 0) -> "dict[str, Any]":
    """Counts of tokens as Claude Code has them, where `prompt` includes what came from the cache."""
    counts = [
        value if type(value) is int and value >= 0 else 0 for value in (prompt, output, cached, written, thoughts)
    ]
    return {
        "input_tokens": max(0, counts[0] - counts[2] - counts[3]),
        "output_tokens": counts[1],
        "cache_read_input_tokens": counts[2],
        "cache_creation_input_tokens": counts[3],
        "output_tokens_details": {"thinking_tokens": counts[4]},
    }


def first_line(path: str) -> "Entry":
    """The first line of a transcript; empty if it cannot be read."""
    from sessionlog.fastlib import parse_json

    try:
        with open(open_regular(path), "rb") as file:
            value = parse_json(file.readline(LONGEST_FIRST_LINE).decode("utf-8", "replace"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def path_parts(path: str) -> list[str]:
    """The names that a path consists of, whichever slashes it has."""
    return path.replace("\\", "/").split("/")


def dig(value: "Any", *names: str) -> "Any":
    """A value deep in objects, or None."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def listed(value: "Any") -> "list[Any]":
    """The items of a list; none of anything else."""
    return value if isinstance(value, list) else []


def text(value: "Any") -> str | None:
    """A text that says something."""
    return value if isinstance(value, str) and value else None
