"""The doctor's look at the hooks: where they are registered, whether they work, and what is in their way."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

from sessionlog.agents.claude_code.events import EVENTS
from sessionlog.errors import SessionlogError
from sessionlog.install import other_agents, settings_files
from sessionlog.install.commands import (
    SUPERVISED,
    SUPERVISOR_TIMEOUT,
    Handler,
    Version,
    is_current,
    is_current_supervisor,
    is_supervisor,
    reviewer_of,
    timeout,
)
from sessionlog.install.doctor.result import Level, Result, short
from sessionlog.install.settings_files import in_force as settings_in_force
from sessionlog.install.settings_json import registered
from sessionlog.install.validate import check as validate
from sessionlog.supervisor import contract
from sessionlog.system import children
from sessionlog.system.files import read_regular
from sessionlog.text.plain import counted, duration, one_line

SLOW = 200  # ms; from there on a person feels it
SHOWN = 5  # findings in other people's hooks; `sessionlog validate` shows all


class Registration(NamedTuple):
    """Our hooks in one place: a settings file, or the plugin with the variables that the client gives it."""

    where: str
    handlers: dict[str, list[Handler]]
    variables: dict[str, str]


def registrations(cwd: Path) -> list[Registration]:
    """Every place that registers sessionlog for a session in this folder."""
    files = {path: registered(values) for path, values in settings_in_force(cwd).items()}
    found = [Registration(short(path), handlers, {}) for path, handlers in files.items() if handlers]
    if plugin := settings_files.enabled_plugin(cwd):
        root = _plugin_folder(plugin, cwd)
        found.append(Registration(f"the plugin {plugin}", _plugin_handlers(root), {"CLAUDE_PLUGIN_ROOT": str(root)}))
    return found


def recording(cwd: Path, client: Version | None) -> Iterator[Result]:
    """Where hooks are registered, and whether they really record."""
    found = registrations(cwd)
    if not found:
        yield _unregistered(client)
    for registration in found:
        yield _judged(registration, client)
    commands = {
        (handler["command"], *registration.variables.values())
        for registration in found
        for handler in registration.handlers.get("Stop", [])
    }
    if len(commands) > 1:  # a command that is in two settings files runs once
        text = f"each event is stored once, but {len(commands)} hooks run for it"
        yield Result("hooks", "note", text, "Keep one: `sessionlog uninstall` or `claude plugin disable sessionlog`.")


def _unregistered(client: Version | None) -> Result:
    """Claude Code has no hook of ours, which matters less to people who work with other agents."""
    others = [other_agents.settings(name).TITLE for name in other_agents.names() if other_agents.is_registered(name)]
    if not others:
        return Result("hooks", "problem", "not registered: nothing is recorded", "Type: sessionlog install")
    recorded = ", ".join(others)
    if client:
        text = f"not registered with Claude Code, so its sessions are not recorded; recorded: {recorded}"
        return Result("hooks", "note", text, "Type: sessionlog install")
    return Result("hooks", "ok", f"recorded: {recorded}; Claude Code is not on this machine")


def other_agents_recording() -> Iterator[Result]:
    """Agents beside Claude Code: where our hooks are registered with them, and whether they work."""
    for name in other_agents.names():
        agent = other_agents.settings(name)
        advice = f"Type: sessionlog install --agent {name}"
        try:
            is_registered = other_agents.plan_uninstall(name).needed
            up_to_date = is_registered and other_agents.is_current(name)
        except SessionlogError as error:
            if other_agents.is_here(name):
                yield Result(name, "note", str(error))
            continue
        if not is_registered:
            if other_agents.is_here(name):
                yield Result(name, "note", f"{agent.TITLE} is here, but not recorded", advice)
            continue
        where = f"{counted(len(agent.EVENTS), 'event')} in {short(other_agents.file(name))}"
        if not up_to_date:
            text = f"{where}: the command is that of another version or installation of sessionlog"
            yield Result(name, "problem", text, advice)
            continue
        event = next((event for event in ("UserPromptSubmit", "BeforeAgent") if event in agent.EVENTS), agent.EVENTS[0])
        trouble, milliseconds = try_out(other_agents.hook_command(name, event), {})
        if trouble:
            yield Result(name, "problem", f"{where}: {trouble}", advice)
        elif hasattr(agent, "trusted") and not agent.trusted(list(agent.EVENTS)):
            yield Result(name, "problem", f"{where}, but not trusted: {agent.TITLE} skips them", agent.NOTICE)
        else:
            yield Result(name, "ok", f"{where}, {duration(milliseconds)} each")


def supervising(cwd: Path) -> Iterator[Result]:
    """The supervisor, if one is installed. It is run as it is, but does not ask its reviewer."""
    for path, values in settings_in_force(cwd).items():
        found = registered(values, is_supervisor)
        handlers = [handler for event in found for handler in found[event]]
        if not handlers:
            continue
        reviewer = one_line(reviewer_of(handlers[0]["command"]) or "", 60)
        where = f"`{reviewer}` in {short(path)}"
        missing = [event for event in SUPERVISED if event not in found]
        if missing:
            text = f"{where} is not asked at {' and '.join(missing)}"
            yield Result("supervisor", "problem", text, "Type: sessionlog install --supervisor COMMAND")
            continue
        if not is_current_supervisor(handlers[0]["command"]):
            text = f"{where}: {_why_not_run(handlers[0]['command'])}"
            yield Result("supervisor", "problem", text, "Type: sessionlog install --supervisor COMMAND")
            continue
        command = handlers[0]["command"]
        trouble = _run(command, SUPERVISOR_TIMEOUT, {**os.environ, **contract.environment("doctor")}, supervises=True)
        if trouble:
            yield Result(
                "supervisor", "problem", f"{where}: {trouble}", "Type: sessionlog install --supervisor COMMAND"
            )
        else:
            yield Result("supervisor", "ok", f"{where} decides whether Claude may stop, or ask a question")


def _judged(registration: Registration, client: Version | None) -> Result:
    where, handlers, variables = registration
    if not handlers:
        text = f"{where} is enabled, but there are no hooks in {short(variables['CLAUDE_PLUGIN_ROOT'])}"
        return Result("hooks", "problem", text, "Install it again.")
    where = f"{counted(len(handlers), 'event')} in {where}"
    unknown = next((event for event in handlers if client and event in EVENTS and EVENTS[event].since > client), None)
    if unknown and client and client < (2, 1, 101) and not variables:
        text = f"{where}: this client does not know {unknown}, so it ignores the whole file"
        return Result("hooks", "problem", text, "Update Claude Code, or type: sessionlog install")
    event = "UserPromptSubmit" if handlers.get("UserPromptSubmit") else next(iter(handlers))
    outdated = [name for name in handlers if not all(is_current(name, each["command"]) for each in handlers[name])]
    if event in outdated:
        text = f"{where}: {_why_not_run(handlers[event][0]['command'])}"
        advice = "Install the plugin again." if variables else "Type: sessionlog install"
        return Result("hooks", "problem", text, advice)
    if outdated:
        text = f"{where}: the command for {outdated[0]} is that of another version of sessionlog"
        return Result("hooks", "note", text, "Install the plugin again." if variables else "Type: sessionlog install")
    trouble, milliseconds = try_out(handlers[event][0]["command"], variables)
    if trouble:
        advice = "Install the plugin again." if variables else "Type: sessionlog install"
        return Result("hooks", "problem", f"{where}: {trouble}", advice)
    if milliseconds > SLOW:
        advice = "Is its python the shim of a version manager? `sessionlog install` names the real one."
        return Result("hooks", "note", f"{where}, but slow: {duration(milliseconds)} each", advice)
    return Result("hooks", "ok", f"{where}, {duration(milliseconds)} each")


def _why_not_run(command: str) -> str:
    """A command is run only if this version would register the very same: a settings file may be a stranger's."""
    with suppress(ValueError):
        for word in shlex.split(command):
            if os.path.isabs(word) and word != os.devnull and not os.path.exists(word):
                return f"{one_line(word, 80)} is gone"
    return "the command is that of another version or installation of sessionlog, so it was not tried"


def try_out(command: str, variables: dict[str, str]) -> tuple[str, float]:
    """Run a command of ours into a scratch archive: what is wrong with it, if anything, and how long it takes."""
    with tempfile.TemporaryDirectory(prefix="sessionlog-doctor-") as scratch:
        environment = {name: os.environ[name] for name in os.environ if not name.startswith(("CLAUDE", "SESSIONLOG"))}
        environment |= dict.fromkeys(("SESSIONLOG_HOME", "CLAUDE_PROJECT_DIR", "XDG_STATE_HOME", "TMPDIR"), scratch)
        times = []
        for _ in range(3):  # the first one makes the archive
            started = time.perf_counter()
            if trouble := _run(command, timeout("UserPromptSubmit"), environment | variables):
                return trouble, 0
            times.append((time.perf_counter() - started) * 1000)
        if _recorded(scratch) != len(times):
            return "the command ends well, but records nothing; is it on the PATH?", 0
    return "", min(times)


def _run(command: str, seconds: int, environment: dict[str, str], supervises: bool = False) -> str:
    """Run a hook as Claude Code does; what is wrong with it, if anything. Only the supervisor has something to say.

    `command` has to be one that we would register ourselves: a settings file in a checkout may hold anything.
    """
    payload = {"session_id": "doctor", "hook_event_name": "UserPromptSubmit", "prompt": "How are you?"}
    with subprocess.Popen(  # noqa: S602 (a command that this version registers)
        command,
        shell=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        cwd=children.FOLDER,
        start_new_session=True,
    ) as process:
        try:
            output, errors = process.communicate(json.dumps(payload).encode(), seconds)
        except subprocess.TimeoutExpired as error:
            os.killpg(process.pid, signal.SIGKILL)  # what the shell started, too: it holds the pipes open
            return f"the command did not end within {error.timeout:g} s"
    if process.returncode:
        said = one_line(errors.decode(errors="replace"), 150)
        return f"the command ends with {process.returncode}: {said or 'it does not say why'}"
    if supervises:
        return "" if output.startswith(b"{") else "the command does not answer"
    if output:
        return f"the command prints, and Claude reads it: {one_line(output.decode(errors='replace'))}"
    return ""


def obstacles(cwd: Path) -> Iterator[Result]:
    """Settings that keep hooks from running."""
    found = settings_in_force(cwd)
    for path, values in found.items():
        for key in ("allowManagedHooksOnly", "strictPluginOnlyCustomization"):
            if values.get(key) and settings_files.MANAGED in path.parents:
                yield Result("settings", "problem", f"{key} in {path}: only your organisation's hooks run")
    deciding = next((path for path, values in found.items() if "disableAllHooks" in values), None)
    if deciding and found[deciding]["disableAllHooks"]:
        text = f"disableAllHooks in {short(deciding)}: no hook runs, nothing is recorded"
        yield Result("settings", "problem", text, "Take it out.")


def other_hooks(cwd: Path) -> Iterator[Result]:
    """All hooks that are broken, or that would block a session if their script were gone."""
    findings = [
        finding
        for target in validate.targets_in_force(cwd)
        for finding in validate.check(target)
        if finding.severity == "error" or finding.rule == "V-CC-10"
    ]
    for finding in findings[:SHOWN]:
        where = f"{short(finding.file)}:{finding.line}"
        level: Level = "problem" if finding.severity == "error" else "note"
        yield Result("settings", level, f"{where}: {finding.message}", finding.advice)
    if len(findings) > SHOWN:
        yield Result("settings", "note", f"and {len(findings) - SHOWN} more", "Type: sessionlog validate")
    if not findings:
        yield Result("settings", "ok", "no hook is broken or could block by accident")


def _recorded(home: str) -> int:
    count = 0
    for path in Path(home).glob("*.db"):
        with closing(sqlite3.connect(path)) as connection:
            count += connection.execute("SELECT count(*) FROM events").fetchone()[0]
    return count


def _plugin_folder(plugin: str, cwd: Path) -> Path:
    """Where the client has put the plugin."""
    plugins = settings_files.settings_file("user", cwd).parent / "plugins"
    entries = _json(plugins / "installed_plugins.json").get("plugins", {}).get(plugin, [])
    folders = [entry.get("installPath", "") for entry in (entries if isinstance(entries, list) else [entries])]
    return Path(folders[-1]) if folders else plugins


def _plugin_handlers(root: Path) -> dict[str, list[Handler]]:
    found: dict[str, list[Handler]] = {}
    for file in sorted((root / "hooks").glob("*.json")):
        for event, groups in _json(file).get("hooks", {}).items():
            found[event] = [handler for group in groups for handler in group["hooks"]]
    return found


def _json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(read_regular(str(path), settings_files.LONGEST))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
