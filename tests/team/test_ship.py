"""Every event arrives once, whatever happens on the way; what is taken out at home is taken out there."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from sessionlog.archive import append
from sessionlog.archive import place as projects
from sessionlog.archive.place import Place
from sessionlog.cli.main import cli
from sessionlog.errors import SessionlogError
from sessionlog.maintain import prune, redact
from sessionlog.team import admin, choices, ship
from sessionlog.team.choices import Choice
from sessionlog.transcripts import importer
from tests.conftest import rows
from tests.helpers import archives, forking, teams
from tests.helpers import transcript_files as made
from tests.team.conftest import Team

COLUMNS = (
    "session_id, started_at, last_at, ended_at, end_reason, start_reason, model, cwd, permission_mode, events, prompts, "
    "tool_calls, edits, failures, head_hash"
)


def many(sessions: int, each: int = 12) -> list[dict[str, Any]]:
    """Sessions that go on at the same time."""
    return [
        archives.bash(f"echo {number} 文件", f"s{number % sessions}") if number >= sessions
        else archives.event("UserPromptSubmit", f"s{number}", prompt=f"prompt {number}")
        for number in range(sessions * each)
    ]  # fmt: skip


def assert_equal(team: Team, place: Place, archive: int = 1) -> None:
    """The team archive has what the archive has, each event once."""
    here = [
        tuple(row.values())
        for row in rows(place, "SELECT id, session_id, hash, salt, command, prompt FROM events ORDER BY id")
    ]
    there = team.ask(
        "SELECT id & ((1::bigint << 40) - 1), session_id, hash, salt, command, prompt FROM events WHERE archive = %s ORDER BY id",
        archive,
    )
    assert there == here
    sessions = [tuple(row.values()) for row in rows(place, f"SELECT {COLUMNS} FROM sessions ORDER BY session_id")]
    assert team.ask(f"SELECT {COLUMNS} FROM sessions WHERE archive = %s ORDER BY session_id", archive) == sessions


def test_what_is_new_is_sent_once(team: Team) -> None:
    place = teams.project("shop")
    archives.store(place, *many(5))
    assert teams.shipped(place).events == 60
    assert teams.shipped(place) == (1, 0, 0, 0, [])
    archives.store(place, archives.event("SessionEnd", "s1", reason="clear"), start_ms=archives.START_MS + 1_000_000)
    archives.store(place, archives.event("SessionStart", "s2", source="resume"), start_ms=archives.START_MS + 1_001_000)
    assert teams.shipped(place).events == 2
    assert_equal(team, place)
    assert team.ask("SELECT last_event, events FROM shipments ORDER BY number") == [(60, 60), (62, 2)]


def test_killed_before_every_exchange_and_two_at_a_time(team: Team) -> None:
    place = teams.project("shop")
    archives.store(place, *many(10, 12))
    choices.choose(place, Choice("ann"))
    done = forking.run(program="tests.team.killed")
    assert (done.returncode, done.stderr) == (0, b"")
    *killed, last = [set(map(int, line.split())) for line in done.stdout.splitlines()]
    assert all(ended == {-signal.SIGKILL} for ended in killed)
    assert 0 in last and last <= {0, -signal.SIGKILL}
    # They were killed before they came to the first batch, within it, and after it; so the others did the rest.
    assert len(killed) > 15
    assert team.ask("SELECT count(*) > 2 FROM shipments") == [(True,)]
    teams.shipped(place, host=os.uname().nodename)
    assert_equal(team, place)
    assert team.ask("SELECT count(*), count(DISTINCT id) FROM documents WHERE NOT is_message") == [(120, 120)]


def test_a_lost_connection_loses_nothing(team: Team) -> None:
    place = teams.project("shop")
    archives.store(place, *many(10, 20))

    def cut(done: int, total: int) -> None:
        with team.connect() as owner:
            owner.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'ann'")

    with pytest.raises(SessionlogError, match="connection to the team archive"):
        teams.shipped(place, progress=cut, batch=60)
    assert 0 < team.ask("SELECT count(*) FROM events")[0][0] < 200
    teams.shipped(place)
    assert_equal(team, place)


def test_a_server_that_is_gone_is_named(team: Team) -> None:
    place = teams.project("shop")
    archives.store(place, *many(1))
    team.add_service("gone", "host=/nowhere", "dbname=x", "user=ann")
    choices.choose(place, Choice("gone"))
    result = CliRunner().invoke(cli, ["ship"])
    assert result.exit_code == 1 and "no connection to the team archive 'gone'" in result.output
    choices.choose(place, Choice("ann"))
    result = CliRunner().invoke(cli, ["ship"])
    assert result.exit_code == 0 and "sent 12 events" in result.output


def test_hooks_write_while_a_shipment_runs(team: Team) -> None:
    place = teams.project("shop")
    archives.store(place, *many(10, 20))
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            archives.store(
                place, archives.bash(f"echo {number}", f"s{number % 10}"), start_ms=archives.START_MS + 10**6 + number
            )
            number += 1

    writer = threading.Thread(target=write)
    writer.start()
    for _ in range(3):
        teams.shipped(place, batch=50)
    stop.set()
    writer.join()
    teams.shipped(place)
    assert_equal(team, place)


def test_a_copy_is_an_archive_of_its_own(team: Team) -> None:
    place = teams.project("shop")
    archives.store(place, *many(3))
    teams.shipped(place, "ann")
    copy = teams.copy_of(place, "copy")
    archives.store(copy, archives.bash("echo on the other machine", "s1"), start_ms=archives.START_MS + 10**6)
    assert teams.shipped(copy, "bob").archive == 2
    assert teams.shipped(copy, "ann", host="desktop").archive == 3
    assert_equal(team, place)
    names = "SELECT session_id, events FROM sessions WHERE archive = %s ORDER BY 1"
    assert team.ask(names, 1) == [("s0", 12), ("s1", 12), ("s2", 12)]
    assert team.ask(names, 2) == [("s0@2", 12), ("s1@2", 13), ("s2@2", 12)]
    assert team.ask(names, 3) == [("s0@3", 12), ("s1@3", 13), ("s2@3", 12)]
    # The same person, the same machine, two files: one of them has to say that it is a copy.
    archives.store(place, archives.bash("echo here", "s1"), start_ms=archives.START_MS + 2 * 10**6)
    teams.shipped(place)
    with pytest.raises(ship.Rewritten, match="--as-copy"):
        teams.shipped(copy)
    assert teams.shipped(copy, copy="1").archive == 4


def rewrite(place: Place, command: str) -> int:
    """Change an event and compute the whole chain of its session again, as an agent with a shell could."""
    with closing(sqlite3.connect(place.db)) as db:
        event_id, session_id = db.execute(
            "SELECT id, session_id FROM events WHERE command IS NOT NULL ORDER BY id LIMIT 1"
        ).fetchone()
        db.execute("UPDATE events SET command = ? WHERE id = ?", (command, event_id))
        link = None
        for row in db.execute(
            f"SELECT {', '.join(append.DIGESTED)} FROM events WHERE session_id = ? ORDER BY id", (session_id,)
        ).fetchall():
            values = [value.encode() if isinstance(value, str) else value for value in row]
            link = append.link(link, append.digest(values))
            db.execute("UPDATE events SET hash = ? WHERE id = ?", (link, row[append.DIGESTED.index("id")]))
        db.execute("UPDATE sessions SET head_hash = ? WHERE session_id = ?", (link, session_id))
        db.commit()
    return int(event_id)


def test_a_rewritten_history_is_refused_and_named(team: Team) -> None:
    place = teams.project("shop")
    archives.store(place, *many(3))
    choices.choose(place, Choice("ann"))
    assert CliRunner().invoke(cli, ["ship"]).exit_code == 0
    event_id = rewrite(place, "echo nothing happened")
    local = CliRunner().invoke(cli, ["verify", "--all"])
    assert local.exit_code == 0, "the chain itself is right"
    result = CliRunner().invoke(cli, ["ship"])
    assert result.exit_code == 1 and "is not the history that was shipped" in result.output
    result = CliRunner().invoke(cli, ["team", "verify", "--service", "ann"])
    assert result.exit_code == 1
    assert f"event {event_id} was shipped with another hash" in result.output
    assert "36 events as they were recorded" in result.output, "what is on the server is sound"


def test_events_that_are_gone_without_a_note_are_refused(team: Team) -> None:
    place = teams.project("shop")
    archives.store(place, *many(3))
    teams.shipped(place)
    with closing(sqlite3.connect(place.db)) as db:
        db.execute("DELETE FROM events WHERE session_id = 's2'")
        db.execute("DELETE FROM sessions WHERE session_id = 's2'")
        db.commit()
    with pytest.raises(ship.Rewritten, match="gone without a note"):
        teams.shipped(place)
    assert team.ask("SELECT count(*) FROM events") == [(36,)]


def test_what_is_redacted_at_home_is_taken_out_there(team: Team, home: Path) -> None:
    place = teams.with_transcripts(home)
    teams.shipped(place)
    word = "折扣计算错误"
    rules = redact.GivenRules(place.home, values=[word, "cart.py"])
    assert redact.run(place, rules).rows
    done = teams.shipped(place)
    assert done.taken_out >= 2
    assert_equal(team, place)
    for table in ("events", "transcript_parts", "documents"):
        assert team.ask(f"SELECT count(*) FROM {table} AS row WHERE strpos(row::text, %s) > 0", word) == [(0,)], table
        assert team.ask(f"SELECT count(*) FROM {table} AS row WHERE strpos(row::text, 'cart.py') > 0") == [(0,)], table
    chunks = dict(
        team.ask("SELECT ROW(transcript_id & ((1::bigint << 40) - 1), sequence)::text, data FROM transcript_chunks")
    )
    here = rows(place, "SELECT transcript_id, sequence, data FROM transcript_chunks")
    assert chunks == {f"({row['transcript_id']},{row['sequence']})": row["data"] for row in here}
    assert team.ask("SELECT count(*) FROM take_outs WHERE kind = 'changed'") == [(done.taken_out,)]
    assert set(team.ask("SELECT command FROM chain_notes")) == {("redact",)}
    assert team.ask("SELECT count(*) FROM documents WHERE words @@ 'lock'")[0][0] >= 1, "what is left can be found"


def test_what_is_pruned_at_home_is_taken_out_there(team: Team, home: Path) -> None:
    place = teams.with_transcripts(home)
    archives.store(place, *teams.session("s2"), start_ms=archives.START_MS + 10**6)
    teams.shipped(place)
    prune.run(prune.plan(place, prune.Which(named=frozenset({"s1", made.SESSION}))))
    prune.run(prune.plan(place, prune.Which(named=frozenset({"s2"})), only_output=True))
    teams.shipped(place)
    assert_equal(team, place)
    assert team.ask("SELECT count(*) FROM transcript_parts WHERE session_id = %s", made.SESSION) == [(0,)]
    assert team.ask("SELECT sum(cardinality(events)) FROM take_outs WHERE kind = 'removed'") == [(24,)]
    count = "SELECT count(*) FROM transcript_chunks"
    assert team.ask(count)[0][0] == rows(place, f"{count.replace('*', '*')}")[0]["count(*)"]
    # A number that was removed is never filled again.
    assert team.ask("SELECT max(last_event) FROM shipments") == [(48,)]


def test_a_held_archive_keeps_what_is_redacted_and_pruned_at_home(team: Team, home: Path) -> None:
    place = teams.with_transcripts(home)
    teams.shipped(place)
    kept = ("transcript_parts", "transcript_chunks", "model_answers", "documents")
    before = {table: team.ask(f"SELECT count(*) FROM {table}") for table in kept}
    with team.connect() as owner:
        assert admin.hold(owner, "ann", None, release=False) == 1
    redact.run(place, redact.GivenRules(place.home, values=["折扣计算错误"]))
    prune.run(prune.plan(place, prune.Which(named=frozenset({made.SESSION}))))
    for table in kept:
        with team.connect("ann") as ann:
            assert ann.execute(f"DELETE FROM {table}").rowcount == 0, table
    with team.connect("ann") as ann:
        assert ann.execute("UPDATE transcript_chunks SET data = NULL").rowcount == 0
    archives.store(place, archives.bash("echo more"), start_ms=archives.START_MS + 10**6)
    done = teams.shipped(place)
    assert done.events == 1 and done.taken_out == 0 and "legal hold" in done.notices[0]
    assert team.ask("SELECT count(*) FROM events WHERE prompt LIKE '折扣计算错误%'") == [(1,)]
    for table in kept[:3]:
        assert team.ask(f"SELECT count(*) FROM {table}") == before[table], table
    with team.connect() as owner:
        assert admin.hold(owner, "ann", None, release=True) == 1
    assert teams.shipped(place).taken_out >= 1
    assert team.ask("SELECT count(*) FROM transcript_parts WHERE session_id = %s", made.SESSION) == [(0,)]
    assert team.ask("SELECT count(*) FROM events WHERE prompt LIKE '折扣计算错误%'") == [(0,)]


def test_levels(team: Team, home: Path) -> None:
    place = teams.with_transcripts(home)
    everything = {"all": "ann", "no-outputs": "bob"}
    for content, user in everything.items():
        teams.shipped(place, user, content)
    teams.shipped(place, "ann", "metadata", host="desktop")
    seen = {
        archive: team.ask(
            "SELECT count(*), count(tool_response), count(command), count(prompt), count(salt), count(hash), "
            "count(*) FILTER (WHERE error LIKE '%%assert%%') FROM events WHERE archive = %s",
            archive,
        )[0]
        for archive in (1, 2, 3)
    }
    number, outputs, commands, prompts, salts, hashes, errors = seen[1]
    assert outputs and commands and prompts and salts == hashes == number and errors
    assert seen[2] == (number, 0, commands, prompts, 0, number, 0)
    assert seen[3] == (number, 0, 0, 0, 0, number, 0)
    assert team.ask("SELECT archive, count(data) > 0, count(*) > 0 FROM transcript_chunks GROUP BY 1 ORDER BY 1") == [
        (1, True, True), (2, False, True), (3, False, True)
    ]  # fmt: skip
    texts = team.ask(
        "SELECT archive, count(text) FILTER (WHERE kind = 'tool_result'), count(text) FROM transcript_parts GROUP BY 1 ORDER BY 1"
    )
    assert [(bool(a), bool(b)) for _, a, b in texts] == [(True, True), (False, True), (False, False)]
    for text in ("购物车 failed", "Exit code 3\n"):
        for table in ("events", "transcript_parts", "documents"):
            assert team.ask(
                f"SELECT count(*) FROM {table} AS row WHERE archive > 1 AND strpos(row::text, %s) > 0", text
            ) == [(0,)]
    assert team.ask("SELECT count(*) FROM documents WHERE archive = 3 AND words @@ '折扣'") == [(0,)]
    tokens = team.ask("SELECT archive, sum(output_tokens) FROM model_answers GROUP BY 1 ORDER BY 1")
    assert len({total for _, total in tokens}) == 1 and len(tokens) == 3


def test_secrets_are_refused(team: Team) -> None:
    place = teams.project("shop")
    with closing(append.open_for_writing(place)):
        pass
    archives.store(
        place, archives.bash("curl -H 'Authorization: Bearer ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8" + "'")
    )
    with pytest.raises(SessionlogError, match="event 1 holds what looks like a secret"):
        teams.shipped(place)
    assert team.ask("SELECT count(*) FROM events") == [(0,)]
    redact.run(place, redact.GivenRules(place.home))
    assert teams.shipped(place).events == 1
    Path(place.home, "config.json").write_text(json.dumps({"redact": {"enabled": False}}))
    os.chmod(f"{place.home}/config.json", 0o600)
    with pytest.raises(SessionlogError, match="redaction is off"):
        teams.shipped(place)


def test_transcripts_that_grow_and_forks_that_are_claimed(team: Team, home: Path) -> None:
    made.transcript(home, made.line("first 文件", "s"), made.answer("m1", 5, "s"), session_id="s")
    importer.run()
    place = made.shop()
    teams.shipped(place)
    assert team.ask("SELECT session_id, output_tokens FROM model_answers") == [("s", 5)]
    made.transcript(
        home,
        made.line("first 文件", "s"),
        made.answer("m1", 5, "s"),
        made.line("second", "s"),
        made.answer("m2", 7, "s"),
        session_id="s",
    )
    importer.run()
    teams.shipped(place)
    for table in ("sessions", "session_facts", "model_answers", "transcript_parts", "transcripts"):
        count = rows(place, f"SELECT count(*) AS n FROM {table}")[0]["n"]
        assert team.ask(f"SELECT count(*) FROM {table}") == [(count,)], table
    assert team.ask("SELECT length, octet_length(data) FROM transcript_chunks") == [
        tuple(row.values()) for row in rows(place, "SELECT length, length(data) FROM transcript_chunks")
    ]


def test_nothing_is_sent_unless_it_was_enabled(team: Team, project: Path, hook: Any) -> None:
    def run(*words: str) -> tuple[int, str]:
        result = CliRunner().invoke(cli, list(words))
        assert "Shipping" not in result.stdout  # progress leaves stdout to the answer
        return result.exit_code, result.output

    hook(archives.event("UserPromptSubmit", prompt="hello"))
    code, output = CliRunner().invoke(cli, ["ship"]).exit_code, ""
    assert code == 1
    assert run("ship", "--enable", "ann", "--content", "no-outputs")[0] == 0
    file = Path(projects.home_folder(), "ship.json")
    assert file.stat().st_mode & 0o777 == 0o600
    assert run("ship", "--dry-run") == (0, f"{project} → ann (no-outputs): would send 1 event and 0 messages\n")
    assert team.ask("SELECT count(*) FROM archives") == [(0,)], "nothing was sent"
    code, output = run("ship", "--status")
    assert code == 0 and "0 shipped, 1 event waiting" in output
    code, output = run("ship")
    assert code == 0 and "sent 1 event and 0 messages" in output
    code, output = run("ship", "--status", "--json")
    assert code == 0 and json.loads(output)[0]["waiting"] == 0
    assert team.ask("SELECT content, developer FROM archives") == [("no-outputs", "ann")]
    assert run("ship", "--disable")[0] == 0
    assert CliRunner().invoke(cli, ["ship"]).exit_code == 1


def test_a_dry_run_counts_what_is_new(team: Team, home: Path) -> None:
    place = teams.with_transcripts(home)
    choices.choose(place, Choice("ann"))

    def would_send() -> dict[str, Any]:
        (report,) = json.loads(CliRunner().invoke(cli, ["ship", "--dry-run", "--json"]).output)
        return {name: report.get(name) for name in ("would_send", "unreachable")}

    def in_archive(table: str) -> int:
        return int(rows(place, f"SELECT count(*) AS n FROM {table}")[0]["n"])

    everything = {"events": in_archive("events"), "messages": in_archive("transcript_parts")}
    assert would_send() == {"would_send": everything, "unreachable": None}
    done = teams.shipped(place, host=os.uname().nodename)
    assert everything == {"events": done.events, "messages": done.messages}
    assert would_send()["would_send"] == {"events": 0, "messages": 0}
    archives.store(place, archives.bash("echo new", "s1"), start_ms=archives.START_MS + 10**6)
    assert would_send()["would_send"] == {"events": 1, "messages": 0}
    team.add_service("gone", "host=/nowhere", "dbname=x", "user=ann")
    choices.choose(place, Choice("gone"))
    found = would_send()
    assert found["would_send"] == {**everything, "events": everything["events"] + 1}
    assert "no connection to the team archive 'gone'" in found["unreachable"]
    assert "would send at most" in CliRunner().invoke(cli, ["ship", "--dry-run"]).output


def test_the_background_import_ships_what_was_enabled(team: Team, home: Path, place: Place, hook: Any) -> None:
    path = made.recorded(home) / f"{made.SESSION}.jsonl"
    choices.choose(place, Choice("ann"))
    hook(
        {"session_id": made.SESSION, "hook_event_name": "Stop", "transcript_path": str(path), "cwd": "/"},
        SESSIONLOG_NO_FOLLOW="",
    )
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not team.ask("SELECT 1 FROM archives WHERE state <> ''"):
        time.sleep(0.1)
    assert team.ask("SELECT events FROM sessions WHERE session_id = %s", made.SESSION) == [(1,)]
    assert team.ask("SELECT count(*) > 10 FROM transcript_parts") == [(True,)]
