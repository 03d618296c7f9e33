"""Where opencode reads plugins. It has no hooks that run a command: our plugin runs it."""

import json
import os

from sessionlog.archive.place import user_home
from sessionlog.fastlib import getenv

TITLE, PROGRAM = "opencode", "opencode"
RESUME = ("--session",)  # and the id of the session
EVENTS = (
    "session.created",
    "session.idle",
    "session.error",
    "session.compacted",
    "chat.message",
    "tool.execute.before",
    "tool.execute.after",
    "message.part.updated",
    "permission.asked",
    "permission.replied",
)
NOT_RECORDED: tuple[str, ...] = ("chat.params",)  # it has the provider's API key
TIMEOUT = 10
TIMEOUTS: dict[str, int] = {}
MATCHERS: dict[str, str] = {}
NOTICE = "Running opencodes load the plugin when they are started again."

# The first line of our plugin: a file without it is not ours.
MARK = "// Written by `sessionlog install --agent opencode`."


def folder() -> str:
    """opencode's own folder."""
    return f"{getenv('XDG_CONFIG_HOME') or user_home() + '/.config'}/opencode"


def file() -> str:
    """A file of ours: opencode loads all that lie there."""
    return f"{folder()}/plugin/sessionlog.js"


def whole_file(command: list[str]) -> str:
    """The plugin, which runs this command for every event."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "plugin.js"), encoding="utf-8") as source:
        return f"{MARK}\n{source.read()}".replace("[/* the command */]", json.dumps(command, ensure_ascii=False))
