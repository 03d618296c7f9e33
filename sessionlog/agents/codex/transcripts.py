"""Transcripts of Codex CLI: `sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl`, a file for each sub-agent too."""

import os

from sessionlog.agents.claude_code.transcript_files import MAIN, SUBAGENT, Source
from sessionlog.agents.entries import TranslatedReader, dig, first_line, listed, path_parts, text, usage
from sessionlog.agents.translate import number_after
from sessionlog.archive.place import user_home
from sessionlog.fastlib import getenv, parse_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

CLIENT = "codex"

# Words that Codex puts before the first prompt, as if the user had said them.
INJECTED = ("<environment_context>", "<user_instructions>", "# AGENTS.md", "<turn_aborted>")


def base() -> str:
    """Where Codex keeps its transcripts."""
    return f"{getenv('CODEX_HOME') or user_home() + '/.codex'}/sessions"


def classify(path: str) -> Source | None:
    """A transcript, or that of a sub-agent, which belongs to the session of its parent."""
    parts = path_parts(path)
    stem, ending = os.path.splitext(parts[-1])
    if ending != ".jsonl" or not stem.startswith("rollout-") or len(stem) < 44:
        return None
    meta = dig(first_line(path), "payload") or {}
    own = text(meta.get("id")) or stem[-36:]
    session_id = text(meta.get("session_id")) or own
    name = "/".join(parts[-4:]) if len(parts) > 4 and parts[-2].isdigit() else parts[-1]
    kind, agent_id = (MAIN, None) if own == session_id else (SUBAGENT, own)
    return Source(path, kind, "/".join(parts[:-1]), session_id, agent_id, CLIENT, name)


def working_directory(source: Source) -> str | None:
    """The first line says it."""
    return text(dig(first_line(source.path), "payload", "cwd"))


class Reader(TranslatedReader):
    """Reads what went to the model and came back; of events, the ends of commands, which know the exit code."""

    client = CLIENT
    CONTEXT = (b'"session_meta"', b'"turn_context"')
    OUTPUT = frozenset(("output", "aggregated_output", "formatted_output", "stdout", "stderr", "result", "error"))

    def entries(self, line: "dict[str, Any]") -> "Iterator[dict[str, Any]]":
        """What a line says."""
        payload, at = line.get("payload"), line.get("timestamp")
        if not isinstance(payload, dict):
            return
        kind = payload.get("type")
        if line.get("type") == "session_meta":
            self.cwd = text(payload.get("cwd"))
            branch = dig(payload, "git", "branch")
            # Not a message: it says where, and which version.
            self._note({"cwd": self.cwd, "git_branch": branch, "client_version": payload.get("cli_version")})
        elif line.get("type") == "turn_context":
            self.cwd, self.model = text(payload.get("cwd")) or self.cwd, text(payload.get("model")) or self.model
            self._note({"model": self.model})
        elif line.get("type") == "token_usage_record":
            counts = payload.get("usage")
            answer = payload.get("response_id")
            yield self.message(
                "assistant",
                f"{answer}:usage",
                at,
                None,
                usage=usage(
                    dig(counts, "input_tokens"),
                    dig(counts, "output_tokens"),
                    dig(counts, "cached_input_tokens"),
                    dig(counts, "cache_write_input_tokens"),
                    dig(counts, "reasoning_output_tokens"),
                ),
                answer=answer,
                model=self.model or "unknown",
            )
        elif line.get("type") == "response_item" and kind == "message":
            yield from self._words(payload, at)
        elif line.get("type") == "response_item" and kind in ("function_call", "custom_tool_call"):
            yield self.call(payload.get("name"), _inputs(payload), payload.get("call_id"), at)
        elif line.get("type") == "response_item" and kind in ("function_call_output", "custom_tool_call_output"):
            yield self._result(payload, at)

    def _words(self, payload: "dict[str, Any]", at: "Any") -> "Iterator[dict[str, Any]]":
        blocks = payload.get("content")
        said = "\n".join(str(block.get("text") or "") for block in listed(blocks) if isinstance(block, dict))
        role = payload.get("role")
        turn = dig(payload, "internal_chat_message_metadata_passthrough", "turn_id")
        if role == "assistant" or (role == "user" and not said.lstrip().startswith(INJECTED)):
            yield self.message(role, payload.get("id") or f"{at}:{role}", at, said, promptId=turn)

    def _result(self, payload: "dict[str, Any]", at: "Any") -> "dict[str, Any]":
        """The exit code is in the text, before the output. It is written as Claude Code does: Exit code 7."""
        said = payload.get("output")
        said = said if isinstance(said, str) else dig(said, "content") or ""
        code = max(number_after(said[:400], mark) for mark in ("Process exited with code ", "Exit code: "))
        output = said.partition("Output:\n")[2] or said
        failed = code > 0
        return self.result(payload.get("call_id"), f"Exit code {code}\n{output}" if failed else output, failed, at)

    def _note(self, found: "dict[str, Any]") -> None:
        if not self.agent_id:
            facts = self.facts.setdefault(self.session_id, {})
            facts.update({name: value for name, value in found.items() if isinstance(value, str)})


def _inputs(payload: "dict[str, Any]") -> "Any":
    """The arguments of a call, by the names that the hook gives them."""
    if payload.get("type") == "custom_tool_call":
        return {"command": payload.get("input")}
    try:
        inputs = parse_json(str(payload.get("arguments")))
    except ValueError:
        return payload.get("arguments")
    if isinstance(inputs, dict) and "cmd" in inputs:
        inputs["command"] = inputs.pop("cmd")
    return inputs
