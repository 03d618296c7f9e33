"""Transcripts of Gemini CLI: `tmp/<project>/chats/session-<time>-<id>.jsonl`, deleted after 30 days."""

import os

from sessionlog.agents.claude_code.transcript_files import MAIN, SUBAGENT, Source
from sessionlog.agents.entries import TranslatedReader, dig, first_line, listed, path_parts, text, usage
from sessionlog.archive.place import user_home
from sessionlog.fastlib import parse_json
from sessionlog.system.files import read_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

CLIENT = "gemini"


def base() -> str:
    """Where Gemini keeps its transcripts."""
    return f"{user_home()}/.gemini/tmp"


def classify(path: str) -> Source | None:
    """A transcript, or that of a sub-agent, in a folder with the name of its session."""
    parts = path_parts(path)
    stem, ending = os.path.splitext(parts[-1])
    if ending != ".jsonl" or len(parts) < 4:
        return None
    if parts[-2] == "chats" and stem.startswith("session-"):
        session_id = text(first_line(path).get("sessionId")) or stem
        return Source(path, MAIN, "/".join(parts[:-1]), session_id, None, CLIENT, "/".join(parts[-3:]))
    if parts[-3] == "chats" and text(first_line(path).get("projectHash")):
        return Source(path, SUBAGENT, "/".join(parts[:-2]), parts[-2], stem, CLIENT, "/".join(parts[-4:]))
    return None


def folder_of_subagents(source: Source) -> str:
    """Beside the transcript."""
    return f"{source.folder}/{source.session_id}"


def working_directory(source: Source) -> str | None:
    """projects.json has the folder of each project by its short name."""
    name = source.name.partition("/")[0]
    above = source.path.replace("\\", "/").removesuffix(source.name).rstrip("/")
    try:
        projects = dig(
            parse_json(read_regular(f"{os.path.dirname(above)}/projects.json", 1 << 20).decode()), "projects"
        )
    except (OSError, ValueError):
        return None
    found = [folder for folder, short in projects.items() if short == name] if isinstance(projects, dict) else []
    return text(found[0]) if found else None


class Reader(TranslatedReader):
    """A message is written again when its tool calls are done: calls are entries of their own here."""

    client = CLIENT
    OUTPUT = frozenset(("response", "resultDisplay", "error"))

    def entries(self, line: "dict[str, Any]") -> "Iterator[dict[str, Any]]":
        """What a line says."""
        at, uuid = line.get("timestamp"), line.get("id")
        if line.get("type") == "user":
            said = _texts(line.get("content"))
            if said:
                yield self.message("user", uuid, at, said)
        elif line.get("type") == "gemini":
            self.model = text(line.get("model"))
            tokens = line.get("tokens")
            prompt, total, thoughts, cached = (dig(tokens, name) for name in ("input", "total", "thoughts", "cached"))
            output = total - prompt if type(total) is int and type(prompt) is int else dig(tokens, "output")
            counts = usage(prompt, output, cached, 0, thoughts)
            thinking = "\n".join(
                filter(None, (text(dig(thought, "description")) for thought in listed(line.get("thoughts"))))
            )
            said = _texts(line.get("content"))
            # Without words it is there for its tokens alone; under a name of its own, so that words may follow.
            name = uuid if said else f"{uuid}:tokens"
            yield self.message("assistant", name, at, said, thinking=thinking, usage=counts, answer=uuid)
            for call in listed(line.get("toolCalls")):
                if isinstance(call, dict):
                    yield from self._call(call, at)

    def _call(self, call: "dict[str, Any]", at: "Any") -> "Iterator[dict[str, Any]]":
        name, inputs, call_id = call.get("name"), call.get("args"), call.get("id")
        yield self.call(name, inputs, None, at, uuid=call_id)
        if call.get("status") in ("success", "error", "cancelled"):
            response = dig(next(iter(listed(call.get("result"))), None), "functionResponse", "response")
            error = dig(response, "error") if call["status"] != "success" else None
            key, said, failed = self.outcome(name, inputs, {"llmContent": dig(response, "output")}, error)
            yield self.result(key, said, failed or call["status"] != "success", call.get("timestamp"), uuid=call_id)


def _texts(content: "Any") -> str:
    """The words in a message: a text, or a list of parts of which some are results of tools."""
    if isinstance(content, str):
        return content
    said = "\n".join(part["text"] for part in listed(content) if isinstance(dig(part, "text"), str))
    return "" if said.startswith("<session_context>") else said
