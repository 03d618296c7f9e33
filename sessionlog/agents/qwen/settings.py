"""Where Qwen Code reads hooks, and which."""

from sessionlog.archive.place import user_home

TITLE, PROGRAM = "Qwen Code", "qwen"
RESUME = ("--resume",)  # and the id of the session
EVENTS = (
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PermissionRequest",
    "PermissionDenied",
    "PostToolUse",
    "PostToolUseFailure",
    "Notification",
    "PreCompact",
    "PostCompact",
    "SubagentStart",
    "SubagentStop",
    "Stop",
    "StopFailure",
    "SessionEnd",
)
# They repeat others, or come with every piece of an answer.
NOT_RECORDED = (
    "PostToolBatch",
    "MessageDisplay",
    "InstructionsLoaded",
    "TodoCreated",
    "TodoCompleted",
    "UserPromptExpansion",
    "SessionDelete",
)
TIMEOUT = 10  # seconds
TIMEOUTS = {"SessionEnd": 5}
MATCHERS: dict[str, str] = {}
NOTICE = "Qwen Code does not say when a session ends that was started with a prompt (`qwen -p`)."


def folder() -> str:
    """Qwen Code's own folder."""
    return f"{user_home()}/.qwen"


def file() -> str:
    """The settings of the user."""
    return f"{folder()}/settings.json"
