"""What there is to say of a recorded edit: the prompt that led to it, the agent and the model."""

from __future__ import annotations

import sqlite3
from typing import Any, NamedTuple

from sessionlog.ask import file_history
from sessionlog.ask.file_history import Prompt
from sessionlog.ask.provenance.blame import Line
from sessionlog.ask.provenance.recorded import Edit

Row = dict[str, Any]


class Described(NamedTuple):
    """An edit as people want to know of it."""

    edit: Edit
    client: str
    model: str
    prompt: Prompt | None


class Describer:
    """Looks up each session and each edit once."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._sessions: dict[str, Row] = {}
        self._prompts: dict[str, list[Prompt]] = {}
        self._transcripts: dict[str, bool] = {}
        self._edits: dict[str, Described] = {}

    def __call__(self, edit: Edit) -> Described:
        """The edit with its prompt, agent and model."""
        if edit.name not in self._edits:
            session = self._session(edit.session_id)
            prompt = file_history.leading(self._prompts_of(edit.session_id), edit.at, edit.prompt_id)
            model = self._model(edit) or session.get("model") or ""
            self._edits[edit.name] = Described(edit, session.get("client") or "", model, prompt)
        return self._edits[edit.name]

    def _session(self, session_id: str) -> Row:
        if session_id not in self._sessions:
            found = self._connection.execute(
                "SELECT client, model FROM sessions WHERE session_id = ?", (session_id,)
            ).fetchone()
            self._sessions[session_id] = found or {}
        return self._sessions[session_id]

    def _prompts_of(self, session_id: str) -> list[Prompt]:
        if session_id not in self._prompts:
            self._prompts[session_id] = file_history.prompts_of(self._connection, session_id)
        return self._prompts[session_id]

    def _model(self, edit: Edit) -> str | None:
        if edit.tool_use_id is None or not self._has_transcript(edit.session_id):
            return None
        row = self._connection.execute(
            "SELECT model FROM transcript_parts WHERE tool_use_id = ? AND +session_id = ? AND model IS NOT NULL",
            (edit.tool_use_id, edit.session_id),
        ).fetchone()
        return row["model"] if row else None

    def _has_transcript(self, session_id: str) -> bool:
        if session_id not in self._transcripts:
            query = "SELECT 1 FROM transcript_parts WHERE session_id = ? LIMIT 1"
            self._transcripts[session_id] = self._connection.execute(query, (session_id,)).fetchone() is not None
        return self._transcripts[session_id]


def as_json(line: Line, describe: Describer) -> Row:
    """A line for machines."""
    found: Row = {"line": line.number, "text": line.text, "source": line.source}
    if line.edit:
        edit = describe(line.edit)
        prompt = edit.prompt
        found |= {
            "event": edit.edit.name,
            "session_id": edit.edit.session_id,
            "subagent_id": edit.edit.agent_id,
            "agent": edit.client,
            "model": edit.model,
            "tool": edit.edit.tool,
            "at": edit.edit.at,
            "prompt": {"name": prompt.name, "at": prompt.at, "text": prompt.text} if prompt else None,
        }
    elif line.attested:
        said = line.attested
        found |= {"session_id": said.session_id, "agent": said.tool, "model": said.model}
    found["commit"] = line.commit._asdict() if line.commit else None
    return found
