"""Transcripts of GitHub Copilot CLI: `session-state/<id>/events.jsonl`, with those of its sub-agents in it."""

from sessionlog.agents.claude_code.transcript_files import MAIN, Source
from sessionlog.agents.entries import TranslatedReader, dig, first_line, path_parts, text, usage
from sessionlog.archive.place import user_home
from sessionlog.fastlib import getenv

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

CLIENT = "copilot"


def base() -> str:
    """Where Copilot keeps its transcripts."""
    return f"{getenv('COPILOT_HOME') or user_home() + '/.copilot'}/session-state"


def classify(path: str) -> Source | None:
    """A transcript: the folder has the id of the session."""
    parts = path_parts(path)
    if parts[-1] != "events.jsonl" or len(parts) < 4 or parts[-3] != "session-state":
        return None
    return Source(path, MAIN, "/".join(parts[:-1]), parts[-2], None, CLIENT, "/".join(parts[-2:]))


def working_directory(source: Source) -> str | None:
    """The first line says it."""
    return text(dig(first_line(source.path), "data", "context", "cwd"))


class Reader(TranslatedReader):
    """Reads messages, tool calls and counts of tokens."""

    client = CLIENT
    CONTEXT = (b'"session.start"', b'"session.resume"', b'"assistant.message"', b'"tool.execution_')
    OUTPUT = frozenset(("result", "toolResult", "partialOutput", "error"))  # also what it gives to its hooks

    def __init__(self, session_id: str, agent_id: str | None) -> None:
        super().__init__(session_id, agent_id)
        self._calls: dict[Any, tuple[Any, Any]] = {}

    def entries(self, line: "dict[str, Any]") -> "Iterator[dict[str, Any]]":
        """What a line says."""
        kind, at, uuid, data = line.get("type"), line.get("timestamp"), line.get("id"), line.get("data")
        if not isinstance(data, dict):
            return
        more = {"agentId": text(line.get("agentId")), "isSidechain": True if line.get("agentId") else None}
        if kind in ("session.start", "session.resume"):
            self.cwd = text(dig(data, "context", "cwd"))
            facts = self.facts.setdefault(self.session_id, {})
            found = {
                "cwd": self.cwd,
                "git_branch": dig(data, "context", "branch"),
                "client_version": data.get("copilotVersion"),
                "model": data.get("selectedModel"),
            }
            facts.update({name: value for name, value in found.items() if isinstance(value, str)})
        elif kind == "user.message":
            yield self.message("user", uuid, at, data.get("content"), **more)
        elif kind == "assistant.message":
            self.model = text(data.get("model"))
            if text(data.get("content")):
                answer = data.get("apiCallId")
                yield self.message("assistant", uuid, at, data["content"], answer=answer, **more)
        elif kind == "session.usage_record":
            counts = dig(data, "usage")
            spent = usage(
                dig(counts, "inputTokens"),
                dig(counts, "outputTokens"),
                dig(counts, "cacheReadTokens"),
                dig(counts, "cacheWriteTokens"),
            )
            model, answer = text(dig(counts, "model")) or "unknown", dig(counts, "accounting", "usageId")
            yield self.message("assistant", uuid, at, None, usage=spent, answer=answer, model=model, **more)
        elif kind == "tool.execution_start":
            call = self._calls[data.get("toolCallId")] = data.get("toolName"), data.get("arguments")
            yield self.call(*call, None, at, uuid=data.get("toolCallId"), **more)
        elif kind == "tool.execution_complete":
            yield from self._end(data, at, more)

    def _end(self, data: "dict[str, Any]", at: "Any", more: "dict[str, Any]") -> "Iterator[dict[str, Any]]":
        name, inputs = self._calls.pop(data.get("toolCallId"), (None, None))
        if name is None:  # its start is nowhere near
            return
        error = None if data.get("success") is True else dig(data, "error", "message") or "failed"
        response = {"text_result_for_llm": dig(data, "result", "content")}
        key, said, failed = self.outcome(name, inputs, response, error)
        yield self.result(key, said, failed, at, uuid=data.get("toolCallId"), **more)
