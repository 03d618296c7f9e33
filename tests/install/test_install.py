"""`install`, `uninstall` and `hook-command` as a person uses them, up to a recorded event."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sessionlog.agents.claude_code.events import CORE, RECORDED
from sessionlog.archive import place as projects
from sessionlog.cli import hook_command, install, uninstall
from sessionlog.errors import SessionlogError
from sessionlog.install import settings_files
from sessionlog.install.commands import is_ours
from sessionlog.install.settings_json import registered

REPOSITORY = Path(__file__).parents[2]
IN_A_CHILD = "import sys; from sessionlog.cli.{0} import command; command(sys.argv[1:])"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own with a project in it, where we are, and a client of a known version."""
    home = tmp_path / "home"
    (home / "project" / ".git").mkdir(parents=True)
    (home / "bin").mkdir()
    for name in ("CLAUDE_CONFIG_DIR", "SESSIONLOG_HOME", "XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", f"{home / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin")
    # projects reads the environment that the process was started with
    monkeypatch.setattr(projects, "getenv", lambda name: os.environ.get(name, ""))
    monkeypatch.setattr(settings_files, "MANAGED", tmp_path / "managed")
    monkeypatch.chdir(home / "project")
    client(home, "2.1.325 (Claude Code)")
    return home


def client(home: Path, version: str) -> None:
    """Put a `claude` on PATH that says this version."""
    (home / "bin" / "claude").write_text(f"#!/bin/sh\necho '{version}'\n")
    (home / "bin" / "claude").chmod(0o755)


def run(module: object, *arguments: str) -> Result:
    return CliRunner().invoke(module.command, list(arguments))  # type: ignore[attr-defined]


def user_file(home: Path) -> Path:
    return home / ".claude" / "settings.json"


def events_in(path: Path) -> tuple[str, ...]:
    return tuple(registered(json.loads(path.read_text())))


def test_install_sums_up_writes_and_says_what_is_next(home: Path) -> None:
    result = run(install, "--yes")
    assert len(result.output.splitlines()) < 12 and f"{len(RECORDED)} events will be recorded" in result.output
    run(uninstall, "--yes")
    result = run(install, "--yes", "--diff")
    assert result.exit_code == 0, result.output
    assert "--- /dev/null" in result.output
    assert '+    "SessionEnd": [' in result.output
    assert f"Installed in {user_file(home)}: {len(RECORDED)} events." in result.output
    assert "sessionlog sessions" in result.output
    assert events_in(user_file(home)) == RECORDED
    assert "\x1b[" not in result.output  # colour is for terminals


def test_purge_removes_what_is_ours_and_nothing_else(home: Path) -> None:
    folder = home / ".local" / "share" / "sessionlog"
    run(install, "--yes")
    for name in ("shop-0123456789abcdef.db", "shop-0123456789abcdef.db-wal", "config.json"):
        (folder / name).write_text("x")
    (folder / "rejected").mkdir()
    (folder / "holiday.jpg").write_text("mine")
    assert "would be removed" in run(uninstall, "--purge", "--dry-run").output and (folder / "config.json").exists()
    result = run(uninstall, "--purge", "--yes")
    assert "Removed 1 archive" in result.output, result.output
    assert [file.name for file in folder.iterdir()] == ["holiday.jpg"]
    (folder / "holiday.jpg").unlink()
    run(install, "--yes")
    run(uninstall, "--purge", "--yes")
    assert not folder.exists()


def test_a_cache_is_no_place_for_hooks(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = home / ".cache" / "uv"
    (cache / "archive-v0" / "x").mkdir(parents=True)
    (cache / "CACHEDIR.TAG").write_text("Signature: 8a477f597d28d172789f06886806bc55")
    monkeypatch.setattr(sys, "prefix", str(cache / "archive-v0" / "x"))
    assert "uv tool install" in str(run(install, "--yes").exception)
    assert not user_file(home).exists()


def test_twice_is_once(home: Path) -> None:
    run(install, "--yes")
    before = user_file(home).stat()
    result = run(install)  # not even a question
    assert (result.exit_code, "Already installed" in result.output) == (0, True)
    assert user_file(home).stat() == before
    assert [file.name for file in user_file(home).parent.iterdir()] == ["settings.json"]


def test_uninstall_leaves_nothing_but_the_archive(home: Path) -> None:
    before = sorted(home.rglob("*"))
    archive = home / ".local" / "share" / "sessionlog"
    for scope in settings_files.SCOPES:
        assert run(install, "--scope", scope, "--yes").exit_code == 0
    result = run(uninstall, "--yes")
    assert result.exit_code == 0, result.output
    assert result.output.count("Uninstalled from") == 3
    assert f"The archive stays where it is: {archive}" in result.output
    assert sorted(file for file in home.rglob("*") if home / ".local" not in (file, *file.parents)) == before
    assert "Nothing of sessionlog" in run(uninstall, "--yes").output


@pytest.mark.parametrize("module", [install, uninstall])
def test_a_dry_run_writes_nothing(home: Path, module: object) -> None:
    if module is uninstall:
        run(install, "--yes")
    before = {file: file.read_bytes() for file in home.rglob("*") if file.is_file()}
    result = run(module, "--dry-run", "--yes")
    assert result.exit_code == 0
    assert "@@" in result.output
    assert "Dry run: nothing was written." in result.output
    assert {file: file.read_bytes() for file in home.rglob("*") if file.is_file()} == before


def test_without_a_terminal_it_wants_yes(home: Path) -> None:
    result = run(install)
    assert result.exit_code == 1
    assert isinstance(result.exception, SessionlogError)
    assert "--yes" in str(result.exception)
    assert not user_file(home).exists()


@pytest.mark.parametrize(("answer", "written"), [("y", True), ("", False), ("n", False)])
def test_on_a_terminal_it_asks_in_colour(home: Path, answer: str, written: bool) -> None:
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", IN_A_CHILD.format("install"), "--events", "core", "--diff"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY), "TERM": "xterm"},
    ) as child:
        os.close(theirs)
        os.write(ours, f"{answer}\n".encode())
        output = b""
        while chunk := _read(ours):
            output += chunk
    os.close(ours)
    assert b"\x1b[32m+" in output
    assert f"Write {user_file(home)}?".encode() in output
    assert child.returncode == (0 if written else 1)
    assert user_file(home).exists() is written


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # Linux says EIO where others say nothing when the other end is closed
        return b""


@pytest.mark.parametrize(
    ("version", "arguments", "events"),
    [
        ("2.1.325 (Claude Code)", ["--events", "core"], set(CORE)),
        ("2.1.197 (Claude Code)", [], set(RECORDED) - {"DirectoryAdded", "PostModelSwitch"}),
        ("who knows", [], set(CORE)),
        ("who knows", ["--client-version", "2.1.325"], set(RECORDED)),
    ],
)
def test_only_events_that_the_client_knows(home: Path, version: str, arguments: list[str], events: set[str]) -> None:
    client(home, version)
    result = run(install, "--yes", *arguments)
    assert set(events_in(user_file(home))) == events
    assert ("version of Claude Code is unknown" in result.output) is (version == "who knows" and not arguments)


def test_a_version_that_is_none_is_refused() -> None:
    assert "is no version" in str(run(install, "--client-version", "new").exception)


def test_what_is_shared_names_nothing_of_this_machine(home: Path) -> None:
    result = run(install, "--scope", "project", "--yes")
    text = (home / "project" / ".claude" / "settings.json").read_text()
    assert str(home) not in text
    assert sys.executable not in text
    assert set(json.loads(text)["hooks"]) == set(CORE)  # nothing that a colleague's old client might choke on
    assert "sessionlog-hook is not on your PATH" in result.output


def test_obstacles_are_told(home: Path) -> None:
    user_file(home).parent.mkdir()
    user_file(home).write_text('{"disableAllHooks": true, "enabledPlugins": {"sessionlog@tools": true}}')
    result = run(install, "--yes")
    assert "Note: disableAllHooks" in result.output
    assert "Note: The plugin sessionlog@tools" in result.output
    assert "The file as it was" in result.output
    assert "The plugin sessionlog@tools still records" in run(uninstall, "--yes").output


def test_the_import_of_what_is_on_disk_is_offered() -> None:
    assert "sessionlog import" in run(install, "--yes").output


def test_a_broken_file_in_one_place_does_not_keep_others_from_uninstalling(home: Path) -> None:
    run(install, "--yes")
    broken = home / "project" / ".claude" / "settings.json"
    broken.parent.mkdir()
    broken.write_text("{,}")
    result = run(uninstall, "--yes")
    assert result.exit_code == 1
    assert f"{broken} is no valid settings file: line 1, column 2" in result.output
    assert not user_file(home).exists()
    assert broken.read_text() == "{,}"


def test_hook_command_prints_what_install_registers(home: Path) -> None:
    run(install, "--yes")
    ours = registered(json.loads(user_file(home).read_text()))
    for event in RECORDED:
        assert run(hook_command, event).output == ours[event][0]["command"] + "\n"
    assert json.loads(run(hook_command, "Stop", "--json").output) == {"hooks": {"Stop": [{"hooks": ours["Stop"]}]}}
    assert set(json.loads(run(hook_command, "--json").output)["hooks"]) == set(CORE)
    assert is_ours(run(hook_command).output.strip())


def test_every_registered_command_records_its_event(home: Path) -> None:
    """The whole way: what install wrote, run as Claude Code runs it, gives one row an event."""
    run(install, "--yes")
    for event, (handler,) in registered(json.loads(user_file(home).read_text())).items():
        payload = {"session_id": "s1", "hook_event_name": event, "cwd": str(home / "project")}
        result = subprocess.run(
            ["/bin/sh", "-c", handler["command"]],
            input=json.dumps(payload).encode() + b"\n",
            env={"HOME": str(home), "CLAUDE_PROJECT_DIR": str(home / "project"), "PATH": "/usr/bin:/bin"},
            cwd=home,
            capture_output=True,
            check=False,
        )
        assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")
    (database,) = (home / ".local" / "share" / "sessionlog").glob("*.db")
    with sqlite3.connect(database) as connection:
        assert {event for (event,) in connection.execute("SELECT event FROM events")} == set(RECORDED)
    connection.close()
