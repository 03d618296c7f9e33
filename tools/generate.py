"""Writes the files that repeat what the code says: the plugin's hooks, and the command reference in the README."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from sessionlog import registration
from sessionlog.client_events import CORE, EVENTS, RECORDED

ROOT = Path(__file__).resolve().parent.parent
MARKERS = ("<!-- commands -->\n", "<!-- /commands -->")

# Of a plugin's hooks, clients before 2.1.257 ignore a whole file for one event that they do not know (seen with 2.0.60
# to 2.1.252), and that file only. So each file of ours wants a newer client than the one before.
NEWER_CLIENTS = ((2, 1, 116), (2, 1, 251))


def hooks_file(events: Iterable[str]) -> str:
    """A file of the plugin that registers these events."""
    groups = {}
    for event in events:
        # `|| exit 1`: with the plugin gone, sh ends with 2 or 127, and 2 would erase the user's prompt.
        command = f'/bin/sh "${{CLAUDE_PLUGIN_ROOT}}/hooks/record.sh" {event} || exit 1'
        handler = {"type": "command", "command": command, "timeout": registration.timeout(event)}
        groups[event] = [{"hooks": [handler]}]
    return json.dumps({"hooks": groups}, indent=2) + "\n"


def hooks_files() -> dict[str, str]:
    """The plugin's hook files: the events of the specification, then those that came later."""
    files = {"hooks/hooks.json": hooks_file(CORE)}
    done = set(CORE)
    for version in NEWER_CLIENTS:
        events = [event for event in RECORDED if event not in done and EVENTS[event].since <= version]
        files[f"hooks/since-{'.'.join(map(str, version))}.json"] = hooks_file(events)
        done.update(events)
    return files
