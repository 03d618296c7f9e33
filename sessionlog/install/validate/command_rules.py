"""The rules of hooks that look beyond the JSON: at the command that a handler runs, and at its scripts."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

from sessionlog.install.json_positions import Node
from sessionlog.install.validate.rulebook import Problem, Rulebook, Site, shown
from sessionlog.install.validate.shell_words import Script

RULES = Rulebook()

# What exit code 2 can stop by the specification; the client's own view is in EVENTS.
_BLOCKING = {
    "PreToolUse",
    "PermissionRequest",
    "UserPromptSubmit",
    "Stop",
    "SubagentStop",
    "TeammateIdle",
    "TaskCompleted",
}

_SHELL_2 = r"^[^#\n]*\bexit\s+2\b"
_PYTHON_2 = r"^[^#\n]*\b(?:exit|SystemExit)\(\s*2\s*\)"
_NODE_2 = r"process\.exit(?:Code\s*=\s*2\b|\(\s*2\s*\))"
_EXITS_WITH_2 = {
    ".py": re.compile(_PYTHON_2, re.MULTILINE),
    **dict.fromkeys((".js", ".mjs", ".cjs", ".ts"), re.compile(_NODE_2)),
}
_ANY_2 = re.compile(f"{_SHELL_2}|{_PYTHON_2}|{_NODE_2}", re.MULTILINE)


@RULES.rule("V-HK-06", "error", "The command of a command handler can be executed.", "handler")
def executable(site: Site) -> Iterator[Problem]:
    if site.type != "command":
        return
    command = site.fields.get("command")
    program = site.command.program
    if not isinstance(command, str) or not command.strip():
        yield site.problem("the command handler has no command", 'Add "command": "…".', "command")
    elif site.command.broken:
        message = f"no shell can read the command: {site.command.broken}"
        yield site.problem(message, 'Close the quote; inside JSON a double quote is \\".', "command")
    elif program and "/" in program:
        if os.path.isdir(program):
            yield site.problem(f"{shown(program)} is a folder", "Name the program in it.", "command")
        elif os.path.exists(program):
            if not os.access(program, os.X_OK):
                advice = f"Type: chmod +x {shlex.quote(program)}"
                yield site.problem(f"{shown(program)} is not executable", advice, "command")
        elif all(script.path != Path(program) for script in site.command.scripts):  # else it is V-HK-07
            yield site.problem(f"{shown(program)} does not exist", "Correct the path.", "command")
    elif program and not site.command.optional and not shutil.which(program, path=site.document.variables.get("PATH")):
        message = f"{shown(program)} is not found on the PATH"
        yield site.problem(message, "Install it, or give its full path.", "command")


@RULES.rule("V-HK-07", "error", "The scripts that a command runs exist.", "handler")
def scripts_exist(site: Site) -> Iterator[Problem]:
    for script in site.command.scripts:
        # A command that tests for its script first, `[ -f X ] && X`, is safe without it.
        if script.path and not script.guarded and not os.path.exists(script.path):
            message = f"the script {shown(str(script.path))} does not exist"
            yield _at(site, script, message, "Correct the path, or put the script there.")


@RULES.rule("V-HK-10", "warning", "A handler of an event that cannot block does not count on exit code 2.", "handler")
def expects_no_block(site: Site) -> Iterator[Problem]:
    event = site.known_event
    if event and event.in_specification and event.name not in _BLOCKING:
        where = _exits_with_2(site)
        if where:
            today = ""
            if event.blocks:
                today = "; today's client does block"
            elif event.matches == "tool name":
                today = "; today's client shows stderr to the model"
            message = f"{where} uses exit code 2, which cannot block {event.name} by the specification{today}"
            yield site.problem(message, "End with 0 or 1, and tell the model by JSON on stdout.", "command")


@RULES.rule("V-HK-11", "warning", "The scripts of a plugin are named with ${CLAUDE_PLUGIN_ROOT}.", "handler")
def below_plugin_root(site: Site) -> Iterator[Problem]:
    if site.document.kind == "settings":
        return
    for script in site.command.scripts:
        if script.relative or script.word.startswith(("/", "~")):
            root, path = site.document.variables.get("CLAUDE_PLUGIN_ROOT", ""), script.word
            below = os.path.relpath(path, root) if root and path.startswith(f"{root}/") else path.removeprefix("./")
            if os.path.isabs(below) or below.startswith(("~", "..")):
                advice = "Put the script into the plugin, and begin its path with ${CLAUDE_PLUGIN_ROOT}."
            else:
                advice = f'Write "${{CLAUDE_PLUGIN_ROOT}}/{below}".'
            yield _at(site, script, f"the path {shown(path)} does not hold on other machines", advice)


@RULES.rule("V-CC-08", "warning", "A handler does not count on exit code 2 where the client ignores it.", "handler")
def no_effect_of_2(site: Site) -> Iterator[Problem]:
    event = site.known_event
    if event and not event.blocks and (not event.in_specification or event.name in _BLOCKING):
        where = _exits_with_2(site)
        if where:
            other = "Print a JSON decision instead." if event.name == "PermissionRequest" else "End with 0 or 1."
            yield site.problem(f"{where} uses exit code 2, which the client ignores on {event.name}", other, "command")


@RULES.rule("V-CC-09", "warning", "The paths in a settings file hold wherever the session is.", "handler")
def holds_everywhere(site: Site) -> Iterator[Problem]:
    if site.document.kind != "settings" or site.type != "command":
        return
    if "CLAUDE_PLUGIN_ROOT" in str([site.fields.get("command"), site.fields.get("args")]):
        message = "CLAUDE_PLUGIN_ROOT is set for the hooks of plugins only"
        yield site.problem(message, 'Use an absolute path, or "$CLAUDE_PROJECT_DIR"/….', "command")
    for script in site.command.scripts:
        if script.relative:
            message = f"the path {shown(script.word)} breaks as soon as the session changes its folder"
            below = script.word.removeprefix("./")
            yield _at(site, script, message, f'Write "$CLAUDE_PROJECT_DIR"/{below}, or an absolute path.')


@RULES.rule("V-CC-11", "error", "The hook files that a plugin.json names exist.", "file")
def named_files_exist(site: Site) -> Iterator[Problem]:
    if site.document.kind == "manifest":
        for node in hook_files(site.node):
            if not os.path.isfile(Path(site.document.variables["CLAUDE_PLUGIN_ROOT"], node.value)):
                yield site.problem(f"there is no file {shown(node.value)} in the plugin", "Correct the path.", "hooks")


def hook_files(manifest: Node) -> list[Node]:
    """The values of `hooks` in a plugin.json that name files; the others are hooks themselves."""
    hooks = manifest.get("hooks")
    return [node for node in (hooks, *hooks.items()) if isinstance(node.value, str)] if hooks else []


@RULES.rule("V-CC-10", "warning", "A missing script does not block: no command ends with 2 by accident.", "handler")
def fails_open(site: Site) -> Iterator[Problem]:
    if not site.known_event or not site.known_event.blocks or site.fields.get("async") is True:
        return
    for script in site.command.scripts:
        if script.missing_is_2 and not script.guarded:
            message = f"should the script be gone, {script.interpreter} ends with 2, and that blocks every {site.event}"
            if "args" in site.fields:
                advice = f'Use the shell form: [ -f "{script.word}" ] || exit 1; {script.interpreter} "{script.word}"'
            elif _exits_with_2(site):  # it blocks on purpose, so its own 2 must get through
                advice = f'Put in front: [ -f "{script.word}" ] || exit 1;'
            else:
                advice = "Append: || exit 1"
            yield _at(site, script, message, advice)


def _at(site: Site, script: Script, message: str, advice: str) -> Problem:
    """A problem at the argument that names the script in exec form, else at the command."""
    node = site.node.members().get("args")
    for number, item in enumerate(node.items() if node else []):
        if item.value == script.word:
            return site.problem(message, advice)._replace(offset=item.start, path=f"{site.path[1:]}.args[{number}]")
    return site.problem(message, advice, "command")


def _exits_with_2(site: Site) -> str:
    """Where the command or one of its scripts says `exit 2`; a guess from the text, so never an error."""
    if site.type == "command" and _ANY_2.search(str(site.fields.get("command"))):
        return "the command"
    for script in site.command.scripts:
        if script.path and _EXITS_WITH_2.get(script.path.suffix, _ANY_2).search(_beginning(script.path)):
            return f"the script {shown(str(script.path))}"
    return ""


def _beginning(path: Path) -> str:
    """The text of a script, as far as it can be read and is not absurdly long."""
    if not os.path.isfile(path):  # a named pipe would never end
        return ""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(1_000_000)
    except OSError:
        return ""
