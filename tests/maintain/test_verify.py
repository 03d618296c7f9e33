"""Whatever is changed, removed or inserted behind the archive's back is found; what sessionlog does is no finding."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from sessionlog.archive import append, chain, event, migrate, spool
from sessionlog.archive import place as projects
from sessionlog.cli.main import cli
from sessionlog.errors import SessionlogError
from sessionlog.maintain import merge, prune, redact, seal, verify
from tests.conftest import HANDLERS, PAYLOAD_FILES, PYTHON, Hook, rows, thorough
from tests.helpers.recording import hostile_session, record
from tests.record.test_hook import prompt, tool

Change = Callable[[sqlite3.Connection], object]


def findings(place: projects.Place, *session_ids: str, heads: list[verify.Head] | None = None) -> list[verify.Finding]:
    return list(verify.Check(place, session_ids, heads or []).findings())


def names(place: projects.Place, *session_ids: str) -> set[str]:
    return {f"{finding.kind} {finding.what}" for finding in findings(place, *session_ids)}


def tamper(place: projects.Place, change: Change | str) -> None:
    """By other means than sessionlog."""
    with closing(sqlite3.connect(place.db, isolation_level=None)) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        if isinstance(change, str):
            assert connection.execute(change).rowcount, "the test changed nothing"
        else:
            change(connection)


def copy_of(place: projects.Place, folder: Path) -> projects.Place:
    """Where a test may tamper, and the next find it as it was."""
    with closing(sqlite3.connect(place.db)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    copy = projects.Place(place.home, place.project, str(folder / "copy.db"))
    shutil.copy(place.db, copy.db)
    return copy


def ask(*words: str) -> Result:
    done = CliRunner().invoke(cli, ["verify", *words])
    assert done.exception is None or isinstance(done.exception, (SystemExit, SessionlogError)), done.exception
    return done


@pytest.fixture(autouse=True)
def one_transaction(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine too, what a test removes is one note."""
    monkeypatch.setattr("sessionlog.maintain.batches.HOLD", 60)


@pytest.fixture
def three(place: projects.Place) -> projects.Place:
    """Three sessions that took turns: s0 has the events 1, 4, 7, …"""
    payloads = [tool(number, f"s{number % 3}", duration_ms=number, cwd="/shop") for number in range(12)]
    record(place, [*payloads, *(prompt("last", f"s{number}") for number in range(3))])
    assert findings(place) == []
    return place


# --- What was done behind its back ------------------------------------------------------------------------------------


def test_one_flipped_byte_in_any_column_of_any_event(place: projects.Place) -> None:
    """Every byte of numbers; of texts the first, the last and one between."""
    everything = [json.loads(path.read_bytes()) for path in PAYLOAD_FILES[:: 36 if thorough() else 72]]
    record(place, [payload for payload in everything if isinstance(payload, dict)])
    full = dict.fromkeys((*event.PAYLOAD_TEXTS, *event.INPUT_TEXTS), "é ''")
    full |= dict.fromkeys(("tool_input", "tool_response", "extra", "envelope"), "{}")
    with closing(append.open_for_writing(place)) as connection:
        for number in range(3 if thorough() else 1):
            row = event.normalise(prompt("x"), at_ms=0, via=f"test {number}")
            append.append(connection, {**row, **full, "tool_use_id": f"id {number}", "duration_ms": 300}, 0)
    columns = [column["name"] for column in rows(place, "PRAGMA table_info(events)")]
    some, tried = random.Random(1), set()
    with closing(sqlite3.connect(place.db, isolation_level=None)) as connection:
        connection.text_factory = bytes
        for row in connection.execute(f"SELECT {', '.join(columns)} FROM events").fetchall():
            for column, value in zip(columns[1:], row[1:], strict=True):
                if value is None:
                    continue
                size = len(value) if isinstance(value, bytes) else 8
                for at in range(8) if isinstance(value, int) else {0, size - 1, some.randrange(size)}:
                    update = f"UPDATE events SET {column} = {_CASTS.get(column, 'CAST(? AS TEXT)')} WHERE id = ?"
                    connection.execute(update, (_flipped(value, at, some.randrange(8)), row[0]))
                    found = findings(place)
                    assert {finding.what for finding in found} <= {f"event {row[0]}", "session"}, (column, found)
                    assert any(finding.what == f"event {row[0]}" for finding in found), (column, value, at)
                    connection.execute(update, (value, row[0]))
                    tried.add(column)
    assert tried == set(columns[1:])
    assert findings(place) == []


_CASTS = {"duration_ms": "?"}


def _flipped(value: bytes | int, at: int, bit: int) -> bytes | int:
    if isinstance(value, int):
        return value ^ (1 << (at * 4 + bit % 4))
    flipped = bytearray(value)
    flipped[at] ^= 1 << bit
    return bytes(flipped)


@pytest.mark.parametrize("column", [*event.COLUMNS[4:], "hash", "salt"])
def test_a_value_that_is_emptied_or_appears(three: projects.Place, column: str) -> None:
    (value,) = rows(three, f"SELECT {column} AS value FROM events WHERE id = 5")[0].values()
    for other in {"NULL", "'0'", "''"} if column != "duration_ms" else {"NULL", "0"}:
        if other == "NULL" and value is None:
            continue
        tamper(three, f"UPDATE events SET {column} = {other} WHERE id = 5")
        found = findings(three)
        assert [finding.what for finding in found] == ["event 5"], (other, found)
        assert found[0].session_id == "s1"
        with closing(sqlite3.connect(three.db, isolation_level=None)) as connection:
            connection.execute(f"UPDATE events SET {column} = ? WHERE id = 5", (value,))


def test_a_text_that_moves_to_the_next_column(three: projects.Place) -> None:
    tamper(three, "UPDATE events SET (command, description) = (substr(command, 1, 3), substr(command, 4)) WHERE id = 5")
    assert names(three) == {"changed event 5"}


@pytest.mark.parametrize("removed", range(1, 16))
def test_any_removed_event(three: projects.Place, removed: int) -> None:
    (session,) = rows(three, "SELECT session_id FROM events WHERE id = ?", removed)
    tamper(three, f"DELETE FROM events WHERE id = {removed}")
    assert [(found.kind, found.what, found.session_id) for found in findings(three)] == [
        ("removed", f"event {removed}", session["session_id"])
    ]
    assert names(three, session["session_id"]) == {f"removed event {removed}"}
    assert names(three, f"s{removed % 3}") == set(), "another session is as it was"


def test_the_end_of_the_archive(three: projects.Place) -> None:
    tamper(three, "DELETE FROM events WHERE id > 10")
    assert {found.what for found in findings(three)} == {"events 11-15"}
    assert {found.session_id for found in findings(three)} == {"s0", "s1", "s2"}


@pytest.mark.parametrize("how", ["with its row", "but not its row"])
def test_a_whole_session(three: projects.Place, how: str) -> None:
    tamper(three, "DELETE FROM events WHERE session_id = 's2'")
    if how == "with its row":
        tamper(three, "DELETE FROM sessions WHERE session_id = 's2'")
    ids = {row for row in range(1, 16) if row % 3 == 0}
    assert names(three) == {f"removed event {event_id}" for event_id in ids}


def test_the_newest_session_as_if_it_had_never_been(three: projects.Place, hook: Hook) -> None:
    record(three, [prompt("x", "new"), prompt("y", "new")])
    tamper(three, "DELETE FROM events WHERE session_id = 'new'")
    tamper(three, "DELETE FROM sessions WHERE session_id = 'new'")
    assert names(three) == {"removed events 16-17"}
    hook(prompt("after it"))
    assert rows(three)[-1]["id"] == 18, "an id is not given twice"
    assert names(three) == {"removed events 16-17"}


def test_the_row_of_a_session(three: projects.Place) -> None:
    tamper(three, "DELETE FROM sessions WHERE session_id = 's2'")
    assert names(three) == {"removed session"}


def test_the_head_of_a_session(three: projects.Place) -> None:
    tamper(three, "UPDATE sessions SET head_hash = 'x' WHERE session_id = 's2'")
    assert names(three) == {"changed session"}


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO events (session_id, event, at, via) VALUES ('s1', 'Stop', '2026-01-01T00:00:00.000Z', 'test')",
        "INSERT INTO events (session_id, event, at, via) VALUES ('new', 'Stop', '2026-01-01T00:00:00.000Z', 'test')",
        "INSERT INTO events (session_id, event, at, via, hash, salt) "
        "SELECT session_id, event, at, via, hash, salt FROM events WHERE id = 5",
    ],
)
def test_an_inserted_event(three: projects.Place, statement: str, hook: Hook) -> None:
    tamper(three, statement)
    hook(prompt("goes on", "s1"))
    found = findings(three)
    assert [finding.what for finding in found] == ["event 16"]
    assert found[0].kind in ("inserted", "changed")


@pytest.mark.parametrize("event_id", [0, -7, 99])
def test_an_event_with_an_id_that_was_never_given(three: projects.Place, event_id: int) -> None:
    tamper(three, f"UPDATE events SET id = {event_id} WHERE id = 5")
    assert {f"inserted event {event_id}", "removed event 5"} <= names(three)


@pytest.mark.parametrize(("one", "other"), [(4, 7), (4, 5), (1, 15)])
def test_two_events_that_change_places(three: projects.Place, one: int, other: int) -> None:
    def swap(connection: sqlite3.Connection) -> None:
        for before, after in ((one, -1), (other, one), (-1, other)):
            connection.execute("UPDATE events SET id = ? WHERE id = ?", (after, before))

    tamper(three, swap)
    assert {f"changed event {one}", f"changed event {other}"} <= names(three)


def test_an_event_that_moves_to_another_session(three: projects.Place) -> None:
    tamper(three, "UPDATE events SET session_id = 's0' WHERE id = 5")
    assert names(three) == {"changed event 5", "changed session"}  # s1 counts one event too many


def test_all_hashes_taken_away(three: projects.Place) -> None:
    tamper(three, "UPDATE events SET hash = NULL")
    tamper(three, "UPDATE sessions SET head_hash = NULL")
    assert names(three) == {f"inserted event {event_id}" for event_id in range(1, 16)}


def test_a_row_that_was_chained_again_with_other_content_does_not_fit_the_heads_kept_elsewhere(
    three: projects.Place, tmp_path: Path
) -> None:
    kept = verify.heads(three)
    assert [(head.session, head.event) for head in kept] == [("s0", 13), ("s1", 14), ("s2", 15)]

    def forge(connection: sqlite3.Connection) -> None:
        """What somebody can do who reads our source."""
        connection.text_factory = bytes
        connection.execute("UPDATE events SET command = 'echo forged' WHERE id = 5")
        link: str | None = None
        query = f"SELECT {', '.join(append.DIGESTED)} FROM events WHERE session_id = 's1' ORDER BY id"
        for row in connection.execute(query).fetchall():
            link = append.link(link, append.digest(row))
            event_id = row[append.DIGESTED.index("id")]
            connection.execute("UPDATE events SET hash = ? WHERE id = ?", (link, event_id))
        connection.execute("UPDATE sessions SET head_hash = ? WHERE session_id = 's1'", (link,))

    assert findings(three, heads=kept) == []
    tamper(three, forge)
    assert findings(three) == [], "this is why heads should be kept elsewhere"
    assert [(found.what, found.session_id) for found in findings(three, heads=kept)] == [("event 14", "s1")]


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("UPDATE chain_notes SET at = '2020-01-01T00:00:00.000Z' WHERE id = 1", "changed note 1"),
        ("UPDATE chain_notes SET user = 'nobody' WHERE id = 2", "changed note 2"),
        ("UPDATE chain_notes SET removed = '1-99' WHERE id = 2", "changed note 2"),
        ("UPDATE chain_notes SET removed = 'x' WHERE id = 2", "changed note 2"),
        ("UPDATE chain_notes SET hash = 'x' WHERE id = 1", "changed note 1"),
        ("UPDATE chain_changes SET after = x'00' WHERE note_id = 1", "changed note 1"),
        ("DELETE FROM chain_changes WHERE event_id = 4", "changed note 1"),
        ("DELETE FROM chain_notes WHERE id = 1", "removed note 1"),
        ("DELETE FROM chain_notes WHERE id = 2", "removed note"),
        ("UPDATE archive SET last_note = NULL", "removed note"),
        (
            "INSERT INTO chain_notes (at, command, user, events, removed, hash) VALUES ('', '', '', 1, '5', 'x')",
            "changed note 3",
        ),
    ],
)
def test_a_note_that_is_changed_removed_or_made_up(three: projects.Place, statement: str, named: str) -> None:
    prune.run(prune.plan(three, prune.Which(named=frozenset({"s0"})), only_output=True))
    prune.run(prune.plan(three, prune.Which(named=frozenset({"s2"}))))
    assert [note["command"] for note in rows(three, "SELECT * FROM chain_notes")] == [
        "prune --only tool-output",
        "prune",
    ]
    assert findings(three) == []
    tamper(three, statement)
    assert named in names(three)


def test_what_changes_after_it_was_changed_by_right(three: projects.Place) -> None:
    prune.run(prune.plan(three, prune.Which(named=frozenset({"s0"})), only_output=True))
    tamper(three, "UPDATE events SET tool_response = '\"pruned\"' WHERE id = 4")
    assert names(three) == {"changed event 4"}


def test_an_event_that_comes_back_after_it_was_pruned(three: projects.Place) -> None:
    before = rows(three, "SELECT * FROM events WHERE id = 6")[0]
    del before["action"], before["outcome"], before["is_typed"]
    prune.run(prune.plan(three, prune.Which(named=frozenset({"s2"}))))

    def bring_back(connection: sqlite3.Connection) -> None:
        connection.execute(
            f"INSERT INTO events ({', '.join(before)}) VALUES ({', '.join('?' * len(before))})", list(before.values())
        )

    tamper(three, bring_back)
    assert "inserted event 6" in names(three)


# --- The schema and the counters --------------------------------------------------------------------------------------

DROPS_EVENTS = """
CREATE TRIGGER t BEFORE INSERT ON events WHEN new.command LIKE '%rm %' BEGIN SELECT raise(ignore); END
"""


def run_sql(place: projects.Place, script: str) -> None:
    with closing(sqlite3.connect(place.db)) as connection:
        connection.executescript(script)


def test_a_trigger_that_drops_events(three: projects.Place, hook: Hook) -> None:
    before = len(rows(three))
    run_sql(three, DROPS_EVENTS)
    hook({**tool(99, "s0"), "tool_input": {"command": "rm -rf /"}})
    assert len(rows(three)) == before
    assert names(three) == names(three, "s1") == {"inserted trigger t"}
    done = ask()
    assert done.exit_code == 1
    assert "inserted: trigger t: is not part of sessionlog: a trigger can change or drop events" in done.stdout


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("DROP TRIGGER events_keep_sessions", {"removed trigger events_keep_sessions"}),
        ("DROP VIEW tool_calls", {"removed view tool_calls"}),
        ("DROP INDEX events_event", {"removed index events_event"}),
        (
            "DROP VIEW prompts; CREATE VIEW prompts AS SELECT * FROM events WHERE event = 'UserPromptSubmit' AND id > 3",
            {"changed view prompts"},
        ),
        (
            "DROP INDEX events_event; CREATE UNIQUE INDEX events_event ON events (event, id)",
            {"changed index events_event"},
        ),
        ("ALTER TABLE sessions ADD COLUMN x TEXT", {"changed table sessions"}),
        ("CREATE UNIQUE INDEX mine ON events (id)", {"inserted index mine"}),
        ("CREATE INDEX mine ON events (json_extract(extra, '$.x'))", {"inserted index mine"}),
        ("DROP TABLE spool_progress; CREATE VIEW spool_progress AS SELECT 1", {"removed table spool_progress"}),
        # NULL in quotes is a text.
        (
            """PRAGMA writable_schema = ON;
            UPDATE sqlite_master SET sql = replace(sql, ', NULL) AS exit_code', ', "NULL") AS exit_code')""",
            {"changed view bash_commands"},
        ),
        ("CREATE VIEW mine AS SELECT 1; CREATE INDEX mine_at ON events (at DESC, id); CREATE TABLE own (x)", set()),
    ],
)
def test_another_schema(three: projects.Place, script: str, expected: set[str]) -> None:
    run_sql(three, script)
    assert names(three) == expected


def test_additions_of_the_user_are_listed_and_no_finding(three: projects.Place) -> None:
    run_sql(three, "CREATE VIEW mine AS SELECT 1; CREATE TABLE own (x); CREATE INDEX own_x ON own (x + 1)")
    done = ask()
    assert done.exit_code == 0
    assert "Added by someone else, harmless: index own_x, table own, view mine." in done.stdout
    assert json.loads(ask("--json").stdout)["archives"][0]["additions"] == ["index own_x", "table own", "view mine"]


@pytest.mark.parametrize("counter", ["events", "prompts", "tool_calls", "edits", "failures"])
def test_a_counter_that_was_changed(three: projects.Place, counter: str) -> None:
    run_sql(three, f"UPDATE sessions SET {counter} = {counter} + 1 WHERE session_id = 's1'")
    (finding,) = findings(three)
    assert (finding.kind, finding.what, finding.session_id) == ("changed", "session", "s1")
    assert finding.text.startswith(f"`sessions.{counter}` is ")
    assert findings(three, "s0") == [] and findings(three, "s1") == [finding]


def test_the_last_id_of_a_session(three: projects.Place) -> None:
    run_sql(three, "UPDATE sessions SET last_event_id = 3 WHERE session_id = 's1'")
    assert [finding.text for finding in findings(three)] == ["`sessions.last_event_id` is 3, the events say 14"]


# --- What sessionlog does ----------------------------------------------------------------------------------------------


def test_hooks_at_once(hook: Hook, place: projects.Place) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: hook(tool(number, f"s{number % 3}")), range(40)))
    check = verify.Check(place)
    assert list(check.findings()) == []
    assert (check.events, len(check.sessions), check.unsealed) == (40, 3, 0)


def test_killed_hooks(place: projects.Place, hook: Hook) -> None:
    hook(tool(0))
    some = random.Random(3)
    for number in range(1, 40):
        process = subprocess.Popen(
            [*PYTHON, str(HANDLERS / "any_event.py")], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert process.stdin
        process.stdin.write(json.dumps(tool(number)).encode())
        process.stdin.close()
        time.sleep(some.uniform(0, 0.03))
        process.send_signal(signal.SIGKILL)
        process.wait()
    hook(tool(40))
    assert rows(place)[-1]["tool_use_id"] == "toolu_40"
    assert findings(place) == []


def test_copies_leave_no_gap(hook: Hook, place: projects.Place) -> None:
    for number in (1, 1, 2, 2):
        hook(tool(number))
        hook(tool(number), handler="post_tool_use.py")
    assert [row["id"] for row in rows(place)] == [1, 2]
    assert findings(place) == []


def test_what_waited_in_the_spool(hook: Hook, place: projects.Place) -> None:
    hook(tool(1))
    for number in (2, 3):
        spool.append(place, (1_763_257_274_000 + number, "test", None, None, tool(number)))
    hook(tool(4))
    assert findings(place) == []
    assert len(rows(place)) == 4


def test_every_kind_of_text(place: projects.Place) -> None:
    record(place, hostile_session())
    record(place, [tool(1, duration_ms=2**62), tool(2, duration_ms=-1), tool(3, duration_ms=2**31)])
    assert findings(place) == []


def test_export_and_import(three: projects.Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exported = tmp_path / "all.jsonl"
    first = CliRunner().invoke(cli, ["export", "--all", "-o", str(exported)])
    assert first.exit_code == 0, first.output
    assert b"salt" not in exported.read_bytes() and b"hash" not in exported.read_bytes()
    monkeypatch.setenv("SESSIONLOG_HOME", str(tmp_path / "elsewhere"))
    assert CliRunner().invoke(cli, ["import", str(exported)]).exit_code == 0
    there = projects.place(three.project)
    assert there.db != three.db and len(rows(there)) == 15
    assert findings(there) == []
    assert rows(there, "SELECT hash FROM events") != rows(three, "SELECT hash FROM events"), "it is another chain"


def test_merge(three: projects.Place, tmp_path: Path) -> None:
    other = projects.Place(str(tmp_path), three.project, str(tmp_path / "other.db"))
    record(other, [tool(number, f"s{number % 5}") for number in range(100, 120)])
    merge.run(three, [other.db])
    assert len(rows(three)) == 35
    assert findings(three) == findings(other) == []
    merge.run(three, [other.db])
    assert len(rows(three)) == 35 and findings(three) == []


def test_prune(three: projects.Place, hook: Hook) -> None:
    kept = verify.heads(three)
    prune.run(prune.plan(three, prune.Which(named=frozenset({"s0", "s2"}))))
    assert findings(three, heads=kept) == []
    notes = {note["session_id"]: (note["removed"], note["events"]) for note in rows(three, "SELECT * FROM chain_notes")}
    assert notes == {"s0": ("1,4,7,10,13", 5), "s2": ("3,6,9,12,15", 5)}
    hook(prompt("the session goes on", "s2"))
    assert findings(three) == []
    prune.run(prune.plan(three, prune.Which(named=frozenset({"s1", "s2"}))))
    assert rows(three) == [] and findings(three) == []
    hook(prompt("a new one"))
    assert [row["id"] for row in rows(three)] == [17]
    assert findings(three) == []


def test_a_prune_that_is_cut_short(three: projects.Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """After each of its transactions, there is nothing to find."""
    plan = prune.plan(three, prune.Which(named=frozenset({"s0", "s1"})))
    monkeypatch.setattr("sessionlog.maintain.batches.HOLD", -1)
    states = []

    def pause(_: float) -> None:
        record(three, [prompt(f"meanwhile {len(states)}", "s1" if len(states) % 2 else "s0")])
        states.append(findings(three))

    monkeypatch.setattr("sessionlog.maintain.batches.PAUSE", 0)
    monkeypatch.setattr("sessionlog.maintain.batches.time.sleep", pause)
    prune.run(plan)
    assert len(states) > 10
    assert all(found == [] for found in states)
    assert findings(three) == []


def test_prune_of_output_keeps_the_heads(three: projects.Place) -> None:
    kept = verify.heads(three)
    prune.run(prune.plan(three, prune.Which(keep=0), only_output=True))
    assert findings(three, heads=kept) == []
    assert verify.heads(three) == kept


def test_redact_twice_then_prune(place: projects.Place, hook: Hook) -> None:
    record(place, [prompt("my word is swordfish"), prompt("nothing"), tool(7, description="swordfish and haddock")])
    kept = verify.heads(place)
    for value in ("swordfish", "haddock"):
        redact.run(place, redact.GivenRules(place.home, values=[value]))
        assert findings(place, heads=kept) == []
    assert [note["events"] for note in rows(place, "SELECT events FROM chain_notes ORDER BY id")] == [2, 1]
    hook(prompt("on"))
    prune.run(prune.plan(place, prune.Which(keep=0), only_output=True))
    assert findings(place, heads=kept) == []
    tamper(place, "UPDATE events SET prompt = 'swordfish' WHERE id = 1")
    assert names(place) == {"changed event 1"}


def test_what_was_redacted_cannot_be_guessed_by_its_digest(place: projects.Place) -> None:
    record(place, [prompt("the pin is 4711")])
    secret = rows(place)[0]
    redact.run(place, redact.GivenRules(place.home, values=["4711"]))
    row = {**rows(place)[0], "prompt": secret["prompt"]}

    def encoded(values: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(
            values[name].encode() if isinstance(values[name], str) else values[name] for name in append.DIGESTED
        )

    (change,) = rows(place, "SELECT before, after FROM chain_changes")
    assert append.digest(encoded(secret)) == change["before"], "with the salt that is gone"
    assert append.digest(encoded(row)) != change["before"]
    assert secret["salt"].encode() not in b"".join(path.read_bytes() for path in Path(place.home).glob("*.db*"))


def test_a_secret_in_the_id_of_a_session_and_in_a_note(place: projects.Place) -> None:
    record(place, [prompt("one", "swordfish-1"), prompt("two", "swordfish-1"), prompt("three", "swordfish-2")])
    prune.run(prune.plan(place, prune.Which(named=frozenset({"swordfish-2"}))))
    redact.run(place, redact.GivenRules(place.home, values=["swordfish"]))
    assert b"swordfish" not in b"".join(path.read_bytes() for path in Path(place.home).glob("*.db*"))
    assert findings(place) == []


def test_an_archive_of_version_2(place: projects.Place, hook: Hook) -> None:
    _make_version_2(place)
    hook(prompt("the first with a hash", "s1"))
    check = verify.Check(place)
    assert list(check.findings()) == []
    assert (check.events, check.unsealed) == (11, 10)
    (note,) = rows(place, "SELECT * FROM chain_notes")
    assert (note["command"], note["events"], note["unchained_until"]) == ("upgrade", 10, 10)
    tamper(place, "UPDATE events SET hash = NULL WHERE id = 11")
    assert names(place) == {"inserted event 11"}


def test_old_events_are_sealed(place: projects.Place, hook: Hook) -> None:
    _make_version_2(place)
    hook(prompt("new", "s1"))
    assert seal.seal(place) == 10
    assert seal.seal(place) == 0
    check = verify.Check(place)
    assert list(check.findings()) == [] and check.unsealed == 0
    tamper(place, "UPDATE events SET command = 'echo 99' WHERE id = 3")
    assert names(place) == {"changed event 3"}
    tamper(place, "DELETE FROM events WHERE id = 4")
    assert names(place) == {"changed event 3", "removed event 4", "changed session"}
    prune.run(prune.plan(place, prune.Which(keep=0)))
    assert names(place) == {"removed event 4", "changed session"}


def _make_version_2(place: projects.Place) -> None:
    """As the version before made it, with ten events."""
    Path(place.home).mkdir(parents=True)
    with closing(sqlite3.connect(place.db, isolation_level=None)) as connection:
        for _, script in migrate.migrations()[:2]:
            connection.executescript(script)
        connection.execute("INSERT INTO archive VALUES (1, ?, '2026-01-01T00:00:00.000Z')", (place.project,))
        connection.execute(f"PRAGMA application_id = {migrate.APPLICATION_ID}")
        connection.execute("PRAGMA user_version = 2")
        for number in range(10):
            record_ = event.normalise(tool(number, f"s{number % 2}"), at_ms=1_763_257_274_000 + number, via="test")
            columns = ", ".join(event.COLUMNS)
            connection.execute(f"INSERT INTO events ({columns}) VALUES (:{', :'.join(event.COLUMNS)})", record_)


# --- The chain itself -------------------------------------------------------------------------------------------------


def test_the_hash_is_the_same_on_every_python() -> None:
    row = (1, b"00ff", "é".encode(), None, b"", -1, 2**31, 2**62, b"0", 0)
    assert append.digest(row).hex() == "66434f19b94e89c3d61c785d6e12ed498bc90fa1"
    assert append.link(None, b"x" * 20) == "b51d4bb1d670cb64350a2d8d84c07cbbedfbac78"
    assert append.link("ab", b"x" * 20) == append.link(b"ab", b"x" * 20) != append.link(None, b"abx" * 20)


def test_every_column_but_the_hash_is_in_the_digest(place: projects.Place) -> None:
    append.open_for_writing(place).close()
    columns = {column["name"] for column in rows(place, "PRAGMA table_info(events)")}
    assert set(append.DIGESTED) == columns - {"hash"}
    columns = {column["name"] for column in rows(place, "PRAGMA table_info(chain_notes)")}
    assert set(chain.NOTE) == columns - {"hash"}


def test_without_the_hash_an_event_waits_in_the_spool(hook: Hook, place: projects.Place, tmp_path: Path) -> None:
    hook(prompt("one"))
    handler = tmp_path / "handler.py"
    handler.write_text(
        "import sys; sys.modules['_blake2'] = None; __file__ = sys.argv.pop(1); exec(open(__file__).read())"
    )
    done = subprocess.run(
        [*PYTHON, str(handler), str(HANDLERS / "any_event.py")],
        input=json.dumps(prompt("two")).encode(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0 and done.stdout == b""
    assert len(rows(place)) == 1
    (waiting,) = Path(place.home).glob("*.db.spool")  # under the older name: the hash of the newer one is missing too
    assert b'"prompt":"two"' in waiting.read_bytes()


def test_the_id_of_a_removed_event_is_not_given_again(hook: Hook, place: projects.Place) -> None:
    for text in ("one", "two", "three"):
        hook(prompt(text))
    tamper(place, "DELETE FROM events WHERE id = 3")
    tamper(place, "DELETE FROM events WHERE id = 2")
    hook(prompt("four"))
    assert [row["id"] for row in rows(place)] == [1, 4]
    assert "removed events 2-3" in names(place)


def test_an_event_is_kept_when_the_row_of_the_archive_is_gone_or_wrong(hook: Hook, place: projects.Place) -> None:
    hook(prompt("one"))
    hook(prompt("two"))
    tamper(place, "UPDATE archive SET last_removed_id = 0")
    hook(prompt("three"))
    tamper(place, "DELETE FROM archive")
    hook(prompt("four"))
    assert [row["prompt"] for row in rows(place)] == ["one", "two", "three", "four"]


# --- The command ------------------------------------------------------------------------------------------------------


def test_the_command_names_what_it_finds(three: projects.Place) -> None:
    done = ask()
    assert done.exit_code == 0
    assert "15 events of 3 sessions: all as they were recorded" in done.stdout
    tamper(three, "UPDATE events SET command = 'rm' WHERE id = 5")
    tamper(three, "DELETE FROM events WHERE id = 9")
    done = ask()
    assert done.exit_code == 1
    assert "changed: event 5 of session s1: does not match its hash" in done.stdout
    assert "removed: event 9 of session s2: missing: event 12 does not follow event 6" in done.stdout
    assert "14 events of 3 sessions: 2 findings" in done.stdout
    assert ask("s0").exit_code == 0
    assert ask("s1").exit_code == 1
    answer = json.loads(ask("--json").stdout)
    assert [finding["what"] for finding in answer["findings"]] == ["event 5", "event 9"]
    assert answer["archives"][0]["findings"] == 2


def test_the_command_tells_of_notes(three: projects.Place) -> None:
    prune.run(prune.plan(three, prune.Which(named=frozenset({"s0"}))))
    done = ask("--notes")
    assert done.exit_code == 0, done.stdout
    assert "prune: 5 events of session s0 (1,4,7,10,13)" in done.stdout
    assert "Recorded changes: prune removed 5 events." in done.stdout
    assert json.loads(ask("--notes", "--json").stdout)["archives"][0]["notes"][0]["removed"] == "1,4,7,10,13"


def test_heads_are_printed_and_compared(three: projects.Place, tmp_path: Path) -> None:
    kept = tmp_path / "heads.jsonl"
    kept.write_text(ask("--heads").stdout)
    assert len(kept.read_text().splitlines()) == 3
    assert ask("--against", str(kept)).exit_code == 0
    kept.write_text(kept.read_text().replace('"hash": "', '"hash": "0'))
    assert "event 14 of session s1: the stored head" in ask("--against", str(kept)).stdout
    kept.write_text("")
    assert "has no head of this archive" in str(ask("--against", str(kept)).exception)
    kept.write_text("[]")
    assert "line 1" in str(ask("--against", str(kept)).exception)


@pytest.mark.parametrize("seed", range(30 if thorough() else 10))
def test_bytes_flipped_on_the_disk_are_found_or_change_nothing(
    three: projects.Place, tmp_path: Path, seed: int
) -> None:
    """Never a traceback; and no event reads otherwise than it was written, unless that is a finding."""
    copy = copy_of(three, tmp_path)
    before = rows(copy)
    data = bytearray(Path(copy.db).read_bytes())
    some = random.Random(seed)
    for _ in range(seed % 3 + 1):
        data[some.randrange(100, len(data))] ^= 1 << some.randrange(8)
    Path(copy.db).write_bytes(data)
    try:
        found = findings(copy)
    except SessionlogError:
        return
    assert found or rows(copy) == before


def test_a_damaged_file_is_said_to_be_one(three: projects.Place, tmp_path: Path) -> None:
    with closing(sqlite3.connect(three.db)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        root = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'events'").fetchone()[0]
        size = connection.execute("PRAGMA page_size").fetchone()[0]
    with open(three.db, "r+b") as file:
        file.seek((root - 1) * size)
        file.write(os.urandom(size))
    done = ask()
    assert done.exit_code == 1
    assert "damaged" in str(done.exception) and ".recover" in str(done.exception)
