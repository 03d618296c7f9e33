"""The doctor: healthy is quiet, every illness is told with its cure, and nothing is made worse."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from sessionlog.agents.claude_code.events import CORE, RECORDED
from sessionlog.archive import append, spool
from sessionlog.archive import place as projects
from sessionlog.cli.doctor import command
from sessionlog.install import commands, settings_files
from sessionlog.install.doctor import archives, hooks, machine
from sessionlog.install.doctor import examine as doctor
from tests.conftest import ROOT, Hook, rows

RECORDS = commands.hook_command()
STOP = {"session_id": "s", "hook_event_name": "Stop"}


@pytest.fixture(autouse=True)
def machine_around(home: Path, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client of today on PATH, no managed settings, and the project as the working directory."""
    (tmp_path / "bin").mkdir()
    client(tmp_path, "2.1.325")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setattr(settings_files, "MANAGED", tmp_path / "managed")
    monkeypatch.setattr(hooks, "SLOW", 60_000)  # whatever else this machine is doing
    monkeypatch.chdir(project)


def client(tmp_path: Path, version: str) -> None:
    (tmp_path / "bin" / "claude").write_text(f"#!/bin/sh\necho '{version} (Claude Code)'\n")
    (tmp_path / "bin" / "claude").chmod(0o755)


@pytest.fixture
def installed(home: Path) -> Path:
    """The hooks in the user's settings."""
    return install("user")


def install(scope: str, events: tuple[str, ...] = CORE, **more: bool) -> Path:
    path = settings_files.settings_file(scope, Path.cwd())
    settings_files.apply(settings_files.plan_install(path, commands.handlers(events, **more)))
    return path


def settings(scope: str, **values: Any) -> Path:
    """Add keys to a settings file."""
    path = settings_files.settings_file(scope, Path.cwd())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps((json.loads(path.read_text()) if path.exists() else {}) | values))
    return path


def told(name: str, **options: bool) -> list[tuple[str, str]]:
    """What the doctor says about one thing."""
    return [(result.level, result.text) for result in doctor.examine(Path.cwd(), **options) if result.name == name]


def only(name: str, **options: bool) -> tuple[str, str]:
    (result,) = told(name, **options)
    return result


# --- On the screen ----------------------------------------------------------------------------------------------------


def test_all_is_well_after_install_and_a_first_event(installed: Path, hook: Hook) -> None:
    hook(STOP)
    done = CliRunner().invoke(command, [])
    assert done.exit_code == 0, done.output
    assert done.output.endswith("\n\nEverything is in order.\n")
    assert all(line.startswith("✓ ") for line in done.output.splitlines()[:-2])
    assert "\x1b[" not in done.output
    assert str(Path.home()) not in done.output.replace(str(ROOT), "").replace(
        sys.executable, ""
    )  # as an issue shows it


def test_it_changes_nothing(installed: Path, hook: Hook, place: projects.Place, tmp_path: Path) -> None:
    hook(STOP)
    spool.append(place, (1, "hook", None, None, STOP))
    os.chmod(place.db, 0o644)
    before = {path: path.lstat() for path in tmp_path.rglob("*") if "-shm" not in path.name and "-wal" not in path.name}
    CliRunner().invoke(command, [])
    for path, status in before.items():
        assert (path.lstat().st_mode, path.lstat().st_size) == (status.st_mode, status.st_size)
    assert {path for path in tmp_path.rglob("*") if path.name[-4:] not in ("-shm", "-wal")} == set(before)


def test_problems_and_notes_are_counted_and_told_with_advice() -> None:
    done = CliRunner().invoke(command, [])
    assert done.exit_code == 1
    assert (
        "✗ hooks        not registered: nothing is recorded\n               Type: sessionlog install\n" in done.output
    )
    assert done.output.endswith("\n1 problem and 1 note.\n")


def test_json_for_other_programs() -> None:
    done = CliRunner().invoke(command, ["--json"])
    assert done.exit_code == 1
    results = {item["name"]: item for item in json.loads(done.output)}
    assert results["hooks"] == {
        "name": "hooks",
        "level": "problem",
        "text": "not registered: nothing is recorded",
        "advice": "Type: sessionlog install",
    }


def test_colours_and_lines_fit_a_terminal() -> None:
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": "60", "PYTHONPATH": str(ROOT), "TERM": "xterm"}
    code = "from sessionlog.cli.doctor import command; command()"
    with subprocess.Popen([sys.executable, "-c", code], stdout=theirs, stderr=theirs, env=environment):
        os.close(theirs)
        output = ""
        while chunk := _read(ours):
            output += chunk.decode()
    os.close(ours)
    assert "\x1b[31m\x1b[1m✗" in output
    assert "\x1b[33mThe first event makes it. `sessionlog demo`\x1b[0m\r\n" in output


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # Linux says EIO where others say nothing when the other end is closed
        return b""


def test_without_unicode_the_marks_are_letters() -> None:
    done = CliRunner(charset="ascii").invoke(command, [])
    assert "ok sessionlog" in done.output and "X  hooks" in done.output


def test_a_check_that_fails_does_not_hide_the_others(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise PermissionError("no entry")

    monkeypatch.setattr(archives, "place_and_size", fail)
    assert only("archive") == ("problem", "could not be checked: PermissionError: no entry")
    assert told("transcripts")


# --- The programs -----------------------------------------------------------------------------------------------------


def test_versions(tmp_path: Path) -> None:
    assert only("Claude Code") == ("ok", "2.1.325")
    assert only("SQLite") == ("ok", f"{sqlite3.sqlite_version} with FTS5")
    (tmp_path / "bin" / "claude").unlink()
    assert only("Claude Code")[0] == "note"


def test_a_sqlite_that_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "NEEDED_SQLITE", (99, 0, 0))
    assert only("SQLite") == ("problem", f"{sqlite3.sqlite_version}, and the archive needs 99.0.0")


# --- The hooks --------------------------------------------------------------------------------------------------------


def test_every_scope_is_tried(installed: Path) -> None:
    local = install("local", RECORDED)
    levels, texts = zip(*told("hooks"), strict=True)
    assert set(levels) == {"ok"}  # the same command in two files is run once
    assert texts[0].startswith(f"{len(RECORDED)} events in {local}, ")
    assert texts[1].startswith(f"{len(CORE)} events in ~/.claude/settings.json, ") and texts[1].endswith(" ms each")


def test_a_shared_hook_that_is_not_on_the_path(tmp_path: Path) -> None:
    install("project", quiet_if_missing=True)
    ((level, text),) = told("hooks")
    assert level == "problem" and "records nothing" in text
    script = (
        f"#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -c 'from sessionlog.record.hook import *; command_line()'"
    )
    (tmp_path / "bin" / "sessionlog-hook").write_text(script)
    (tmp_path / "bin" / "sessionlog-hook").chmod(0o755)
    assert only("hooks")[0] == "ok"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (RECORDS, ""),
        ("echo gone >&2; exit 1", "the command ends with 1: gone"),
        ("exit 2", "the command ends with 2: it does not say why"),
        (f"{RECORDS}; echo hello", "the command prints, and Claude reads it: hello"),
        ("true", "the command ends well, but records nothing; is it on the PATH?"),
        ("sleep 60 || exit 1", "the command did not end within 1 s"),
    ],
)
def test_a_hook_is_tried_into_a_scratch_archive(
    words: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SESSIONLOG_DB", str(tmp_path / "precious.db"))
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.setattr(hooks, "timeout", lambda _: 1 if "sleep" in words else 30)
    trouble, milliseconds = hooks.try_out(words, {})
    assert trouble == says
    assert (milliseconds > 0) is (says == "")
    assert sorted(tmp_path.rglob("*")) == before


def test_a_slow_hook(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hooks, "SLOW", 0)
    level, text = only("hooks")
    assert level == "note" and "but slow" in text


def plugin(home: Path, folder: Path) -> None:
    """Enable the plugin as the client does."""
    settings("user", enabledPlugins={"sessionlog@tools": True})
    entry = {"scope": "user", "installPath": str(folder), "version": "0.1.0"}
    (home / ".claude" / "plugins").mkdir()
    text = json.dumps({"version": 2, "plugins": {"sessionlog@tools": [entry]}})
    (home / ".claude" / "plugins" / "installed_plugins.json").write_text(text)


def test_the_plugin_is_tried_too(home: Path) -> None:
    plugin(home, ROOT)
    level, text = only("hooks")
    assert level == "ok" and text.startswith(f"{len(RECORDED)} events in the plugin sessionlog@tools, ")


def test_both_forms_are_one_too_many(home: Path, installed: Path) -> None:
    plugin(home, ROOT)
    assert [level for level, _ in told("hooks")] == ["ok", "ok", "note"]
    assert told("hooks")[-1][1] == "each event is stored once, but 2 hooks run for it"


def test_a_plugin_without_files(home: Path, tmp_path: Path) -> None:
    plugin(home, tmp_path / "gone")
    level, text = only("hooks")
    assert level == "problem" and "no hooks in" in text


@pytest.mark.parametrize(("version", "level"), [("2.1.77", "problem"), ("2.1.101", "ok"), ("unknown", "ok")])
def test_an_old_client_ignores_a_file_with_new_events(tmp_path: Path, version: str, level: str) -> None:
    install("user", RECORDED)
    client(tmp_path, version)
    assert only("hooks")[0] == level


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"user": {"disableAllHooks": True}}, "disableAllHooks in ~/.claude/settings.json"),
        ({"user": {"disableAllHooks": True}, "local": {"disableAllHooks": False}}, None),
        ({"managed": {"allowManagedHooksOnly": True}}, "allowManagedHooksOnly in"),
        ({"user": {"allowManagedHooksOnly": True}}, None),
    ],
)
def test_settings_that_keep_hooks_from_running(values: dict[str, Any], expected: str | None, tmp_path: Path) -> None:
    (tmp_path / "managed").mkdir()
    (tmp_path / "managed" / "managed-settings.json").write_text(json.dumps(values.pop("managed", {})))
    for scope, keys in values.items():
        settings(scope, **keys)
    problems = [text for level, text in told("settings") if level == "problem"]
    assert len(problems) == (1 if expected else 0)
    assert expected is None or problems[0].startswith(expected)


def test_hooks_of_others_that_block_or_could(home: Path, installed: Path) -> None:
    (home / "there.py").touch()
    handlers = [{"type": "command", "command": f"python3 ~/{name}.py"} for name in ("there", "gone")]
    settings("local", hooks={"UserPromptSubmit": [{"hooks": handlers}]})
    levels = sorted(level for level, _ in told("settings"))
    assert levels == ["note", "note", "problem"]
    assert any("gone.py" in text and "does not exist" in text for _, text in told("settings"))
    settings("local", hooks={"UserPromptSubmit": [{"hooks": handlers * 5}]})
    assert told("settings")[-1] == ("note", "and 10 more")
    assert len(told("settings")) == hooks.SHOWN + 1


# --- The archives -----------------------------------------------------------------------------------------------------


@pytest.fixture
def recorded(hook: Hook, place: projects.Place) -> projects.Place:
    hook(STOP)
    return place


def sql(place: projects.Place, statement: str) -> None:
    connection = sqlite3.connect(place.db)
    connection.execute(statement)
    connection.close()


def test_where_and_how_big(recorded: projects.Place, monkeypatch: pytest.MonkeyPatch) -> None:
    level, text = only("archive")
    assert (level, re.sub(r"\d+ KB", "N KB", text)) == ("ok", "~/.local/share/sessionlog: 1 project, N KB")
    monkeypatch.setenv("SESSIONLOG_DB", recorded.db)
    assert only("archive")[1].startswith("~/.local/share/sessionlog/shop-")


def test_integrity(recorded: projects.Place, monkeypatch: pytest.MonkeyPatch) -> None:
    assert only("integrity") == ("ok", f"1 archive checked, schema version {append.SCHEMA_VERSION}")
    monkeypatch.setattr(archives, "QUICK", 1024)
    assert only("integrity") == ("note", "1 archive over 1.0 KB not checked")
    assert only("integrity", full=True)[0] == "ok"
    sql(recorded, "PRAGMA wal_checkpoint(TRUNCATE)")
    with open(recorded.db, "r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 8192)
    level, text = only("integrity", full=True)
    assert level == "problem" and text.startswith("~/.local/share/sessionlog/shop-")


@pytest.mark.parametrize(
    ("statement", "level"),
    [("user_version = 99", "problem"), ("application_id = 5", "problem"), ("user_version = 0", "note")],
)
def test_schemas_that_are_not_of_today(recorded: projects.Place, statement: str, level: str) -> None:
    sql(recorded, f"PRAGMA {statement}")
    assert only("schema")[0] == level


@pytest.mark.parametrize(
    ("statement", "level", "says"),
    [
        ("CREATE VIEW mine AS SELECT 1", "note", "view mine is not part of sessionlog"),
        ("DROP VIEW tool_calls", "problem", "view tool_calls is missing"),
        ("ALTER TABLE events ADD COLUMN x TEXT", "problem", "table events column x was added"),
        ("UPDATE sessions SET prompts = 7", "problem", "the counters of 1 session do not match the events"),
        (
            """CREATE TRIGGER "it's" BEFORE INSERT ON events WHEN new.command LIKE '%rm %' BEGIN SELECT raise(ignore); END""",
            "problem",
            "trigger it's is not part of sessionlog: a trigger can change or drop events as they are stored",
        ),
    ],
)
def test_a_schema_that_somebody_changed(recorded: projects.Place, statement: str, level: str, says: str) -> None:
    assert told("schema") == []
    with sqlite3.connect(recorded.db) as connection:
        connection.execute(statement)
    connection.close()
    found, text = only("schema")
    assert found == level and text.endswith(f".db: {says}")


def test_the_schema_is_restored_and_nothing_else_touched(recorded: projects.Place) -> None:
    before = rows(recorded), rows(recorded, "SELECT type, name, sql FROM sqlite_master ORDER BY name")
    for statement in (
        "DROP TRIGGER events_keep_sessions",
        "CREATE TRIGGER events_keep_sessions AFTER INSERT ON events BEGIN SELECT 1; END",
        "DROP VIEW tool_calls",
        "DROP INDEX events_event",
    ):
        sql(recorded, statement)
    assert [level for level, _ in told("schema")] == ["problem"] * 3
    done = CliRunner().invoke(command, ["--fix"])
    assert "index events_event, trigger events_keep_sessions, view tool_calls" in done.output
    assert told("schema") == []
    assert (rows(recorded), rows(recorded, "SELECT type, name, sql FROM sqlite_master ORDER BY name")) == before
    sql(recorded, "CREATE TRIGGER foreign_one AFTER INSERT ON events BEGIN SELECT 1; END")
    CliRunner().invoke(command, ["--fix"])
    (result,) = [result for result in doctor.examine(Path.cwd()) if result.name == "schema"]
    assert result.advice.endswith(f"""sqlite3 {recorded.db} 'DROP TRIGGER "foreign_one"'""")


def test_a_file_that_a_killed_hook_has_just_begun_is_no_problem(place: projects.Place) -> None:
    Path(place.db).parent.mkdir(parents=True, mode=0o700)
    Path(place.db).touch(0o600)
    assert only("schema")[0] == "note"


def test_what_waits_is_told_and_brought_home(recorded: projects.Place) -> None:
    spool.append(recorded, (1, "hook", None, None, {**STOP, "session_id": "late"}))
    assert only("spool")[1].startswith("1 event in ~/.local/share/sessionlog/shop-")
    done = CliRunner().invoke(command, ["--fix"])
    assert "✓ fixed        1 event stored in ~/.local/share/sessionlog/shop-" in done.output
    assert [row["session_id"] for row in rows(recorded)] == ["s", "late"]
    assert "nothing to fix" in CliRunner().invoke(command, ["--fix"]).output


def test_what_waits_for_a_project_without_an_archive(place: projects.Place, home: Path) -> None:
    spool.append(place, (1, "hook", None, None, STOP))
    elsewhere = home / ".local" / "state" / "sessionlog" / "other-123456.db.spool"
    elsewhere.parent.mkdir(parents=True)
    shutil.copy(f"{place.db}.spool", elsewhere)
    assert len(told("spool")) == 2
    CliRunner().invoke(command, ["--fix"])
    assert len(rows(place)) == 1
    assert only("spool") == ("note", "1 event in ~/.local/state/sessionlog/other-123456.db.spool")


def test_what_waits_in_the_temporary_folder_may_be_of_another_home(
    place: projects.Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    spool.append(place, (1, "hook", None, None, STOP))
    shared = Path(projects.fallback_folders()[-1])
    shared.mkdir(0o700)
    shutil.copy(f"{place.db}.spool", shared / f"{place.name}.db.spool")
    shutil.move(f"{place.db}.spool", shared / "other-123456.db.spool")
    own, other = sorted(told("spool"), key=lambda found: "another home" in found[1])
    assert "may belong to another home directory" in other[1] and "other-123456" in other[1]
    assert own[1].endswith(f"/{place.name}.db.spool")


def test_what_cannot_come_home_stays_where_it_is(recorded: projects.Place) -> None:
    sql(recorded, "PRAGMA user_version = 99")
    spool.append(recorded, (1, "hook", None, None, STOP))
    before = Path(f"{recorded.db}.spool").read_bytes()
    done = CliRunner().invoke(command, ["--fix"])
    assert "✗ spool        events still wait: " in done.output and "newer sessionlog" in done.output
    assert Path(f"{recorded.db}.spool").read_bytes() == before


def test_rejected_payloads_and_damaged_archives(recorded: projects.Place) -> None:
    first, second = (spool.keep_rejected(recorded.home, b"no event") for _ in range(2))
    level, text = only("rejected")
    assert level == "note" and text.startswith("2 payloads not understood, the newest is ~/")
    assert text.endswith((os.path.basename(first), os.path.basename(second)))
    shutil.copy(recorded.db, f"{recorded.db}.damaged-2026-11-16T01-41-14.736Z")
    assert only("damaged")[0] == "problem"


@pytest.mark.parametrize(
    ("config", "levels"),
    [
        ("{}", ["ok"]),
        ('{"redact": {"enabled": false}}', ["note"]),
        ('{"redact": {"patterns": [{"kind": "acme", "regex": "("}]}}', ["problem", "ok"]),
        ("{", ["problem", "ok"]),
    ],
)
def test_redaction(recorded: projects.Place, config: str, levels: list[str]) -> None:
    Path(recorded.home, "config.json").write_text(config)
    assert [level for level, _ in told("redaction")] == levels


@pytest.mark.parametrize(("config", "level"), [("{}", "ok"), ('{"transcripts": {"raw": true}}', "note")])
def test_whether_transcripts_keep_their_secrets(recorded: projects.Place, config: str, level: str) -> None:
    Path(recorded.home, "config.json").write_text(config)
    assert only("secrets")[0] == level


# --- Who can read them ------------------------------------------------------------------------------------------------


def modes(*paths: str | Path) -> list[int]:
    return [os.stat(path).st_mode & 0o777 for path in paths]


def test_files_that_others_can_read_are_made_private(recorded: projects.Place, tmp_path: Path) -> None:
    rejected = Path(spool.keep_rejected(recorded.home, b"no event"))
    exposed = (recorded.home, recorded.db, rejected.parent, rejected)
    for path in exposed:
        os.chmod(path, 0o755)
    (tmp_path / "mine.db").touch(0o644)
    Path(recorded.home, "link-123456.db").symlink_to(tmp_path / "mine.db")
    level, text = only("permissions")
    assert level == "problem" and text.startswith("others can read ~/.local/share/sessionlog and ")
    done = CliRunner().invoke(command, ["--fix"])
    assert "✓ fixed        only you can read ~/.local/share/sessionlog and " in done.output
    assert "✓ permissions" in done.output
    assert modes(*exposed, tmp_path / "mine.db") == [0o700, 0o700, 0o700, 0o700, 0o644]


def test_a_folder_that_holds_other_things_is_not_closed(
    tmp_path: Path, hook: Hook, monkeypatch: pytest.MonkeyPatch, project: Path
) -> None:
    (tmp_path / "shared").mkdir(mode=0o755)
    (tmp_path / "shared" / "thesis.txt").touch(0o644)
    monkeypatch.setenv("SESSIONLOG_HOME", str(tmp_path / "shared"))
    hook(STOP)
    db = projects.place(os.path.realpath(project)).db
    os.chmod(db, 0o644)
    CliRunner().invoke(command, ["--fix"])
    assert modes(tmp_path / "shared", tmp_path / "shared" / "thesis.txt", db) == [0o755, 0o644, 0o600]
    assert only("permissions") == ("problem", f"others can look into {tmp_path / 'shared'}")


def test_what_another_user_owns_is_told_and_left_alone(
    recorded: projects.Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.chmod(recorded.db, 0o644)
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    level, text = only("permissions")
    assert level == "problem" and text.startswith("another user owns ~/.local/share/sessionlog and ")
    CliRunner().invoke(command, ["--fix"])
    assert modes(recorded.db) == [0o644]


# --- The transcripts --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "level", "says"),
    [
        ({}, "note", "30 days after the last change: 2 when it starts next, 3 more within 7 days"),
        ({"user": {"cleanupPeriodDays": 365}}, "ok", "365 days after the last change"),
        ({"user": {"cleanupPeriodDays": 365}, "local": {"cleanupPeriodDays": 35}}, "note", "35 days"),
        ({"user": {"cleanupPeriodDays": 0}}, "note", "30 days"),
        ({"user": {"cleanupPeriodDays": "long"}}, "note", "30 days"),
    ],
)
def test_transcripts_that_will_be_deleted(home: Path, values: dict[str, Any], level: str, says: str) -> None:
    folder = home / ".claude" / "projects" / "-shop"
    (folder / "session" / "subagents").mkdir(parents=True)
    for number, days in enumerate((0, 1, 22, 23.5, 25, 29, 31, 33)):
        file = folder / ("session/subagents" if number % 2 else "") / f"{number}.jsonl"
        file.touch()
        os.utime(file, (time.time() - days * 86_400,) * 2)
    for scope, keys in values.items():
        settings(scope, **keys)
    told_level, text = only("transcripts")
    assert told_level == level
    assert text.startswith("8 files; Claude Code deletes them ") and says in text
