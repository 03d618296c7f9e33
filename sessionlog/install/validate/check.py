"""Checks the hooks in settings files and plugins against the specification and against today's client."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from sessionlog.errors import SessionlogError
from sessionlog.install.json_positions import InvalidJSON, Node, parse, positions
from sessionlog.install.settings_files import BOM, LONGEST, all_settings_files, settings_file
from sessionlog.install.validate import agent_rules, command_rules, json_rules
from sessionlog.install.validate.rulebook import SPECIFICATION, Document, Kind, Rule, Severity, Site, step
from sessionlog.system.files import read_regular

__all__ = ["Finding", "Target", "check", "failed", "rules", "targets", "targets_in_force"]

_SETTINGS = ("settings.json", "settings.local.json")


class Target(NamedTuple):
    """A file to check, what it is, and the project or plugin that it belongs to."""

    file: Path
    kind: Kind
    root: Path | None  # None: no particular project, as with the settings of the user


class Finding(NamedTuple):
    """One problem in one place."""

    rule: str
    severity: Severity
    source: str  # "specification", or "client" and its version
    file: str
    line: int
    column: int
    path: str  # such as hooks.PostToolUse[0].hooks[1].timeout
    message: str
    advice: str


def rules() -> list[Rule]:
    """All rules, those of the specification first."""
    book = [*json_rules.RULES, *command_rules.RULES]
    return sorted(book, key=lambda rule: (rule.source != SPECIFICATION, rule.id))


def targets_in_force(folder: Path) -> list[Target]:
    """The settings files that Claude Code would read here, and those of other agents with hooks of the same form."""
    return [_target(file) for file in (*all_settings_files(folder), *agent_rules.files()) if file.is_file()]


def targets(path: Path) -> list[Target]:
    """What there is to check at a path: the file itself, or the hooks of a plugin or project folder."""
    if path.is_dir():
        settings = path if path.name == ".claude" else path / ".claude"
        plugin = [path / ".claude-plugin" / "plugin.json", path / "hooks" / "hooks.json"]
        found = [_target(file) for file in (*plugin, *(settings / name for name in _SETTINGS)) if file.is_file()]
        if not found:
            looked = "hooks/hooks.json, .claude-plugin/plugin.json or .claude/settings.json"
            raise SessionlogError(f"There are no hooks in {path}: no {looked}.")
        return _once([*found, *(extra for target in found for extra in _named_by(target))])
    if not path.exists():
        raise SessionlogError(f"There is no file {path}.")
    return [_target(path)]


def check(target: Target) -> list[Finding]:
    """Everything that is wrong in one file, in the order of the lines."""
    text, document = _read(target)
    where = positions(text)
    book = agent_rules.rules(target.file) or rules()
    findings = [
        Finding(
            rule.id,
            problem.severity or rule.severity,
            problem.source or rule.source,
            _printable(str(target.file)),
            *where(problem.offset),
            _printable(problem.path),
            _printable(problem.message),
            _printable(problem.advice),
        )
        for site in _sites(document)
        for rule in book
        if site.level in rule.levels
        for problem in rule.check(site)
    ]
    return sorted(findings, key=lambda finding: (finding.line, finding.column))


def failed(findings: Iterable[Finding], *, strict: bool = False) -> bool:
    """Whether the findings mean failure: any error, and with `strict` any warning too."""
    return any(strict or finding.severity == "error" for finding in findings)


def _target(file: Path) -> Target:
    """Tell by its name and place what a file is."""
    whole = Path(os.path.abspath(file))
    folder = whole.parent
    if file.name == "plugin.json":
        return Target(file, "manifest", folder.parent if folder.name == ".claude-plugin" else folder)
    if folder.name == ".claude" or "settings" in file.name:
        user = os.path.realpath(settings_file("user", folder).parent) == os.path.realpath(folder)
        return Target(file, "settings", folder.parent if folder.name == ".claude" and not user else None)
    plugin = next((above for above in whole.parents if (above / ".claude-plugin").is_dir()), None)
    return Target(file, "hooks", plugin or (folder.parent if folder.name == "hooks" else folder))


def _named_by(target: Target) -> list[Target]:
    """The hook files that a plugin.json names, beside hooks/hooks.json; that they exist is a rule of its own."""
    if target.kind != "manifest" or target.root is None:
        return []
    _, document = _read(target)
    files = [target.root / node.value for node in command_rules.hook_files(document.root)]
    return [Target(file, "hooks", target.root) for file in files if os.path.isfile(file)]


def _once(found: list[Target]) -> list[Target]:
    seen: dict[str, Target] = {}
    for target in found:
        seen.setdefault(os.path.realpath(target.file), target)
    return list(seen.values())


def _read(target: Target) -> tuple[str, Document]:
    try:
        content = read_regular(str(target.file), LONGEST)
    except OSError as error:
        raise SessionlogError(f"{target.file} cannot be read: {error.strerror or error}.") from None
    root, broken = Node(None, 0, 0), None
    try:
        text = content.decode("utf-8-sig")
        root = parse(text)
    except UnicodeDecodeError as error:
        text = error.object[: error.start].decode()  # less the byte order mark: the codec counts from behind it
        broken = InvalidJSON(f"the byte 0x{error.object[error.start]:02x} is no UTF-8", text, len(text))
    except InvalidJSON as error:
        broken = error
    bom = content.startswith(BOM)
    # What hooks get from the client is not what this process got from it.
    variables = {name: value for name, value in os.environ.items() if not name.startswith("CLAUDE_P")}
    variables.setdefault("HOME", os.path.expanduser("~"))
    if target.root:
        variables["CLAUDE_PROJECT_DIR" if target.kind == "settings" else "CLAUDE_PLUGIN_ROOT"] = str(target.root)
    folder = target.root if target.kind == "settings" else None
    return text, Document(target.kind, root, broken, bom, variables, folder)


def _sites(document: Document) -> Iterator[Site]:
    yield Site("file", document, document.root, "")
    hooks = document.root.get("hooks")
    if hooks is None:
        return
    blocks = [(hooks, ".hooks")]
    if document.kind == "manifest":  # its `hooks` may be a list of such objects
        blocks += [(block, f".hooks[{number}]") for number, block in enumerate(hooks.items())]
    for block, above in blocks:
        for event, groups in block.members().items():
            path = above + step(event)
            yield Site("event", document, groups, path, event)
            for number, group in enumerate(groups.items()):
                yield Site("group", document, group, f"{path}[{number}]", event)
                handlers = group.get("hooks")
                for place, handler in enumerate(handlers.items() if handlers else []):
                    yield Site("handler", document, handler, f"{path}[{number}].hooks[{place}]", event)


def _printable(text: str) -> str:
    """No control characters for the terminal, and nothing that cannot be encoded: a settings file may be hostile."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in text)
