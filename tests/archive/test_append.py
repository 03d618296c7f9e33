"""The database of a project: made once, migrated once, never touched when it is not ours."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from sessionlog.archive import append, event, migrate, read
from sessionlog.archive import place as projects
from tests.conftest import Hook, rows, thorough
from tests.record.test_hook import prompt, tool


def test_every_migration_has_its_number_and_the_hook_knows_the_last() -> None:
    assert [number for number, _ in migrate.migrations()] == list(range(1, append.SCHEMA_VERSION + 1))


def test_the_columns_of_the_table_are_those_of_the_record(hook: Hook, place: projects.Place) -> None:
    hook(prompt("x"))
    columns = [row["name"] for row in rows(place, "PRAGMA table_info(events)")]
    assert columns == ["id", *event.COLUMNS, "hash", "salt"]


@pytest.mark.parametrize("version", range(append.SCHEMA_VERSION))
def test_many_hooks_at_once_on_an_older_database(hook: Hook, place: projects.Place, version: int) -> None:
    Path(place.home).mkdir(parents=True)
    connection = sqlite3.connect(place.db)
    connection.execute("PRAGMA journal_mode = WAL")
    for number, script in migrate.migrations()[:version]:
        connection.executescript(script)
        connection.execute(f"PRAGMA application_id = {migrate.APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {number}")
    connection.close()
    many = 20 if thorough() or version in (0, append.SCHEMA_VERSION - 1) else 6
    with ThreadPoolExecutor(many) as pool:
        done = list(pool.map(lambda number: hook(tool(number)), range(many)))
    assert all(b".db.spool" in result.stderr for result in done if result.stderr), "on a busy machine one may wait"
    read.bring_up_to_date(place)
    assert len(rows(place)) == many
    assert rows(place, "PRAGMA user_version") == [{"user_version": append.SCHEMA_VERSION}]


def test_a_killed_migration_leaves_the_version_before_it(
    place: projects.Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = "CREATE TABLE half (a);\nCREATE TABLE broken ("
    monkeypatch.setattr(migrate, "read_script", lambda _: script + ");")
    with pytest.raises(sqlite3.OperationalError):
        migrate.open_new_or_outdated(place, 1)
    assert rows(place, "SELECT * FROM sqlite_master") == []
    monkeypatch.undo()
    migrate.open_new_or_outdated(place, 1).close()
    assert rows(place, "SELECT count(*) AS n FROM events") == [{"n": 0}]


def test_a_database_of_a_newer_sessionlog_is_not_touched(hook: Hook, place: projects.Place) -> None:
    hook(prompt("one"))
    connection = sqlite3.connect(place.db)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = Path(place.db).read_bytes()
    done = hook(prompt("two"))
    assert done.returncode == 0
    assert b"newer sessionlog" in done.stderr
    assert Path(place.db).read_bytes() == before
    connection = sqlite3.connect(place.db)
    connection.execute(f"PRAGMA user_version = {append.SCHEMA_VERSION}")  # as if sessionlog had been upgraded
    connection.close()
    assert hook(prompt("three")).stderr == b""
    assert [row["prompt"] for row in rows(place)] == ["one", "two", "three"]


def test_another_programs_database_is_refused(hook: Hook, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE theirs (a)")
    connection.close()
    before = other.read_bytes()
    done = hook(prompt("x"), SESSIONLOG_DB=str(other))
    assert done.returncode == 0 and b"another program's database" in done.stderr
    assert other.read_bytes() == before
    assert Path(f"{other}.spool").exists()


@pytest.mark.parametrize("content", [b"alias ll='ls -la'\n" * 300, b"SQLite format 3\0" + b"x" * 8000])
def test_a_file_that_is_no_archive_is_not_set_aside(hook: Hook, tmp_path: Path, content: bytes) -> None:
    bashrc = tmp_path / ".bashrc"
    bashrc.write_bytes(content)
    for text in ("one", "two"):
        done = hook(prompt(text), SESSIONLOG_DB=str(bashrc))
        assert done.returncode == 0 and b"left as it is" in done.stderr
    assert bashrc.read_bytes() == content
    assert sorted(path.name for path in tmp_path.glob(".bashrc*")) == [".bashrc", ".bashrc.lock", ".bashrc.spool"]
    assert Path(f"{bashrc}.spool").read_bytes().count(b"UserPromptSubmit") == 2


def test_an_archive_of_ours_is_set_aside_wherever_it_is(hook: Hook, tmp_path: Path) -> None:
    db = tmp_path / "mine.db"
    hook(prompt("one"), SESSIONLOG_DB=str(db))
    with closing(sqlite3.connect(db)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data = bytearray(db.read_bytes())
    data[100:] = os.urandom(len(data) - 100)
    db.write_bytes(data)
    done = hook(prompt("two"), SESSIONLOG_DB=str(db))
    assert done.returncode == 0 and b"set aside" in done.stderr
    (aside,) = [path for path in tmp_path.glob("mine.db.damaged-*") if not path.name.endswith(("-wal", "-shm"))]
    assert aside.read_bytes() == data
    assert [row["prompt"] for row in rows(projects.Place("", "", str(db)))] == ["two"]


def test_sessions_are_kept_up_to_date(hook: Hook, place: projects.Place) -> None:
    hook({"session_id": "s1", "hook_event_name": "SessionStart", "source": "startup", "model": "claude-x", "cwd": "/p"})
    hook(prompt("first"))
    hook(tool(1))
    hook({**tool(2), "tool_name": "Edit"})
    hook({**tool(3), "hook_event_name": "PostToolUseFailure", "error": "Exit code 1"})
    hook({"session_id": "s1", "hook_event_name": "SessionEnd", "reason": "logout"})
    (session,) = rows(place, "SELECT * FROM session_summary")
    assert session["ended_at"] and session["end_reason"] == "logout"
    assert (session["start_reason"], session["model"], session["first_prompt"]) == ("startup", "claude-x", "first")
    counts = [session[name] for name in ("events", "prompts", "tool_calls", "edits", "failures")]
    assert counts == [6, 1, 3, 1, 1]
    hook({"session_id": "s1", "hook_event_name": "SessionStart", "source": "resume"})
    (session,) = rows(place, "SELECT * FROM sessions")
    assert session["ended_at"] is None, "a resumed session is open again"


def test_views_answer_by_name(hook: Hook, place: projects.Place) -> None:
    hook(prompt("do it"))
    for event_name in ("PreToolUse", "PermissionRequest", "PostToolUse"):
        payload = {**tool(1), "hook_event_name": event_name}
        if event_name == "PermissionRequest":
            del payload["tool_use_id"]
        hook(payload)
    hook({**tool(2), "hook_event_name": "PreToolUse", "tool_name": "Write", "tool_input": {"file_path": "/a"}})
    hook({**tool(3), "hook_event_name": "PostToolUseFailure", "error": "Exit code 3\nno such file", "duration_ms": 5})
    assert [row["prompt"] for row in rows(place, "SELECT * FROM prompts")] == ["do it"]
    commands = rows(place, "SELECT command, failed, exit_code, stdout FROM bash_commands ORDER BY id")
    assert [tuple(row.values()) for row in commands] == [("echo 1", 0, None, "1"), ("echo 3", 1, 3, "3")]
    calls = rows(place, "SELECT tool_use_id, outcome FROM tool_calls ORDER BY tool_use_id")
    assert [tuple(row.values()) for row in calls] == [
        ("toolu_1", "ok"),
        ("toolu_2", "no result"),
        ("toolu_3", "failed"),
    ]
    assert [row["decision"] for row in rows(place, "SELECT * FROM permission_decisions")] == ["allowed"]
    assert [(row["tool_calls"], row["failures"]) for row in rows(place, "SELECT * FROM turns")] == [(2, 1)]


def test_every_view_survives_odd_data(hook: Hook, place: projects.Place) -> None:
    odd = ["\ud800", "\0", [], {}, None, 2**80, "[" * 50, {"stdout": {"deep": 1}}]
    for number, value in enumerate(odd):
        for name in ("PreToolUse", "PostToolUse", "PostToolUseFailure", "SessionStart", "SessionEnd", "SubagentStop"):
            payload = {
                **tool(number),
                "hook_event_name": name,
                "tool_response": value,
                "source": value,
                "reason": value,
            }
            payload |= {"error": value, "agent_id": value, "model": value}
            assert hook(json.dumps(payload).encode()).returncode == 0
    connection = sqlite3.connect(place.db)
    connection.text_factory = bytes
    views = [name.decode() for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'view'")]
    assert len(views) >= 9
    for view in views:
        connection.execute(f"SELECT * FROM {view}").fetchall()
    connection.close()


def test_a_second_copy_is_looked_for_by_what_is_rare(hook: Hook, place: projects.Place) -> None:
    hook(prompt("x"))
    with closing(sqlite3.connect(place.db)) as connection:
        # Whichever index was made last: without statistics, SQLite takes the first of those that seem alike.
        for row in rows(place, "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = 'events'"):
            connection.execute(f"DROP INDEX {row['name']}")
            connection.execute(row["sql"])
            values = dict.fromkeys([*event.COLUMNS, "salt", "earliest", "latest", "has_own_id"])
            for same, index in (("_SAME_CALL", "events_tool_use_id"), ("_SAME_MOMENT", "events_session_id_at")):
                for alike in (append._SAME_KIND, append._SAME_CONTENT):
                    statement = f"SELECT {append._is_there(f'{getattr(append, same)} AND {alike}')}"
                    plan = [step[3] for step in connection.execute(f"EXPLAIN QUERY PLAN {statement}", values)]
                    assert any(step.startswith(f"SEARCH events USING INDEX {index} ") for step in plan), plan


APPEND_ON_A_FULL_DISK = """
import resource, sys
from sessionlog.archive import agent_event, append
from sessionlog.archive.event import normalise
from sessionlog.archive.place import Place

connection = append.open_for_writing(Place(*sys.argv[1:4]))
connection.execute("PRAGMA cache_size = 10")  # what is written does not wait for the end of the transaction
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
record = normalise({"session_id": "s", "prompt": "x" * 1_000_000}, at_ms=1, via="test", event="UserPromptSubmit")
if sys.argv[4] == "agent":
    agent_event.append(connection, record, 1, {})
else:
    append.append(connection, record, 1)
"""


@pytest.mark.parametrize("way", ["agent", "Claude Code"])
def test_a_full_disk_is_called_by_its_name(hook: Hook, place: projects.Place, way: str) -> None:
    """It decides what becomes of the archive, and SQLite has taken the transaction back itself."""
    hook(prompt("x"))
    words = [place.home, place.project, place.db, way]
    done = subprocess.run(
        [sys.executable, "-c", APPEND_ON_A_FULL_DISK, *words], capture_output=True, text=True, check=False
    )
    assert re.search(r"OperationalError: (disk I/O error|database or disk is full)$", done.stderr.strip()), done.stderr
    assert len(rows(place)) == 1
