"""`install --agent`, `uninstall`, `doctor`, `hook-command` and `validate` for agents other than Claude Code."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from sessionlog.agents import registry, translate
from sessionlog.archive import place as projects
from sessionlog.cli.main import cli
from sessionlog.install import commands, other_agents
from sessionlog.install.doctor import hooks
from sessionlog.install.validate import check as validate
from tests.agents.test_hooks import captured
from tests.conftest import rows, thorough

AGENTS = registry.others("settings")
IN_JSON = [name for name in AGENTS if not hasattr(other_agents.settings(name), "whole_file")]

# What people have in such a file: their own layout, hooks of their own, no newline at the end.
THEIRS = '{\r\n\t"theme" : "dark",\r\n\t"hooks" : { "SessionEnd": [ {"hooks": [{"type":"command","command":"true"}]} ] }\r\n}'


def run(*arguments: str) -> Any:
    done = CliRunner().invoke(cli, list(arguments))
    assert done.exit_code == 0, done.output
    return done


@pytest.fixture(autouse=True)
def in_project(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLAUDE_PROJECT_DIR")
    monkeypatch.chdir(project)


@pytest.mark.parametrize("agent", AGENTS)
def test_every_agent_has_all_parts(agent: str) -> None:
    settings, table = other_agents.settings(agent), translate.part(agent, "hook_table")
    assert settings.TITLE and settings.PROGRAM and settings.EVENTS
    for name in ("EVENTS", "FIELDS", "TOOLS", "INPUTS", "MODES", "UNPAIRED", "PROJECT_VARIABLE", "LOCK_WAIT", "adjust"):
        assert hasattr(table, name)
    noise = {name for name, known in table.EVENTS.items() if known is None}
    assert not noise & set(settings.EVENTS)  # what is not recorded is not registered


@pytest.mark.parametrize("agent", AGENTS)
def test_installing_and_uninstalling_leaves_no_trace(agent: str, home: Path) -> None:
    path = other_agents.file(agent)
    run("install", "--agent", agent, "--yes")
    assert path.is_file()
    assert "already installed" in run("install", "--agent", agent).output
    run("uninstall", "--agent", agent, "--yes")
    assert not path.exists()
    assert [path.name for path in home.iterdir()] == [".local"]  # where the archives are


@pytest.mark.parametrize("agent", IN_JSON)
def test_what_others_wrote_stays_to_the_byte(agent: str) -> None:
    path = other_agents.file(agent)
    path.parent.mkdir(parents=True)
    path.write_bytes(THEIRS.encode())
    run("install", "--agent", agent, "--yes")
    registered = json.loads(path.read_bytes())["hooks"]
    assert [*registered] == [
        "SessionEnd",
        *(name for name in other_agents.settings(agent).EVENTS if name != "SessionEnd"),
    ]
    backups = list(path.parent.glob("*.sessionlog-backup"))
    assert [backup.read_bytes() for backup in backups] == [THEIRS.encode()]
    run("uninstall", "--yes")
    assert path.read_bytes() == THEIRS.encode()


@pytest.mark.parametrize("agent", AGENTS)
def test_what_is_not_understood_is_left_alone(agent: str) -> None:
    path = other_agents.file(agent)
    path.parent.mkdir(parents=True)
    path.write_text("// mine\n{}")
    for command in ("install", "uninstall"):
        done = CliRunner().invoke(cli, [command, "--agent", agent, "--yes"])
        assert done.exit_code == (0 if command == "uninstall" and agent == "opencode" else 1)
    assert path.read_text() == "// mine\n{}"


def test_all_installs_those_that_are_here(home: Path) -> None:
    (home / ".gemini").mkdir()
    (home / ".codex").mkdir()
    done = run("install", "--agent", "all", "--yes")
    assert [name for name in AGENTS if other_agents.is_registered(name)] == ["codex", "gemini"]
    assert (home / ".claude/settings.json").is_file()
    assert "only when you have trusted it" in done.output  # Codex's trust is explained, and left to the user
    assert not (home / ".codex/config.toml").exists()


def test_a_dry_run_writes_nothing() -> None:
    for agent in AGENTS:
        run("install", "--agent", agent, "--dry-run")
        assert not other_agents.file(agent).exists()


def test_hook_command_prints_what_install_registers() -> None:
    for agent in AGENTS:
        event = other_agents.settings(agent).EVENTS[0]
        assert run("hook-command", "--agent", agent, event).output.strip() == other_agents.hook_command(agent, event)
    done = CliRunner().invoke(cli, ["hook-command", "--agent", "gemini", "PreToolUse"])
    assert done.exit_code == 2 and "BeforeTool" in done.output


@pytest.mark.parametrize("agent", AGENTS)
def test_doctor_runs_the_command(agent: str, home: Path) -> None:
    run("install", "--agent", agent, "--yes")
    (result,) = hooks.other_agents_recording()
    if agent == "codex":
        assert result.level == "problem" and "not trusted" in result.text
        states = "".join(f'[hooks.state."{home}/.codex/hooks.json:{name}:0:0"]\n' for name in _snake_case(agent))
        (home / ".codex/config.toml").write_text(states)
        (result,) = hooks.other_agents_recording()
    assert (result.level, result.name) == ("ok", agent), result


def _snake_case(agent: str) -> list[str]:
    names = other_agents.settings(agent).EVENTS
    return ["".join(f"_{sign.lower()}" if sign.isupper() else sign for sign in name).strip("_") for name in names]


def test_doctor_notes_agents_that_are_not_recorded(home: Path) -> None:
    assert list(hooks.other_agents_recording()) == []
    (home / ".qwen").mkdir()
    (result,) = hooks.other_agents_recording()
    assert (result.level, result.advice) == ("note", "Type: sessionlog install --agent qwen")


@pytest.mark.parametrize("agent", IN_JSON)
def test_validate_knows_the_events_of_an_agent(agent: str) -> None:
    path = other_agents.file(agent)
    path.parent.mkdir(parents=True)
    path.write_text('{"hooks": {"BeforeBreakfast": [], "SessionStart": [{"hooks": [{"type": "command"}]}]}}')
    (target,) = validate.targets(path)
    found = [(finding.rule, finding.path) for finding in validate.check(target)]
    assert found == [("V-AG-01", "hooks.BeforeBreakfast"), ("V-AG-02", "hooks.SessionStart[0].hooks[0]")]
    assert path in [target.file for target in validate.targets_in_force(Path.cwd())]


# --- It never blocks: the table of exit codes -------------------------------------------------------------------------
# Codex, Qwen and Gemini deny a tool call at exit code 2, Gemini at any but 0 and 1 if something is printed, Copilot at
# any but 0. Gemini takes what is on stderr for a message. So: 0, and nothing on stdout and stderr, whatever happens.


def registered_commands(agent: str) -> dict[str, str]:
    return {event: other_agents.hook_command(agent, event) for event in other_agents.settings(agent).EVENTS}


def in_shell(command: str, payload: bytes, **environment: str) -> tuple[int, bytes, bytes]:
    done = subprocess.run(
        command,
        shell=True,
        input=payload,
        capture_output=True,
        env={**os.environ, **environment},
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


PAYLOADS = {agent: json.dumps(captured(agent)[0].payload).encode() for agent in AGENTS}


@pytest.mark.parametrize("agent", AGENTS)
def test_without_python_or_package_every_command_ends_well(agent: str, tmp_path: Path) -> None:
    for command in registered_commands(agent).values():
        no_python = command.replace(shutil.which(sys.executable) or sys.executable, f"{tmp_path}/gone/python3")
        no_package = command.replace("/hooks/agent_event.py", "/gone/agent_event.py")
        for broken in (no_python, no_package):
            assert broken != command
            assert in_shell(broken, PAYLOADS[agent]) == (0, b"", b"")


@pytest.mark.parametrize("agent", AGENTS)
def test_with_half_a_package_every_command_ends_well(agent: str, tmp_path: Path) -> None:
    """The script is there, and what it imports is broken."""
    (tmp_path / "hooks").mkdir()
    handler = next(word for word in other_agents.words(agent) if word.endswith(".py"))
    script = shutil.copy(handler, tmp_path / "hooks")
    for number, content in enumerate((None, "raise SystemExit(2)", "syntax error")):
        if content is not None:
            (tmp_path / "sessionlog/record").mkdir(parents=True, exist_ok=True)
            (tmp_path / "sessionlog/record/hook.py").write_text(content)
        found = [*registered_commands(agent).values()]
        for command in found if thorough() else found[number::3]:
            assert in_shell(command.replace(handler, str(script)), PAYLOADS[agent]) == (0, b"", b"")


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("payload", [b"", b"not JSON", b"[1]", b'{"hook_event_name": 7}', b"\xff\xfe", b"{}"])
def test_whatever_comes_every_command_ends_well(agent: str, payload: bytes) -> None:
    for command in [*registered_commands(agent).values()][: 3 if thorough() else 1]:
        assert in_shell(command, payload) == (0, b"", b"")


@pytest.mark.parametrize("agent", AGENTS)
def test_without_a_disk_every_command_ends_well(agent: str, tmp_path: Path) -> None:
    """No folder can be made for the archive, nor anywhere else."""
    (tmp_path / "file").touch()
    nowhere = str(tmp_path / "file" / "below")
    homes = dict.fromkeys(("SESSIONLOG_HOME", "XDG_STATE_HOME", "TMPDIR", "HOME"), nowhere)
    for command in [*registered_commands(agent).values()][:3]:
        assert in_shell(command, PAYLOADS[agent], **homes) == (0, b"", b"")


def test_the_last_second_of_codex_is_enough(home: Path) -> None:
    """Codex kills what takes longer than a second at SessionEnd. While another process writes, the event is spooled."""
    import sqlite3
    import time

    place = projects.place("/home/dev/shop")
    sent = captured("codex", "exec")
    in_shell(other_agents.hook_command("codex", "SessionStart"), json.dumps(sent[0].payload).encode())
    with sqlite3.connect(place.db, isolation_level=None) as connection:
        connection.execute("BEGIN IMMEDIATE")
        started = time.monotonic()
        in_shell(other_agents.hook_command("codex", "SessionEnd"), json.dumps(sent[-1].payload).encode())
        took = time.monotonic() - started
        connection.execute("ROLLBACK")
    assert translate.part("codex", "hook_table").LOCK_WAIT["SessionEnd"] <= 0.5
    assert took < 30  # no test asserts on a duration; that it did not wait for the other is enough
    assert Path(f"{place.db}.spool").stat().st_size
    assert [row["event"] for row in rows(place)] == ["SessionStart"]


def test_doctor_knows_that_another_agent_is_recorded(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def judged() -> tuple[str, str]:
        (found,) = hooks.recording(tmp_path, commands.client_version())
        return found.level, found.text

    assert judged() == ("problem", "not registered: nothing is recorded")
    run("install", "--agent", "gemini", "--yes")
    assert judged() == ("ok", "recorded: Gemini CLI; Claude Code is not on this machine")
    (tmp_path / "bin").mkdir()
    claude = tmp_path / "bin" / "claude"
    claude.write_text("#!/bin/sh\necho '2.1.325 (Claude Code)'\n")
    claude.chmod(0o755)
    monkeypatch.setenv("PATH", f"{claude.parent}:{os.environ['PATH']}")
    level, text = judged()
    assert level == "note" and "not registered with Claude Code" in text and "recorded: Gemini CLI" in text
