"""One schema, however an archive came to it; and hashes that outlive its changes."""

from __future__ import annotations

import gzip
import hashlib
import re
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from sessionlog.archive import append, counters, migrate, read, schema_check
from sessionlog.archive import place as projects
from sessionlog.errors import ArchiveUnavailable
from sessionlog.maintain import verify
from sessionlog.session import load
from tests.conftest import FIXTURES, ROOT, Hook, rows
from tests.helpers.archives import bash, call, event, store
from tests.record.test_hook import prompt

ARCHIVES = FIXTURES / "archives"


@pytest.fixture
def old(place: projects.Place) -> projects.Place:
    """An archive with schema 4: hook events, transcripts, a redacted event, a pruned session."""
    Path(place.home).mkdir(parents=True, mode=0o700)
    with gzip.open(ARCHIVES / "schema-4.db.gz") as packed, open(place.db, "wb") as file:
        shutil.copyfileobj(packed, file)
    return place


def schema(db: str) -> dict[str, str]:
    """sqlite_master without what carries no meaning."""
    with closing(sqlite3.connect(db)) as connection:
        found = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    return {name: schema_check.normal(sql) for name, sql in found}


def findings(place: projects.Place, heads: Path | None = None) -> list[verify.Finding]:
    kept = verify.read_heads(str(heads)) if heads else []
    kept = [head._replace(archive=place.name) for head in kept]
    return list(verify.Check(place, heads=kept).findings())


# --- One schema -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(1, append.SCHEMA_VERSION))
def test_an_upgraded_archive_has_the_schema_of_a_new_one(tmp_path: Path, home: Path, version: int) -> None:
    new = projects.Place(str(home), "/new", str(tmp_path / "new.db"))
    upgraded = projects.Place(str(home), "/old", str(tmp_path / "old.db"))
    with closing(sqlite3.connect(upgraded.db)) as connection:
        for number, script in migrate.migrations()[:version]:
            connection.executescript(script)
            connection.execute(f"PRAGMA user_version = {number}")
        connection.execute(f"PRAGMA application_id = {migrate.APPLICATION_ID}")
    for place in (new, upgraded):
        append.open_for_writing(place).close()
    assert schema(upgraded.db) == schema(new.db)
    query = "SELECT * FROM sqlite_stat1 ORDER BY tbl, idx"
    assert rows(upgraded, query) == rows(new, query)


def test_an_archive_of_schema_5_gets_new_views_and_keeps_its_hashes(place: projects.Place) -> None:
    store(place, event("UserPromptSubmit", prompt="go"), bash("ls"))
    now = schema(place.db)
    with closing(sqlite3.connect(place.db)) as connection, connection:
        for view in ("turns", "session_summary"):
            connection.execute(f"DROP VIEW {view}")
            connection.execute(f"CREATE VIEW {view} AS SELECT session_id, prompt FROM prompts ORDER BY at")
        connection.execute("PRAGMA user_version = 5")
    append.open_for_writing(place).close()
    assert schema(place.db) == now and rows(place, "PRAGMA user_version") == [{"user_version": append.SCHEMA_VERSION}]
    assert findings(place) == [] and rows(place, "SELECT * FROM chain_notes") == []


# What an upgrade does not look at anew: kinds and tools of parts, and the counts of a session.
KEPT = {"transcript_parts": slice(0, 9), "session_facts": slice(0, 15)}


def test_an_archive_of_the_version_before_is_all_there(old: projects.Place) -> None:
    with closing(sqlite3.connect(old.db)) as connection:
        names = {"messages": "transcript_parts", "api_messages": "model_answers", "agents": "subagent_facts"}
        tables = ("events", "sessions", "messages", "api_messages", "agents", "transcript_chunks", "session_facts")
        before = {names.get(table, table): connection.execute(f"SELECT * FROM {table}").fetchall() for table in tables}
    with closing(read.connect(old)) as connection:
        connection.row_factory = None
        for table, told in before.items():
            after = connection.execute(f"SELECT * FROM {table}").fetchall()
            kept = KEPT.get(table, slice(None, len(told[0])))
            assert [row[kept] for row in after] == [row[kept] for row in told]
        assert {row[0] for row in connection.execute("SELECT client FROM sessions")} == {"claude-code"}


def test_an_upgrade_counts_patches_as_edits(old: projects.Place) -> None:
    with closing(sqlite3.connect(old.db)) as connection, connection:
        connection.execute(
            "INSERT INTO events (session_id, event, at, via, tool_name) VALUES ('g', 'PostToolUse', '2026', 'x', 'apply_patch')"
        )
    append.open_for_writing(old).close()
    assert rows(old, "SELECT edits FROM sessions WHERE session_id = 'g'") == [{"edits": 1}]
    with closing(read.connect(old)) as connection:
        assert list(counters.wrong(connection)) == []


def test_a_hook_upgrades_a_small_archive_and_leaves_a_large_one_to_others(
    hook: Hook, old: projects.Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrate, "LARGEST_IN_HOOK", 1000)
    with pytest.raises(ArchiveUnavailable, match="to be upgraded"):
        append.open_for_writing(old, in_hook=True)
    assert rows(old, "PRAGMA user_version") == [{"user_version": 4}]
    assert hook(prompt("upgrades")).stderr == b""
    assert rows(old, "PRAGMA user_version") == [{"user_version": append.SCHEMA_VERSION}]
    assert rows(old)[-1]["prompt"] == "upgrades"


# --- Hashes -----------------------------------------------------------------------------------------------------------


def test_an_upgraded_archive_verifies_clean_with_the_heads_kept_before(hook: Hook, old: projects.Place) -> None:
    heads = ARCHIVES / "schema-4-heads.jsonl"
    assert findings(old, heads) == []
    hook(prompt("after the upgrade"))
    hook({**prompt("in an old session"), "session_id": "secret"})
    assert findings(old, heads) == []


@pytest.mark.parametrize("event_id", [1, 20, 51])
def test_a_change_in_an_old_row_is_found_after_the_upgrade(old: projects.Place, event_id: int) -> None:
    append.open_for_writing(old).close()
    with closing(sqlite3.connect(old.db)) as connection, connection:
        connection.execute("UPDATE events SET cwd = '/elsewhere' WHERE id = ?", (event_id,))
    assert [finding.what for finding in findings(old)] == [f"event {event_id}"]


def test_the_note_of_the_upgrade_cannot_be_changed(old: projects.Place) -> None:
    append.open_for_writing(old).close()
    with closing(sqlite3.connect(old.db)) as connection, connection:
        connection.execute("UPDATE chain_notes SET format_1_until = 1000 WHERE format_1_until")
    assert "note 3" in [finding.what for finding in findings(old)]


def test_a_new_column_leaves_every_old_hash_good(hook: Hook, place: projects.Place, old: projects.Place) -> None:
    append.open_for_writing(old).close()
    hook(prompt("with today's columns"))
    with closing(sqlite3.connect(place.db)) as connection:
        for table in ("events", "chain_notes", "sessions"):
            connection.execute(f"ALTER TABLE {table} ADD COLUMN of_tomorrow TEXT")
    assert {finding.text for finding in findings(place)} == {"column of_tomorrow was added"}


def test_the_hash_format_is_what_the_docs_say(hook: Hook, place: projects.Place) -> None:
    """Computed here from docs/archive-format.md alone, for each event."""
    hook(prompt("one"))
    hook({**prompt("zwei – 二"), "cwd": "/x"})
    hook({"session_id": "s1", "hook_event_name": "PostToolUse", "tool_name": "Bash", "duration_ms": 12})
    hook({"session_id": "other", "hook_event_name": "Stop"})
    before: dict[str, str] = {}
    for row in rows(place):
        digested = b""
        for name in sorted(set(row) - {"hash", "action", "outcome", "is_typed"}):
            if row[name] is not None:
                value = str(row[name]).encode()
                digested += f"{name} {len(value)}\n".encode() + value + b"\n"
        digest = hashlib.blake2b(digested, digest_size=20).digest()
        previous = before.get(row["session_id"], "").encode()
        assert row["hash"] == hashlib.blake2b(previous + digest, digest_size=20).hexdigest()
        before[row["session_id"]] = row["hash"]


@pytest.mark.skipif(not all(map(shutil.which, ("bash", "b2sum", "sqlite3", "xxd"))), reason="its tools are not here")
def test_the_script_in_the_docs_computes_the_same_hash(hook: Hook, place: projects.Place) -> None:
    hook({**prompt("zwei – 二"), "cwd": "/x"})
    (script,) = re.findall(r"```bash\n(.*?)```", (ROOT / "docs" / "archive-format.md").read_text(), re.DOTALL)
    done = subprocess.run(["bash", "-c", script, "bash", place.db], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == rows(place)[0]["hash"]


# --- One vocabulary ---------------------------------------------------------------------------------------------------


def test_action_and_outcome_are_told_by_the_database(place: projects.Place) -> None:
    store(
        place,
        bash("ls"),
        bash("false", name="PostToolUseFailure"),
        *(call(tool) for tool in ("Edit", "Write", "Read", "WebFetch", "Task", "AskUserQuestion", "mcp__x__y")),
        event("StopFailure"),
        event("PermissionDenied", tool_name="Bash"),
        event("Stop"),
    )
    told = [(row["action"], row["outcome"]) for row in rows(place)]
    assert told == [
        *(("run", "ok"), ("run", "failed"), ("edit", "ok"), ("write", "ok"), ("read", "ok"), ("fetch", "ok")),
        *(("agent", "ok"), ("ask", "ok"), (None, "ok"), (None, "failed"), ("run", "denied"), (None, None)),
    ]
    (session,) = rows(place, "SELECT * FROM sessions")
    assert (session["tool_calls"], session["edits"], session["failures"]) == (9, 2, 2)


def test_the_store_of_an_old_archive_is_read_as_before(old: projects.Place) -> None:
    with closing(read.connect(old)) as connection:
        for session in connection.execute("SELECT session_id FROM sessions").fetchall():
            assert list(load.entries(connection, session["session_id"]))
