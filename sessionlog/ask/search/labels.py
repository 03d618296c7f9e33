"""What a hit is, in people's words."""

from __future__ import annotations

from typing import Any

EVENTS = {
    "UserPromptSubmit": "prompt",
    "UserPromptExpansion": "command",
    "Stop": "answer",
    "StopFailure": "API error",
    "SubagentStop": "sub-agent's report",
    "SubagentStart": "sub-agent",
    "PermissionDenied": "denial",
    "Notification": "notice",
    "PreCompact": "compaction",
    "PostCompact": "compaction",
    "SessionStart": "start",
    "SessionEnd": "end",
    "SupervisorDecision": "review",
    "SupervisorReview": "review",
    "InstructionsLoaded": "instructions",
    "ConfigChange": "settings",
}
PARTS = {
    "text": "answer",
    "task": "sub-agent's task",
    "history": "prompt",
    "notification": "notice",
    "interruption": "interruption",
    "meta": "note of the client",
    "command_output": "command",
    "bash_input": "command",
    "bash_output": "command",
    "compact_summary": "compaction",
    "compact_boundary": "compaction",
    "api_error": "API error",
}
# Where in a call the words stand; words that were said need no more.
FIELDS = {"said": "", "input": "", "path": "file", "code": "change", "output": "output"}


def label(row: dict[str, Any], is_message: bool) -> str:
    """The tool of a call, else what kind of thing was said."""
    if row["tool_name"]:
        return str(row["tool_name"])
    if is_message:
        return PARTS.get(row["kind"], str(row["kind"]).replace("_", " "))
    if row["event"] == "UserPromptSubmit" and not row.get("is_typed", 1):
        return "notice"
    return EVENTS.get(row["event"], str(row["event"]))
