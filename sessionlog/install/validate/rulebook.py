"""What a rule about hooks is, what it looks at, and the table that rules are entered into."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from sessionlog.agents.claude_code.events import CLIENT_VERSION, EVENTS, ClientEvent
from sessionlog.install.json_positions import InvalidJSON, Node
from sessionlog.install.validate.shell_words import Command, read_exec, read_shell

Severity: TypeAlias = Literal["error", "warning"]
Kind: TypeAlias = Literal["settings", "hooks", "manifest"]  # settings.json; a plugin's hooks.json; its plugin.json
Level: TypeAlias = Literal["file", "event", "group", "handler"]

SPECIFICATION = "specification"
CLIENT = "client " + ".".join(map(str, CLIENT_VERSION))


@dataclass(frozen=True)
class Document:
    """A file to check, and what is known of the place where its commands will run."""

    kind: Kind
    root: Node
    broken: InvalidJSON | None  # then the root is an empty stand-in
    bom: bool
    variables: Mapping[str, str]
    folder: Path | None  # where relative paths begin


class Problem(NamedTuple):
    """What a rule found; severity and source are the rule's own unless given."""

    offset: int
    path: str
    message: str
    advice: str
    severity: Severity | None
    source: str | None


@dataclass(frozen=True)
class Site:
    """Where a rule is asked: a file, an event in it, a group of that event, or a handler of that group."""

    level: Level
    document: Document
    node: Node
    path: str
    event: str = ""

    @cached_property
    def fields(self) -> dict[str, Any]:
        return self.node.value if isinstance(self.node.value, dict) else {}

    @cached_property
    def type(self) -> str:
        kind = self.fields.get("type")
        return kind if isinstance(kind, str) else ""

    @cached_property
    def known_event(self) -> ClientEvent | None:
        return EVENTS.get(self.event)

    @cached_property
    def command(self) -> Command:
        """What is known about the command; nothing for other handlers, broken fields and PowerShell."""
        command, args = self.fields.get("command"), self.fields.get("args")
        if self.type != "command" or not isinstance(command, str) or self.fields.get("shell") == "powershell":
            return Command()
        if args is None:
            return read_shell(command, self.document.variables, self.document.folder)
        if not is_list_of_strings(args):
            return Command()
        return read_exec(command, args, self.document.variables, self.document.folder)

    def problem(
        self,
        message: str,
        advice: str,
        field: str = "",
        *,
        at_key: bool = False,
        severity: Severity | None = None,
        source: str | None = None,
    ) -> Problem:
        """A problem with this site, or with one of its fields."""
        node = self.node.members().get(field, self.node)
        offset = node.key.start if at_key and node.key else node.start
        path = self.path + step(field) if node is not self.node else self.path
        return Problem(offset, path.removeprefix("."), message, advice, severity, source)


Check: TypeAlias = Callable[[Site], Iterator[Problem]]


class Rule(NamedTuple):
    """A rule: its id, how bad a breach is, who asks for it, where it is asked, and what it says."""

    id: str
    severity: Severity
    source: str
    levels: tuple[Level, ...]
    sentence: str
    check: Check


class Rulebook(list[Rule]):
    """A table of rules."""

    def rule(self, id: str, severity: Severity, sentence: str, *levels: Level) -> Callable[[Check], Check]:
        """Enter a check into the table. What the specification forbids and the client takes is a warning at most."""

        def enter(check: Check) -> Check:
            source = SPECIFICATION if id.startswith("V-HK") else CLIENT
            self.append(Rule(id, severity, source, levels, sentence, check))
            return check

        return enter


def step(key: str | int) -> str:
    """One step of a JSON path: `.name`, `["odd name"]` or `[0]`."""
    if isinstance(key, int):
        return f"[{key}]"
    return f".{key}" if key.isidentifier() else f"[{shown(key)}]"


def shown(value: Any) -> str:
    """A value as JSON, cut when no person would read it to the end."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 300 else text[:299] + "…"


def is_list_of_strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)
