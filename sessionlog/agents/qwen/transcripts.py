"""Transcripts of Qwen Code: `projects/<folder>/chats/<id>.jsonl`; lines as Claude Code's, with Gemini CLI's parts."""

import os

from sessionlog.agents.claude_code.transcript_files import MAIN, SUBAGENT, Source, peek
from sessionlog.agents.entries import TranslatedReader, dig, listed, path_parts, text, usage
from sessionlog.archive.place import user_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

CLIENT = "qwen"


def base() -> str:
    """Where Qwen Code keeps its transcripts."""
    return f"{user_home()}/.qwen/projects"


def classify(path: str) -> Source | None:
    """A transcript, or that of a sub-agent, in a folder with the name of its session."""
    parts = path_parts(path)
    stem, ending = os.path.splitext(parts[-1])
    if ending != ".jsonl" or len(parts) < 5:
        return None
    if parts[-2] == "chats" and parts[-4] == "projects":
        return Source(path, MAIN, "/".join(parts[:-1]), stem, None, CLIENT, "/".join(parts[-3:]))
    if parts[-3] == "subagents" and parts[-5] == "projects" and stem.startswith("agent-"):
        agent_id = stem.removeprefix("agent-")
        return Source(path, SUBAGENT, "/".join(parts[:-1]), parts[-2], agent_id, CLIENT, "/".join(parts[-4:]))
    return None


def folder_of_subagents(source: Source) -> str:
    """Beside the folder of the chats."""
    return f"{os.path.dirname(source.folder)}/subagents/{source.session_id}"


def working_directory(source: Source) -> str | None:
    """Every line says it."""
    return peek(source.path)[1]


class Reader(TranslatedReader):
    """Reads messages; what the client notes for itself is left to the bytes."""

    client = CLIENT
    CONTEXT = (b'"model"',)
    OUTPUT = frozenset(("response", "resultDisplay", "error"))

    def entries(self, line: "dict[str, Any]") -> "Iterator[dict[str, Any]]":
        """What a line says."""
        kind, at, uuid = line.get("type"), line.get("timestamp"), line.get("uuid")
        self.cwd = text(line.get("cwd"))
        more = {name: line.get(name) for name in ("parentUuid", "gitBranch", "version", "agentId", "isSidechain")}
        parts = dig(line, "message", "parts")
        parts = [part for part in listed(parts) if isinstance(part, dict)]
        words = "\n".join(part["text"] for part in parts if text(part.get("text")) and not part.get("thought"))
        if kind == "user" and words and line.get("provenance") in (None, "real_user"):
            yield self.message("user", uuid, at, words, **more)
        elif kind == "assistant":
            self.model = text(line.get("model")) or self.model
            thinking = "\n".join(part["text"] for part in parts if text(part.get("text")) and part.get("thought"))
            counts = line.get("usageMetadata")
            if isinstance(counts, dict):
                counts = usage(
                    counts.get("promptTokenCount"),
                    counts.get("candidatesTokenCount"),
                    counts.get("cachedContentTokenCount"),
                    0,
                    counts.get("thoughtsTokenCount"),
                )
            model = self.model or "unknown"
            if words or thinking or counts:
                yield self.message("assistant", uuid, at, words, thinking=thinking, usage=counts, model=model, **more)
            for part in parts:
                call = part.get("functionCall")
                if isinstance(call, dict):
                    yield self.call(call.get("name"), call.get("args"), call.get("id"), at, **more)
        elif kind == "tool_result":
            for part in parts:
                end = part.get("functionResponse")
                if isinstance(end, dict):
                    given = end.get("response")
                    _, said, failed = self.outcome(
                        end.get("name"), {}, {"llmContent": dig(given, "output")}, dig(given, "error")
                    )
                    yield self.result(end.get("id"), said, failed, at, **more)
