"""The agents that there is a folder for. A new folder is found by itself."""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CLAUDE_CODE = "claude-code"

_FOLDER = os.path.dirname(os.path.abspath(__file__))


def part(client: str, name: str) -> "Any":
    """A module in the folder of an agent. Raises ImportError if there is none."""
    from sessionlog.agents import translate  # most modules import this one for a name only

    return translate.part(client, name)


def others(module: str = "hook_table") -> list[str]:
    """The names of all agents but Claude Code that have this module, in the order of the alphabet."""
    found = [entry.name for entry in os.scandir(_FOLDER) if os.path.isfile(f"{entry.path}/{module}.py")]
    return sorted(name.replace("_", "-") for name in found if name != "claude_code")
