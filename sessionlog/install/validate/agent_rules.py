"""Rules for the settings files of agents other than Claude Code: what is JSON, and which events there are."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sessionlog.install import other_agents
from sessionlog.install.validate import json_rules
from sessionlog.install.validate.rulebook import Problem, Rule, Site, shown

# Of Claude Code's rules, the one that holds for every such file.
SHARED = ("V-HK-01",)


def files() -> list[Path]:
    """The files of all agents whose settings have hooks in the form of Claude Code's."""
    agents = {name: other_agents.settings(name) for name in other_agents.names()}
    return [other_agents.file(name) for name, agent in agents.items() if not hasattr(agent, "whole_file")]


def rules(file: Path) -> list[Rule]:
    """The rules for a file, if it is another agent's; else none."""
    agent = _agent(file)
    if agent is None:
        return []
    known = (*agent.EVENTS, *agent.NOT_RECORDED)

    def event_exists(site: Site) -> Iterator[Problem]:
        if site.event not in known:
            message = f"{agent.TITLE} has no event {shown(site.event)}"
            yield site.problem(message, f"It has {', '.join(known)}.", at_key=True)

    def has_command(site: Site) -> Iterator[Problem]:
        command = site.fields.get("command", site.fields.get("bash"))
        if site.fields.get("type") == "command" and not (isinstance(command, str) and command.strip()):
            yield site.problem("a hook without a command", "Give it a `command`.")

    shared = [rule for rule in json_rules.RULES if rule.id in SHARED]
    return [
        *shared,
        Rule("V-AG-01", "error", agent.TITLE, ("event",), "The agent has such an event.", event_exists),
        Rule("V-AG-02", "error", agent.TITLE, ("handler",), "A handler of type command has a command.", has_command),
    ]


def _agent(file: Path) -> Any:
    """The agent whose file this is: the one it reads, or one of the same name in a folder of the same name."""
    place = Path(os.path.realpath(file))
    for name in other_agents.names():
        agent, own = other_agents.settings(name), other_agents.file(name)
        folder = Path(agent.folder())
        parts = (folder.name, *own.relative_to(folder).parts)
        above = place.parts[-len(parts) : -1]
        if place == Path(os.path.realpath(own)) or (
            above == parts[:-1] and (len(parts) > 2 or place.name == parts[-1])
        ):
            return agent
    return None
