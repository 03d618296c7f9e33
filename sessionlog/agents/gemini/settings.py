"""Where Gemini CLI reads hooks, and which."""

from sessionlog.archive.place import user_home

TITLE, PROGRAM = "Gemini CLI", "gemini"
RESUME = ("--resume",)  # and the id of the session
EVENTS = (
    "SessionStart",
    "BeforeAgent",
    "BeforeTool",
    "AfterTool",
    "AfterAgent",
    "Notification",
    "PreCompress",
    "SessionEnd",
)
# The whole conversation with each answer of the model.
NOT_RECORDED = ("BeforeModel", "AfterModel", "BeforeToolSelection")
TIMEOUT = 10_000  # milliseconds
TIMEOUTS = {"SessionEnd": 5000}
MATCHERS = {"PreCompress": "manual"}  # the automatic one comes before every answer
NOTICE = ""


def folder() -> str:
    """Gemini's own folder."""
    return f"{user_home()}/.gemini"


def file() -> str:
    """The settings of the user."""
    return f"{folder()}/settings.json"
