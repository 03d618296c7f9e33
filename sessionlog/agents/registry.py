"""The agents that there is a folder for. A new folder is found by itself."""

import os

from sessionlog.agents.translate import part

__all__ = ["CLAUDE_CODE", "others", "part"]

CLAUDE_CODE = "claude-code"

_FOLDER = os.path.dirname(os.path.abspath(__file__))


def others(module: str = "hook_table") -> list[str]:
    """The names of all agents but Claude Code that have this module, in the order of the alphabet."""
    found = [entry.name for entry in os.scandir(_FOLDER) if os.path.isfile(f"{entry.path}/{module}.py")]
    return sorted(name.replace("_", "-") for name in found if name != "claude_code")
