"""Where GitHub Copilot CLI reads hooks, and which. Spelled as Claude Code's, they bring Claude Code's names."""

from sessionlog.archive.place import user_home
from sessionlog.fastlib import getenv

TITLE, PROGRAM = "GitHub Copilot CLI", "copilot"
RESUME = ("--resume",)  # and the id of the session
EVENTS = (
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PermissionRequest",
    "PostToolUse",
    "PostToolUseFailure",
    "Notification",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "Stop",
    "ErrorOccurred",
    "SessionEnd",
)
NOT_RECORDED = (
    "sessionStart",
    "sessionEnd",
    "userPromptSubmitted",
    "preToolUse",
    "postToolUse",
    "postToolUseFailure",
    "permissionRequest",
    "notification",
    "agentStop",
    "subagentStart",
    "subagentStop",
    "preCompact",
    "errorOccurred",
    "preMcpToolCall",
)
TIMEOUT = 10  # seconds
TIMEOUTS: dict[str, int] = {}
MATCHERS: dict[str, str] = {}
NOTICE = ""


def folder() -> str:
    """Copilot's own folder."""
    return getenv("COPILOT_HOME") or f"{user_home()}/.copilot"


def file() -> str:
    """A file of ours: Copilot reads all that lie there."""
    return f"{folder()}/hooks/sessionlog.json"
