"""Registers the hook with agents other than Claude Code. What is particular to one is in agents/<name>/settings.py.

The settings of all but opencode have the form of Claude Code's, so they get the same care (settings_files.py).
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any

from sessionlog.agents import registry
from sessionlog.errors import SessionlogError
from sessionlog.install import settings_files
from sessionlog.install.commands import Handler, handlers_folder, interpreter
from sessionlog.install.settings_files import Change
from sessionlog.record.spawn_import import OPTIONS
from sessionlog.system import children

SCRIPT = "agent_event.py"


def names() -> list[str]:
    """The agents that we can register with."""
    return registry.others("settings")


def found() -> list[str]:
    """Those that are on this machine: their program is on the PATH, or they have a folder."""
    return [name for name in names() if is_here(name)]


def is_here(name: str) -> bool:
    """Whether an agent is on this machine."""
    agent = settings(name)
    return children.program(agent.PROGRAM) is not None or os.path.isdir(agent.folder())


def settings(name: str) -> Any:
    """What is particular to an agent."""
    return registry.part(name, "settings")


def file(name: str) -> Path:
    """The file in which an agent's hooks are registered."""
    return Path(settings(name).file())


def words(name: str) -> list[str]:
    """The command as a list, to which the event is added."""
    return [interpreter(), *OPTIONS, (handlers_folder() / SCRIPT).as_posix(), name]


def hook_command(name: str, event: str | None = None) -> str:
    """The shell command to register. It ends with 0 and prints nothing, even if sessionlog is gone.

    For Copilot any other exit code denies a tool call, for Gemini any other with something on stderr.
    """
    command = [*words(name), *([event] if event else [])]
    return f"{shlex.join(command)} 2>/dev/null || exit 0"


def handlers(name: str) -> dict[str, Handler]:
    """The handler to register for each event."""
    agent = settings(name)
    return {
        event: {
            "type": "command",
            "command": hook_command(name, event),
            "timeout": agent.TIMEOUTS.get(event, agent.TIMEOUT),
        }
        for event in agent.EVENTS
    }


def plan_install(name: str) -> Change:
    """Register our hooks, in place of those that another version registered."""
    agent, path = settings(name), file(name)
    if not hasattr(agent, "whole_file"):
        return settings_files.plan_install(path, handlers(name), matchers=agent.MATCHERS)
    before = settings_files.content(path)
    _refuse_strangers(agent, path, before)
    return Change(path, before, agent.whole_file(words(name)).encode(), {"": None})


def plan_uninstall(name: str) -> Change:
    """Take out what install put in."""
    agent, path = settings(name), file(name)
    if not hasattr(agent, "whole_file"):
        return settings_files.plan_uninstall(path)
    before = settings_files.content(path)
    return Change(path, before, None if before and before.startswith(agent.MARK.encode()) else before)


def _refuse_strangers(agent: Any, path: Path, content: bytes | None) -> None:
    if content and not content.startswith(agent.MARK.encode()):
        raise SessionlogError(f"{path} is not a file of sessionlog's. It was left alone.")


def is_current(name: str) -> bool:
    """Whether what is registered is what this version, installed as it is here, would register."""
    return not plan_install(name).needed


def is_registered(name: str) -> bool:
    """Whether anything of ours is registered with an agent. A file that cannot be read is the doctor's to report."""
    try:
        return plan_uninstall(name).needed
    except SessionlogError:
        return False
