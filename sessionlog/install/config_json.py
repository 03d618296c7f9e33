"""Changing config.json: read strictly, backed up, replaced in one step."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from typing import Any

from sessionlog import config
from sessionlog.archive import place as projects
from sessionlog.archive.migrate import make_private_folder
from sessionlog.errors import SessionlogError
from sessionlog.system import atomic

BACKUP = "config.json.sessionlog-backup"

# All settings and their defaults.
DEFAULTS: dict[str, Any] = {
    "record.exclude": [],
    "record.pauses": [],
    "record.tool_output": True,
    "redact.enabled": True,
    "redact.allow": [],
    "redact.patterns": [],
    "transcripts.follow": True,
    "transcripts.raw": False,
    "supervisor.max_iterations": 20,
}


def load() -> dict[str, Any]:
    """All that the file says. Raises SessionlogError if it cannot be read or is not JSON."""
    home = projects.home_folder()
    content, problem = config.read(home)
    if problem:
        raise SessionlogError(f"{home}/config.json: {problem}")
    try:
        settings = json.loads(content.decode()) if content else {}
    except ValueError as error:
        raise SessionlogError(f"{home}/config.json is not JSON ({error}); correct it by hand") from None
    if not isinstance(settings, dict):
        raise SessionlogError(f"{home}/config.json is not a JSON object; correct it by hand")
    return settings


def get(settings: dict[str, Any], name: str) -> Any:
    """The value of a setting such as `record.exclude`, else its default."""
    section, _, key = name.partition(".")
    found = settings.get(section)
    return found[key] if isinstance(found, dict) and key in found else DEFAULTS[name]


def problem(name: str, value: Any) -> str:
    """Why the hooks would not obey a value of the right type; empty if they would."""
    section, _, key = name.partition(".")
    if name == "record.exclude" and not all(isinstance(pattern, str) for pattern in value):
        return "it holds more than strings"
    if section != "redact":
        return ""
    chosen = config.Redaction(json.dumps({section: {key: value}}).encode())
    problems = chosen.problems
    for kind, regex, _ in chosen.patterns:
        try:
            re.compile(regex)
        except (re.error, OverflowError, RecursionError) as error:
            problems.append(f"the regex of {kind!r} is wrong ({error})")
    return "; ".join(problems)


def change(name: str, update: Callable[[Any], Any]) -> Any:
    """Give a setting the value that `update` makes of the old one; returns it."""
    settings = load()
    value = update(get(settings, name))
    section, _, key = name.partition(".")
    if not isinstance(settings.setdefault(section, {}), dict):
        raise SessionlogError(f'"{section}" in config.json is not an object; correct it by hand')
    settings[section][key] = value
    home = projects.home_folder()
    make_private_folder(home)
    before = config.read(home)[0]
    if before:
        atomic.write(os.path.join(home, BACKUP), [before])
    text = json.dumps(settings, indent=2, ensure_ascii=False) + "\n"
    atomic.write(os.path.join(home, "config.json"), [text.encode()])
    return value
