"""The hook events that Claude Code knows: since when, what a matcher is compared with, and which ones we record."""

from __future__ import annotations

from typing import NamedTuple

from sessionlog.archive.event import DENYING

# The client whose events these are; older ones know fewer (`since`).
CLIENT_VERSION = (2, 1, 325)


class ClientEvent(NamedTuple):
    """One hook event as the client treats it."""

    name: str
    since: tuple[int, int, int]  # the first client that knows it
    in_specification: bool  # one of the 14 of the hook specification
    matches: str | None  # what a matcher is compared with; None: matchers are ignored
    blocks: bool  # exit code 2 stops, rejects or undoes something
    recorded: bool  # registered with `--events all`


# In the client's own order. Not recorded, and why:
#   WorktreeCreate   must print a path: a silent hook breaks `--worktree` and isolated sub-agents
#   WorktreeRemove   a failing hook can keep a worktree from being removed
#   PreModelSwitch   a slow hook blocks the switch
#   MessageDisplay   one process a streamed flush, and the screen waits for it
#   FileChanged      its matcher is the list of files to watch, so there is no "all"
#   PostToolBatch    repeats what PostToolUse said, and blocks
# PermissionRequest ignores exit code 2 (only its JSON decides), though the specification says that 2 denies.
EVENTS: dict[str, ClientEvent] = {
    event.name: event
    for event in (
        ClientEvent("SessionStart", (1, 0, 62), True, "source", False, True),
        ClientEvent("Setup", (2, 1, 10), False, "trigger", False, True),
        ClientEvent("UserPromptSubmit", (1, 0, 54), True, None, True, True),
        ClientEvent("UserPromptExpansion", (2, 1, 116), False, "command name", True, True),
        ClientEvent("PreToolUse", (1, 0, 38), True, "tool name", True, True),
        ClientEvent("PermissionRequest", (2, 0, 45), True, "tool name", False, True),
        ClientEvent("PermissionDenied", (2, 1, 89), False, "tool name", False, True),
        ClientEvent("PostToolUse", (1, 0, 38), True, "tool name", False, True),
        ClientEvent("PostToolUseFailure", (2, 0, 56), True, "tool name", False, True),
        ClientEvent("PostToolBatch", (2, 1, 118), False, None, True, False),
        ClientEvent("Notification", (1, 0, 38), True, "notification type", False, True),
        ClientEvent("MessageDisplay", (2, 1, 152), False, None, False, False),
        ClientEvent("SubagentStart", (2, 0, 43), True, "agent type", False, True),
        ClientEvent("SubagentStop", (1, 0, 41), True, "agent type", True, True),
        ClientEvent("TaskCreated", (2, 1, 84), False, None, True, True),
        ClientEvent("TaskCompleted", (2, 1, 33), True, None, True, True),
        ClientEvent("Stop", (1, 0, 38), True, None, True, True),
        ClientEvent("StopFailure", (2, 1, 78), False, "error", False, True),
        ClientEvent("TeammateIdle", (2, 1, 33), True, None, True, True),
        ClientEvent("InstructionsLoaded", (2, 1, 69), False, "load reason", False, True),
        ClientEvent("ConfigChange", (2, 1, 49), False, "source", True, True),
        ClientEvent("CwdChanged", (2, 1, 83), False, None, False, True),
        ClientEvent("DirectoryAdded", (2, 1, 219), False, "source", False, True),
        ClientEvent("FileChanged", (2, 1, 83), False, "file name", False, False),
        ClientEvent("WorktreeCreate", (2, 1, 50), False, None, True, False),
        ClientEvent("WorktreeRemove", (2, 1, 50), False, None, True, False),
        ClientEvent("PreCompact", (1, 0, 48), True, "trigger", True, True),
        ClientEvent("PostCompact", (2, 1, 76), False, "trigger", False, True),
        ClientEvent("PreModelSwitch", (2, 1, 251), False, "model name", True, False),
        ClientEvent("PostModelSwitch", (2, 1, 251), False, "model name", False, True),
        ClientEvent("Elicitation", (2, 1, 76), False, "MCP server name", True, True),
        ClientEvent("ElicitationResult", (2, 1, 76), False, "MCP server name", True, True),
        ClientEvent("SessionEnd", (1, 0, 85), True, "reason", False, True),
    )
}

CORE: tuple[str, ...] = tuple(event.name for event in EVENTS.values() if event.in_specification)
RECORDED: tuple[str, ...] = tuple(event.name for event in EVENTS.values() if event.recorded)


def can_deny(event: str | None) -> bool:
    """Whether an agent may take a failing hook of this event for a refusal; yes if the event is not known."""
    return event is None or event in DENYING
