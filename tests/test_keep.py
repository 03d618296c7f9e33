"""What is to go is gone, what is to stay is there, and the hooks notice nothing of it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import zlib
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from sessionlog import archive, projects, reading, transcripts
from sessionlog.cli import cli
from sessionlog.errors import SessionlogError
from sessionlog.event import normalise, rebuild
from sessionlog.keep import prune, turns
from sessionlog.search import index
from tests.conftest import FIXTURES, PAYLOAD_FILES, Hook, rows
from tests.test_hook import prompt, tool

DAY = 86_400_000
COUNTS = "SELECT session_id, events, prompts, tool_calls, edits, failures FROM sessions ORDER BY session_id"
TABLES = ("sessions", "events", "messages", "transcript_chunks", "api_messages", "session_facts", "agents")


def fill(place: projects.Place, payloads: list[dict[str, Any]], days_ago: float = 0, via: str = "test") -> None:
    """Record the events, a second after another, the last of them so many days ago."""
    end = time.time_ns() // 1_000_000 - int(days_ago * DAY)
    with closing(archive.open_for_writing(place)) as connection:
        for number, payload in enumerate(payloads):
            at_ms = end - (len(payloads) - number) * 1000
            archive.append(connection, normalise(payload, at_ms=at_ms, via=via), at_ms)


def ask(*words: str, code: int = 0) -> Result:
    done = CliRunner().invoke(cli, list(words))
    if isinstance(done.exception, SessionlogError):
        assert code, done.exception
        return done
    assert done.exit_code == code, (done.output, done.exception)
    return done


def size_of(place: projects.Place) -> int:
    return sum(os.stat(place.db + ending).st_size for ending in ("", "-wal") if os.path.exists(place.db + ending))


def counts(place: projects.Place) -> dict[str, int]:
    return {table: rows(place, f"SELECT count(*) AS n FROM {table}")[0]["n"] for table in TABLES}


def assert_sound(place: projects.Place) -> None:
    assert [row["integrity_check"] for row in rows(place, "PRAGMA integrity_check")] == ["ok"]
    for row in rows(place, COUNTS):
        (truth,) = rows(
            place,
            "SELECT count(*) AS events, ifnull(sum(event = 'UserPromptSubmit'), 0) AS prompts, "
            "ifnull(sum(event IN ('PostToolUse', 'PostToolUseFailure')), 0) AS tool_calls FROM events WHERE session_id = ?",
            row["session_id"],
        )
        assert truth.items() <= row.items()


@pytest.fixture
def transcript_home(home: Path, monkeypatch: pytest.MonkeyPatch, place: projects.Place) -> Path:
    """Claude Code's folder with the sample transcripts, imported into the archive of the project."""
    folder = home / ".claude" / "projects" / "-home-dev-shop"
    shutil.copytree(FIXTURES / "transcripts" / "-home-dev-shop", folder)
    for path in sorted(folder.glob("*.jsonl")):
        transcripts.follow(place, str(path))
    assert counts(place)["messages"] and counts(place)["transcript_chunks"]
    return folder


# --- prune ------------------------------------------------------------------------------------------------------------


def old_and_new(place: projects.Place) -> None:
    for number, (session, days) in enumerate((("old", 200), ("ended", 120), ("new", 5), ("running", 0))):
        fill(place, [prompt("hi", session), *(tool(number * 1000 + n, session) for n in range(50))], days)


def all_by_name(place: projects.Place) -> list[str]:
    sessions = [row["session_id"] for row in rows(place, "SELECT session_id FROM sessions")]
    return [word for session in sessions for word in ("--session", session)]


@pytest.mark.parametrize(
    ("words", "left"),
    [
        (["--older-than", "90d"], {"new", "running"}),
        (["--older-than", "150d"], {"ended", "new", "running"}),
        (["--older-than", "0d"], {"running"}),
        (["--keep", "3"], {"ended", "new", "running"}),
        (["--keep", "0"], {"running"}),
        (["--session", "old", "--session", "run"], {"ended", "new"}),
        (["--older-than", "999d"], {"old", "ended", "new", "running"}),
    ],
)
def test_prune_removes_the_sessions_that_are_meant(place: projects.Place, words: list[str], left: set[str]) -> None:
    old_and_new(place)
    before = counts(place)
    ask("prune", *words, "--dry-run")
    assert counts(place) == before, "a dry run changes nothing"
    ask("prune", *words, "--yes")
    assert {row["session_id"] for row in rows(place, "SELECT session_id FROM sessions")} == left
    assert {row["session_id"] for row in rows(place)} == left
    assert_sound(place)


@pytest.mark.parametrize(
    "words", [[], ["--keep", "1", "--older-than", "3d"], ["--keep", "-1"], ["--older-than", "soon"]]
)
def test_prune_wants_to_know_which(place: projects.Place, words: list[str]) -> None:
    old_and_new(place)
    ask("prune", *words, "--yes", code=2)
    assert counts(place)["sessions"] == 4


def test_without_a_terminal_nothing_is_removed_unasked(place: projects.Place) -> None:
    old_and_new(place)
    done = ask("prune", "--older-than", "90d", code=1)
    assert "2 sessions, 102 rows" in done.output
    assert "--yes" in str(done.exception)
    assert counts(place)["sessions"] == 4


def test_prune_gives_the_space_back(place: projects.Place) -> None:
    fill(place, [tool(n, "old", tool_response={"stdout": os.urandom(50_000).hex()}) for n in range(40)], 100)
    fill(place, [prompt("new", "new")])
    with closing(reading.connect(place)) as connection:
        index.catch_up(place, connection)
    assert size_of(place) > 4_000_000 and os.path.exists(index.path_of(place))
    ask("prune", "--older-than", "90d", "--yes")
    assert size_of(place) < 300_000
    assert not os.path.exists(index.path_of(place))


def test_prune_takes_the_transcripts_too_and_import_does_not_bring_them_back(
    place: projects.Place, transcript_home: Path
) -> None:
    sessions = [row["session_id"] for row in rows(place, "SELECT session_id FROM sessions")]
    ask("prune", *all_by_name(place), "--yes")
    assert not any(counts(place).values())
    for path in transcript_home.glob("*.jsonl"):
        transcripts.follow(place, str(path))
    assert not any(counts(place).values()), "the files are still there, and known"
    with closing(reading.connect(place)) as connection, pytest.raises(SessionlogError, match="no transcript"):
        from sessionlog.restore import restore

        restore(connection, sessions[0])


def test_a_pruned_session_that_goes_on_is_imported_from_its_start(place: projects.Place, transcript_home: Path) -> None:
    said = "SELECT uuid, text FROM messages WHERE session_id = ? AND agent_id IS NULL ORDER BY line, part"
    path = max(transcript_home.glob("*.jsonl"), key=os.path.getsize)
    before = rows(place, said, path.stem)
    ask("prune", "--session", path.stem, "--yes")
    assert before and not rows(place, said, path.stem)
    with path.open("a") as file:
        file.write(json.dumps({"type": "ai-title", "aiTitle": "On it goes", "sessionId": path.stem}) + "\n")
    transcripts.follow(place, str(path))
    assert rows(place, said, path.stem) == before


def test_a_transcript_that_is_gone_leaves_no_trace(place: projects.Place, transcript_home: Path) -> None:
    shutil.rmtree(transcript_home)
    ask("prune", *all_by_name(place), "--yes")
    assert rows(place, "SELECT * FROM transcripts") == []


def test_only_tool_output_leaves_everything_else(place: projects.Place, transcript_home: Path) -> None:
    for path in PAYLOAD_FILES:
        fill(place, [json.loads(path.read_bytes())], 100)
    nested = {"event": "PostToolUse", "data": {"session_id": "n", "tool": "Bash", "tool_result": {"stdout": "NOISE"}}}
    fill(place, [nested, tool(1, "n", tool_response={"stdout": "NOISE " * 100})], 100)
    before, counted, events = counts(place), rows(place, COUNTS), rows(place)
    ask("prune", *all_by_name(place), "--only", "tool-output", "--yes")
    assert counts(place) | {"transcript_chunks": 0} == before | {"transcript_chunks": 0}
    assert rows(place, COUNTS) == counted
    for old, new in zip(events, rows(place), strict=True):
        assert new | {"tool_response": old["tool_response"]} == old
        assert new["tool_response"] == (old["tool_response"] and '"[pruned]"')
        payload = rebuild(new)
        assert payload.get("data", payload).keys() == rebuild(old).get("data", rebuild(old)).keys()
    assert b"NOISE" not in Path(place.db).read_bytes()
    for row in rows(place, "SELECT data FROM transcript_chunks"):
        for line in zlib.decompress(row["data"]).splitlines():
            entry = json.loads(line)
            assert entry.get("toolUseResult") in (None, "[pruned]")
    again = ask("prune", *all_by_name(place), "--only", "tool-output", "--yes")
    assert "nothing to prune" in again.output


def test_hooks_go_on_recording_while_sessions_are_pruned(place: projects.Place, hook: Hook) -> None:
    big = {"stdout": "x" * 60_000}
    fill(place, [tool(n, "old", tool_response=big) for n in range(1500)], 100)
    stop = threading.Event()
    written = 0

    def write() -> None:
        nonlocal written
        while not stop.is_set():
            hook(prompt(f"prompt {written}", "now"))
            written += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        prune.run(prune.plan(place, prune.Which(named=frozenset({"old"}))))
    finally:
        stop.set()
        writer.join()
    hook(prompt("the last", "now"))
    reading.bring_up_to_date(place)
    texts = [row["prompt"] for row in rows(place)]
    assert texts == [*(f"prompt {number}" for number in range(written)), "the last"]
    assert_sound(place)


def test_an_event_during_vacuum_waits_in_the_spool(place: projects.Place, hook: Hook) -> None:
    fill(place, [prompt("first")])
    with closing(sqlite3.connect(place.db, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")  # as VACUUM does, for as long as it takes
        hook(prompt("meanwhile"))
        assert projects.waiting_spools(place)
        connection.execute("ROLLBACK")
    ask("prune", "--keep", "0", "--yes")
    assert [row["prompt"] for row in rows(place)] == ["first", "meanwhile"]


@pytest.mark.parametrize("delay", [0.05, 0.15, 0.3, 0.6])
def test_a_killed_prune_leaves_a_sound_archive_and_the_next_one_finishes(place: projects.Place, delay: float) -> None:
    fill(place, [tool(n, f"old{n % 3}", tool_response={"stdout": "x" * 20_000}) for n in range(600)], 100)
    fill(place, [prompt("new", "new")])
    code = (
        "from sessionlog import reading; from sessionlog.keep import prune; place = reading.place_of();"
        "plan = prune.plan(place, prune.Which(keep=1)); print('go', flush=True); prune.run(plan)"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert process.stdout and process.stdout.readline() == b"go\n"
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert_sound(place)
    ask("prune", "--keep", "1", "--yes")
    assert [row["prompt"] for row in rows(place)] == ["new"]
    assert_sound(place)
    assert size_of(place) < 300_000


def test_a_session_that_went_on_after_the_preview_stays(place: projects.Place) -> None:
    old_and_new(place)
    plan = prune.plan(place, prune.Which(keep=2))
    fill(place, [prompt("back again", "old")])
    prune.run(plan)
    assert {row["session_id"] for row in rows(place, COUNTS)} == {"old", "new", "running"}


def test_a_reader_that_never_ends_is_named(place: projects.Place, monkeypatch: pytest.MonkeyPatch) -> None:
    old_and_new(place)
    monkeypatch.setattr(turns, "ATTEMPTS", 2)
    real = turns.open_archive

    def impatient(place: projects.Place) -> sqlite3.Connection:
        connection = real(place)
        connection.execute("PRAGMA busy_timeout = 100")
        return connection

    monkeypatch.setattr(turns, "open_archive", impatient)
    with closing(sqlite3.connect(place.db)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM events").fetchone()
        done = ask("prune", "--keep", "2", "--yes", code=1)
    assert "another program is reading" in str(done.exception)
    assert counts(place)["sessions"] == 2
