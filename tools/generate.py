"""Writes the files that repeat what the code says: the plugin's hooks, and the command reference in the README.

`python tools/generate.py` brings them up to date, `python tools/generate.py --check` tells whether they are.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path

import click

from sessionlog import registration
from sessionlog.cli import cli
from sessionlog.client_events import CORE, EVENTS, RECORDED

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- commands -->", "<!-- /commands -->"

# Clients before 2.1.257 ignore a whole file of a plugin's hooks for one event that they do not know, but that file only
# (seen with 2.0.60 to 2.1.325). So the events that came after the specification stand in files of their own, which
# plugin.json names, each for the clients since one of these versions.
NEWER_CLIENTS = ((2, 1, 116), (2, 1, 251))


def generated() -> dict[Path, str]:
    """Every generated file, and what should be in it."""
    files = {f"hooks/{name}": hooks_file(events) for name, events in plugin_events().items()}
    files["README.md"] = readme((ROOT / "README.md").read_text(encoding="utf-8"))
    return {ROOT / name: text for name, text in files.items()}


def plugin_events() -> dict[str, list[str]]:
    """The files of the plugin's hooks, and which events each one registers."""
    files = {"hooks.json": list(CORE)}
    rest = [event for event in RECORDED if event not in CORE]
    for version in NEWER_CLIENTS:
        files[f"since-{'.'.join(map(str, version))}.json"] = [event for event in rest if EVENTS[event].since <= version]
        rest = [event for event in rest if EVENTS[event].since > version]
    return files


def hooks_file(events: Iterable[str]) -> str:
    """A hooks file of the plugin that registers these events."""
    groups = {}
    for event in events:
        # `|| exit 1`: when an update has removed the plugin under a session, some shells end with 2, and 2 blocks. A
        # timeout on a plugin's SessionEnd does not raise the 1.5 s that all of them share, but it does no harm either.
        command = f'/bin/sh "${{CLAUDE_PLUGIN_ROOT}}/hooks/record.sh" {event} || exit 1'
        handler = {"type": "command", "command": command, "timeout": registration.timeout(event)}
        groups[event] = [{"hooks": [handler]}]
    return json.dumps({"hooks": groups}, indent=2) + "\n"


def readme(text: str) -> str:
    """The README with the command reference of today between its two markers."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise SystemExit(f"README.md: the lines {BEGIN} and {END} are missing; the command reference goes between them")
    return f"{before}{begin}\n\n{command_reference()}\n{end}{after}"


def command_reference() -> str:
    """The --help of every command, as Markdown."""
    above = cli.make_context("sessionlog", [], resilient_parsing=True)
    parts = []
    for name in cli.list_commands(above):
        if command := cli.get_command(above, name):
            page = command.get_help(click.Context(command, above, name, terminal_width=80))
            parts.append(f"### `sessionlog {name}`\n\n```text\n{page}\n```\n")
    return "\n".join(parts)


def main() -> None:
    check = sys.argv[1:] == ["--check"]
    stale = {path: text for path, text in generated().items() if not path.exists() or path.read_text("utf-8") != text}
    for path, text in stale.items():
        print(f"{path.relative_to(ROOT)} {'is out of date' if check else 'was brought up to date'}")
        if not check:
            path.write_text(text, encoding="utf-8")
    if check and stale:
        raise SystemExit("Type: python tools/generate.py")


if __name__ == "__main__":
    main()
