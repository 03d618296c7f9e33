"""The tools of Claude Code and what each does, and the events that a tool call consists of."""

from __future__ import annotations

# The generated columns `action` in archive/schema.sql say the same; a test compares them. A tool that is not here, such
# as those of MCP servers, has no action.
ACTIONS = {
    "Bash": "run",
    "PowerShell": "run",
    "Edit": "edit",
    "MultiEdit": "edit",
    "NotebookEdit": "edit",
    "apply_patch": "edit",  # of other agents, if it changes several files
    "Write": "write",
    "Read": "read",
    "Grep": "read",
    "Glob": "read",
    "LS": "read",
    "WebFetch": "fetch",
    "WebSearch": "fetch",
    "Agent": "agent",
    "Task": "agent",
    "AskUserQuestion": "ask",
    "ExitPlanMode": "ask",
}

CALL_START = "PreToolUse"
CALL_ENDS = ("PostToolUse", "PostToolUseFailure")
CALL_EVENTS = (CALL_START, *CALL_ENDS)
