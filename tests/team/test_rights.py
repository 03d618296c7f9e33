"""Who may do what in the team archive: each attempt with a real role."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from sessionlog.errors import SessionlogError
from sessionlog.team import admin, connection, event_rows, server
from sessionlog.team.tables import TABLES
from tests.helpers import archives, teams
from tests.helpers.postgres import Server
from tests.team.conftest import Team

REFUSED = (
    psycopg.errors.InsufficientPrivilege, psycopg.errors.UndefinedFunction, psycopg.errors.ForeignKeyViolation,
    psycopg.errors.FeatureNotSupported, psycopg.errors.GeneratedAlways, psycopg.errors.UndefinedTable,
)  # fmt: skip
ROW = "(archive, id, session_id, event, at, via) VALUES ({archive}, {id}, '{session}', 'Stop', '2026-11-01', 'x')"


@pytest.fixture
def filled(team: Team) -> Team:
    return fill(team)


def fill(team: Team) -> Team:
    """Ann and Bob have each shipped a session."""
    archives.store(teams.project("ann"), *teams.session("ann-1"))
    archives.store(teams.project("bob"), *teams.session("bob-1"))
    teams.shipped(teams.project("ann"), "ann")
    teams.shipped(teams.project("bob"), "bob")
    assert team.ask("SELECT archive, developer FROM archives ORDER BY 1") == [(1, "ann"), (2, "bob")]
    return team


# What each role tries, and must not be able to do. 1 is Ann's archive, 2 is Bob's.
ATTEMPTS = {
    "change an event": ("ann", "UPDATE events SET prompt = 'x'"),
    "delete events": ("ann", "DELETE FROM events"),
    "empty the table": ("ann", "TRUNCATE events"),
    "add an event directly": ("ann", f"INSERT INTO events {ROW.format(archive=1, id=(1 << 40) + 999, session='ann-1')}"),
    "add to a partition directly": ("ann", f"INSERT INTO events_2026_11 {ROW.format(archive=1, id=(1 << 40) + 999, session='ann-1')}"),
    "read a partition directly": ("ann", "SELECT * FROM events_2026_11"),
    "copy into the table": ("ann", "COPY events (archive, id, session_id, event, at, via) FROM STDIN"),
    "add a session to another's archive": ("ann", "INSERT INTO sessions (archive, session_id, started_at, last_at) VALUES (2, 'x', '', '')"),
    "add a session as somebody else": ("ann", "INSERT INTO sessions (developer, archive, session_id, started_at, last_at) VALUES ('bob', 2, 'x', '', '')"),
    "take over another's session": ("ann", "INSERT INTO sessions (archive, session_id, started_at, last_at) VALUES (1, 'bob-1', '', '') ON CONFLICT (session_id) DO UPDATE SET archive = 1"),
    "give away an own session": ("ann", "UPDATE sessions SET developer = 'bob', archive = 2 WHERE session_id = 'ann-1'"),
    "add a message to another's session": ("ann", "INSERT INTO transcript_parts (archive, id, transcript_id, line, part, session_id, type, kind, is_sidechain) VALUES (1, 1, 1, 1, 1, 'bob-1', '', '', false)"),
    "add facts about another's session": ("ann", "INSERT INTO session_facts (archive, session_id) VALUES (1, 'bob-1')"),
    "add words for somebody else": ("ann", "INSERT INTO documents (developer, archive, session_id, id, is_message, at, words) VALUES ('bob', 2, 'bob-1', 1, false, '', '')"),
    "add a note to another's archive": ("ann", "INSERT INTO chain_notes (archive, id, at, command, \"user\", events, hash) VALUES (2, 9, '', '', '', 0, '')"),
    "add a shipment": ("ann", "INSERT INTO shipments (developer, archive, last_event, events) VALUES ('ann', 1, 1, 0)"),
    "take back a shipment": ("ann", "DELETE FROM shipments"),
    "backdate a shipment": ("ann", "UPDATE shipments SET at = '2020-01-01'"),
    "change a head": ("ann", "UPDATE session_heads SET hash = 'x'"),
    "remove the trace of a take-out": ("ann", "DELETE FROM take_outs"),
    "register as somebody else": ("ann", "INSERT INTO archives (developer, uuid, host, project, created_at, content) VALUES ('bob', gen_random_uuid(), 'h', 'p', '', 'all')"),
    "register with a number": ("ann", "INSERT INTO archives (archive, uuid, host, project, created_at, content) VALUES (2, gen_random_uuid(), 'h', 'p', '', 'all')"),
    "lift a hold": ("ann", "UPDATE archives SET hold = false"),
    "remove an archive": ("ann", "DELETE FROM archives"),
    "change the teams": ("ann", "UPDATE developers SET team = 'search'"),
    "join a team": ("ann", "SELECT publish_team('search')"),
    "run the retention": ("ann", "SELECT retain('2030-01-01')"),
    "create a table": ("ann", "CREATE TABLE sessionlog.x (a int)"),
    "create a function": ("ann", "CREATE FUNCTION sessionlog.check_owner(int) RETURNS void LANGUAGE sql AS ''"),
    "turn off row-level security": ("ann", "ALTER TABLE events DISABLE ROW LEVEL SECURITY"),
    "grant oneself the auditor": ("ann", "GRANT sessionlog_auditor TO ann"),
    "take out another's events": ("ann", "SELECT take_out_events(2, '{1,2,3}')"),
    "redact another's event": ("ann", "SELECT redact_event(2, 2, '{\"prompt\": null}')"),
    "store into another's archive": ("ann", "SELECT store_events(2, '{}')"),
    "a lead adds a session": ("cat", "INSERT INTO sessions (archive, session_id, started_at, last_at) VALUES (1, 'x', '', '')"),
    "a lead changes a session": ("cat", "UPDATE sessions SET events = 0"),
    "a lead takes out": ("cat", "SELECT take_out_events(1, '{1}')"),
    "an auditor deletes": ("dan", "DELETE FROM events"),
    "an auditor changes": ("dan", "UPDATE sessions SET events = 0"),
    "an auditor lifts a hold": ("dan", "UPDATE archives SET hold = false"),
    "an auditor stores": ("dan", "INSERT INTO archives (uuid, host, project, created_at, content) VALUES (gen_random_uuid(), 'h', 'p', '', 'all')"),
    "become somebody else": ("ann", "SET SESSION AUTHORIZATION bob"),
    "read passwords": ("ann", "SELECT * FROM pg_authid"),
    "read the statistics of a column": ("ann", "SELECT * FROM pg_statistic"),
    "write a file": ("ann", "COPY events TO '/tmp/x'"),
    "let another role read": ("ann", "CREATE POLICY x ON events FOR SELECT USING (true)"),
    "release the holds": ("ann", "SELECT publish_holds()"),
    "a stranger reads": ("eve", "SELECT * FROM sessions"),
    "a stranger searches": ("eve", "SELECT * FROM search('a')"),
    "a stranger asks who may be read": ("eve", "SELECT readable_developers()"),
    "a stranger makes partitions": ("eve", "SELECT make_month('2026-01')"),
}  # fmt: skip


def test_attempts_are_refused(each_server: Server, make_team: Callable[[Server], Team]) -> None:
    filled = fill(make_team(each_server))
    allowed = []
    before = filled.ask("SELECT archive, id, prompt FROM events ORDER BY id")
    for name, (user, query) in ATTEMPTS.items():
        with filled.connect(user) as connection:
            try:
                if query.startswith("COPY"):
                    with connection.cursor().copy(query) as copy:
                        copy.write_row((1, (1 << 40) + 999, "ann-1", "Stop", "2026-11-01", "x"))
                else:
                    connection.execute(query)
                allowed.append(name)
            except REFUSED:
                pass
    assert allowed == []
    assert filled.ask("SELECT archive, id, prompt FROM events ORDER BY id") == before


def test_nothing_leaks_on_the_way(filled: Team) -> None:
    """Functions of one's own, statistics and search see no row that one may not see."""
    filled.ask("ANALYZE")
    with filled.connect("ann") as connection:
        seen: list[str] = []
        connection.add_notice_handler(lambda notice: seen.append(notice.message_primary or ""))
        connection.execute(
            "CREATE FUNCTION pg_temp.leak(text) RETURNS boolean LANGUAGE plpgsql COST 0.0001 "
            "AS $$ BEGIN RAISE NOTICE '%', $1; RETURN true; END $$"
        )
        for table in ("events", "sessions", "session_summary", "bash_commands", "tool_calls"):
            connection.execute(f"SELECT count(*) FROM {table} WHERE pg_temp.leak(session_id)")
        assert set(seen) == {"ann-1"}
        stats = "SELECT count(*) FROM pg_stats WHERE schemaname = 'sessionlog' AND tablename ~ '^(events|sessions|documents)'"
        assert connection.execute(stats).fetchone() == (0,)
        asked = "SELECT count(*) FROM search('折扣', people => ARRAY['bob'])"
        assert connection.execute(asked).fetchone() == (0,)
    assert filled.ask(asked, user="dan") == [(1,)]
    assert filled.ask(stats)[0][0] > 0


def test_a_role_that_was_set_changes_nothing(filled: Team) -> None:
    with filled.connect("ann") as connection:
        connection.execute("SET ROLE sessionlog_developer")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(
                "INSERT INTO sessions (developer, archive, session_id, started_at, last_at) VALUES ('sessionlog_developer', 1, 'x', '', '')"
            )
        assert connection.execute("SELECT DISTINCT developer FROM events").fetchall() == [("ann",)]


def store(connection: psycopg.Connection, archive: int, **row: Any) -> Any:
    """An event by hand, as a hostile shipper would send it."""
    values = {"id": 1000, "session_id": "ann-1", "event": "Stop", "at": "2026-11-01", "via": "x", **row}
    whole = {name: values.get(name) for name in server.columns("events")}
    return event_rows.store(connection, archive, [whole], event_rows.type_of_rows(connection))


def test_events_come_after_those_that_are_there_and_into_own_sessions(filled: Team) -> None:
    with filled.connect("ann") as connection:
        for row in ({"session_id": "bob-1"}, {"session_id": "no-such-session"}):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                store(connection, 1, **row)
        assert store(connection, 1, id=3) == 0, "a number that was used, or skipped, is not filled later"
        assert store(connection, 1, id=1 << 40) == 0, "an id of the next archive"
        assert store(connection, 1) == 1
    assert filled.ask("SELECT count(*) FROM events WHERE id >> 40 <> archive") == [(0,)]


def test_everybody_sees_what_is_theirs(filled: Team) -> None:
    everything = [*TABLES, "archives", "shipments", "session_heads", "documents", "developers"]
    seen = {"ann": {"ann"}, "bob": {"bob"}, "cat": {"ann"}, "dan": {"ann", "bob"}}
    for user, people in seen.items():
        with filled.connect(user) as connection:
            for table in everything:
                found = {row[0] for row in connection.execute(f"SELECT DISTINCT developer FROM {table}")}
                assert found <= people, (user, table)
            assert {row[0] for row in connection.execute("SELECT DISTINCT developer FROM events")} == people
            assert {
                row[0].split("-")[0] for row in connection.execute("SELECT session_id FROM session_summary")
            } == people
            assert set(connection.execute("SELECT readable_developers()").fetchone()[0]) == people
            assert {row[0] for row in connection.execute("SELECT developer FROM search('折扣')")} == people


def test_a_lead_sees_who_is_in_the_team_now(filled: Team) -> None:
    def seen() -> set[str]:
        return {row[0] for row in filled.ask("SELECT DISTINCT developer FROM events", user="cat")}

    with filled.connect() as owner:
        admin.add(owner, "bob", "payments")
        assert seen() == {"ann", "bob"}
        admin.add(owner, "ann", "search")
        assert seen() == {"bob"}
        admin.reader(owner, "cat", "payments", revoke=True)
        with pytest.raises(psycopg.errors.UndefinedTable):  # without the right to look into the schema
            seen()
        admin.remove(owner, "bob")
        with pytest.raises(SessionlogError, match="no rights"):
            teams.shipped(teams.project("bob"), "bob")


FORGED = (
    "something else", "[redacted:token:0123456789]x", "[redacted:these are my words:0123456789]", "x[redacted:token:0123456789]",
    "计算[redacted:token:0123456789]折扣", "[redacted:token:not hex]", "[pruned] and more",
)  # fmt: skip
FIXED = ("hash", "at", "event", "session_id", "developer", "action", "no_such_column")


def test_parts_can_be_taken_out_and_nothing_put_in(filled: Team) -> None:
    before = filled.ask("SELECT * FROM events ORDER BY id")
    forged = [*({"prompt": value} for value in FORGED), *({name: None} for name in FIXED), {"salt": "words"}]
    forged += [{"command": "put where nothing was"}]
    with filled.connect("ann") as connection:
        for changes in forged:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute("SELECT redact_event(1, 2, %s)", (json.dumps(changes),))
    assert filled.ask("SELECT * FROM events ORDER BY id") == before
    with filled.connect("ann") as connection:
        for prompt in ("折扣[redacted:token:0123456789]threading.Lock", "折扣[redacted:token:0123456789]", None):
            connection.execute("SELECT redact_event(1, 2, %s)", (json.dumps({"prompt": prompt}),))
            assert filled.ask("SELECT prompt FROM events WHERE id = (1::bigint << 40) + 2") == [(prompt,)]
    assert filled.ask("SELECT kind, events, developer FROM take_outs") == [("changed", [2], "ann")] * 3
    assert filled.ask("SELECT id FROM documents WHERE id = (1::bigint << 40) + 2") == []


def test_without_the_extra_every_command_names_it(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(SessionlogError, match=r"claude-sessionlog\[team\]"), connection.connect("ann"):
        pass


def test_a_server_on_the_network_must_show_its_certificate(team: Team) -> None:
    team.add_service("careless", "host=db.example.com", "dbname=x", "sslmode=require")
    with pytest.raises(SessionlogError, match="sslmode=verify-full"), connection.connect("careless"):
        pass


def test_hold_and_retain(filled: Team, home: Path) -> None:
    old = teams.project("old")
    archives.store(old, *teams.session("old-1"), start_ms=1_700_000_000_000)
    teams.shipped(old, "bob")
    archives.store(teams.project("ann-old"), *teams.session("ann-old-1"), start_ms=1_700_000_000_000)
    teams.shipped(teams.project("ann-old"), "ann")
    with closing(filled.connect()) as owner:
        partitions = "SELECT relname FROM pg_class WHERE relname ~ '^(events|documents)_2023_11$'"
        assert len(owner.execute(partitions).fetchall()) == 2
        assert admin.hold(owner, "ann", None, release=False) == 2
        assert admin.retain(owner, "2025-11-01", dry_run=True)["events"] == 24
        assert filled.ask("SELECT count(*) FROM sessions") == [(4,)]
        done = admin.retain(owner, "2025-11-01", dry_run=False)
        assert done == {"events": 24, "sessions": 1, "partitions dropped": 0}
        assert filled.ask("SELECT session_id FROM sessions ORDER BY 1") == [("ann-1",), ("ann-old-1",), ("bob-1",)]
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState):
            filled.ask("SELECT take_out_events(1, '{1}')", user="ann")
        assert admin.hold(owner, "ann", None, release=True) == 2
        done = admin.retain(owner, "2025-11-01", dry_run=False)
        assert done == {"events": 24, "sessions": 1, "partitions dropped": 2}
        assert filled.ask("SELECT session_id, count(*) FROM events GROUP BY 1 ORDER BY 1") == [
            ("ann-1", 24),
            ("bob-1", 24),
        ]
        assert filled.ask("SELECT events, sessions FROM retentions", user="dan") == [(24, 1), (24, 1)]
