"""What leaves the machine: everything, everything but what tools printed, or metadata only."""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]

LEVELS = {
    "all": "everything, with the bytes of transcripts",
    "no-outputs": "no tool output, and no bytes of transcripts",
    "metadata": "times, tools, files, counts and tokens; no text",
}

# Columns that stay at home, by table. Without the whole row, the hash of an event cannot be checked; and with its salt,
# what is missing could be guessed by trying. So the salt stays too.
_OUTPUTS = {
    "events": ("tool_response", "salt"),
    "transcript_chunks": ("data",),
}
_TEXTS = {
    "events": (
        *("prompt", "message", "error", "last_assistant_message", "old_string", "new_string", "content", "command"),
        *("description", "tool_input", "tool_response", "extra", "envelope", "salt"),
    ),
    "transcript_parts": ("text", "thinking", "command", "reason"),
    "transcript_chunks": ("data",),
    "session_facts": ("custom_title", "ai_title", "summary", "tag"),
    "subagent_facts": ("description",),
}
_WITHHELD: dict[str, dict[str, tuple[str, ...]]] = {"all": {}, "no-outputs": _OUTPUTS, "metadata": _TEXTS}


def stripped(level: str, table: str, row: Row) -> Row:
    """The row without what this level keeps at home."""
    withheld = _WITHHELD[level].get(table)
    row = {**row, **dict.fromkeys(withheld)} if withheld else row
    if level == "no-outputs" and table == "events" and row["error"]:
        row = {**row, "error": row["error"].splitlines()[0][:200]}  # "Exit code 1"; what follows was printed
    if level == "no-outputs" and table == "transcript_parts" and row["kind"] == "tool_result":
        row = {**row, "text": None}
    return row
